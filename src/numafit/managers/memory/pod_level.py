"""Memory of a pod that is managed as a whole: its budget, and how its containers divide it."""

from collections.abc import Mapping

from numafit.ledger.ledger import Block
from numafit.managers.ask import Ask
from numafit.managers.memory.nodes import WRAP
from numafit.managers.protocol import EMPTY_SHARED_POOL, Call, Refusal
from numafit.managers.refused import BudgetUsedUp, NotInt64

NOT_INT64 = "[memorymanager] failed to represent quantity as int64"


def blocks_of(numa: tuple[int, ...], sizes: Mapping[str, int]) -> tuple[Block, ...]:
    return tuple(Block(numa, memory_type, sizes[memory_type]) for memory_type in sorted(sizes))


def _positive(numa: tuple[int, ...], sizes: Mapping[str, int]) -> tuple[Block, ...]:
    return blocks_of(numa, {memory_type: size for memory_type, size in sizes.items() if size > 0})


def divide(call: Call, numa: tuple[int, ...], request: Mapping[str, int]) -> dict[str, tuple[Block, ...]]:
    """Containers with a request of their own hold that; the others all hold the rest of the pod's budget."""
    ask = call.ask
    own: dict[str, tuple[Block, ...]] = {}
    pool = dict(request)
    for container in ask.pod.init_containers:
        wanted = ask.memory[container.name] or {}
        if wanted:
            own[container.name] = _positive(numa, wanted)
            if container.restartable:
                _subtract(pool, wanted)
        elif not container.restartable:
            own[container.name] = _positive(numa, pool)
    for container in ask.pod.containers:
        wanted = ask.memory[container.name] or {}
        if wanted:
            own[container.name] = _positive(numa, wanted)
            _subtract(pool, wanted)
    shared = _positive(numa, pool)
    return {container.name: own.get(container.name, shared) for container in ask.pod.all_containers}


def _subtract(pool: dict[str, int], wanted: Mapping[str, int]) -> None:
    for memory_type, size in wanted.items():
        pool[memory_type] = pool.get(memory_type, 0) - size & WRAP


def pod_refusal(ask: Ask) -> Refusal | None:
    """Shared containers of a pod that is managed as a whole must be left something to share."""
    request = ask.pod_memory or {}
    exclusive: dict[str, int] = {}
    shared = False
    for container in ask.pod.all_containers:
        wanted = ask.memory[container.name]
        if wanted is None:
            return Refusal(NOT_INT64, NotInt64(), EMPTY_SHARED_POOL)
        ordinary = container.name in ask.ordinary_init
        if ordinary and not wanted:
            for memory_type in sorted(request):
                used = exclusive.get(memory_type, 0)
                if used >= request[memory_type]:
                    text = f"pod rejected, pod has shared init containers but no {memory_type} available for them"
                    return Refusal(text, BudgetUsedUp(memory_type, request[memory_type], used), EMPTY_SHARED_POOL)
        elif not ordinary:
            shared = shared or not wanted
            for memory_type, size in wanted.items():
                exclusive[memory_type] = exclusive.get(memory_type, 0) + size
    if shared:
        for memory_type in sorted(request):
            used = exclusive.get(memory_type, 0)
            if used >= request[memory_type]:
                text = (
                    f"pod rejected, sum of exclusive container {memory_type} requests equals pod budget, "
                    "leaving no memory for shared containers"
                )
                return Refusal(text, BudgetUsedUp(memory_type, request[memory_type], used), EMPTY_SHARED_POOL)
    return None
