"""Reads cAdvisor's machine info as JSON: the machine exactly as the kubelet sees it, in the kubelet's own order.

CPUs that are offline do not exist for it. A cache comes without the CPUs it serves: those of its core, of its NUMA
node, or, for an uncore cache, of all cores that name it.
"""

from typing import Annotated

import msgspec

from numafit.bits import LARGEST_ID, mask_of
from numafit.errors import InputError
from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.order import in_cache_order
from numafit.machine.read.text import LARGEST_AMOUNT, text_of

_Id = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_ID)]
_Amount = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_AMOUNT - 1)]
_CURE = "save the answer of cAdvisor under /api/v1.3/machine"


class _Cache(msgspec.Struct, frozen=True):
    size: _Amount = 0
    type: str = ""
    level: _Id = 0
    id: _Amount | None = None


class _Core(msgspec.Struct):
    core_id: _Id
    thread_ids: list[_Id] | None = None
    caches: list[_Cache] | None = None
    uncore_caches: list[_Cache] | None = None
    socket_id: _Id = 0


class _HugePages(msgspec.Struct):
    page_size: Annotated[int, msgspec.Meta(ge=1, lt=1 << 50)]
    """KiB."""
    num_pages: _Amount


class _Node(msgspec.Struct):
    node_id: _Id
    memory: _Amount = 0
    hugepages: list[_HugePages] | None = None
    cores: list[_Core] | None = None
    caches: list[_Cache] | None = None
    distances: list[_Amount] | None = None


class _MachineInfo(msgspec.Struct):
    topology: list[_Node]
    memory_capacity: _Amount | None = None
    num_sockets: _Id | None = None


def read_cadvisor(data: str | bytes, source: str = "cAdvisor machine info") -> Machine:
    text = text_of(data, source)
    try:
        info = msgspec.json.decode(text.encode("utf-8", "replace"), type=_MachineInfo)
    except (msgspec.MsgspecError, RecursionError) as error:
        message = f"not cAdvisor's machine info: {str(error)[:200]}"
        raise InputError(message, source=source, cure=_CURE) from None
    cpus: list[Cpu] = []
    caches = _Caches()
    for node in info.topology:
        for core in node.cores or ():
            uncore = core.uncore_caches or []
            threads = core.thread_ids or []
            cpus += (
                Cpu(
                    id=thread,
                    core=core.core_id,
                    socket=core.socket_id,
                    numa=node.node_id,
                    uncore_cache=uncore[0].id if uncore else None,
                )
                for thread in threads
            )
            caches.add_own(core.caches or [], threads)
            caches.add_shared(uncore, threads)
        caches.add_own(node.caches or [], [thread for core in node.cores or () for thread in core.thread_ids or ()])
    _refuse_doubles([node.node_id for node in info.topology], "NUMA node", source)
    _refuse_doubles([cpu.id for cpu in cpus], "CPU", source)
    return Machine(
        cpus=tuple(cpus),
        numa_nodes=tuple(_numa_node(node) for node in info.topology),
        memory=info.memory_capacity,
        # 0 and a missing field are the same to Go; the kubelet of that time counted otherwise.
        sockets=info.num_sockets or None,
        caches=caches.all(),
    )


def _numa_node(node: _Node) -> NumaNode:
    return NumaNode(
        id=node.node_id,
        memory=node.memory,
        hugepages={pages.page_size << 10: pages.num_pages for pages in node.hugepages or ()},
        distances=None if node.distances is None else tuple(node.distances),
    )


class _Caches:
    def __init__(self) -> None:
        self._own: list[tuple[_Cache, list[int]]] = []
        self._shared: dict[_Cache, list[int]] = {}

    def add_own(self, caches: list[_Cache], threads: list[int]) -> None:
        self._own += ((cache, threads) for cache in caches)

    def add_shared(self, caches: list[_Cache], threads: list[int]) -> None:
        for cache in caches:
            self._shared.setdefault(cache, []).extend(threads)

    def all(self) -> tuple[Cache, ...]:
        return in_cache_order(
            Cache(level=cache.level, kind=cache.type.lower(), size=cache.size, cpus=mask_of(threads), id=cache.id)
            for cache, threads in [*self._own, *self._shared.items()]
        )


def _refuse_doubles(ids: list[int], what: str, source: str) -> None:
    seen: set[int] = set()
    for id in ids:
        if id in seen:
            raise InputError(f"{what} {id} stands in it twice", source=source, cure=_CURE)
        seen.add(id)
