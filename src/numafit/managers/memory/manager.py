"""The memory manager: hints, allocation and release of bytes per NUMA node."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.bits import mask_of, members
from numafit.errors import KubeletPanic
from numafit.golang.text import NIL_POINTER
from numafit.ledger.ledger import Block, Hint, Ledger, MemoryLedger, stale_containers
from numafit.managers.ask import MEMORY
from numafit.managers.memory.hints import best_memory_hint, memory_hints
from numafit.managers.memory.nodes import MemoryNodes, fill, give_back, has_free, violates_group
from numafit.managers.memory.pod_level import NOT_INT64, blocks_of, divide, pod_refusal
from numafit.managers.protocol import Call, Choices, Refusal
from numafit.managers.refused import (
    MemoryGroups,
    MemoryNotPreferred,
    NoMemoryPlace,
    NoMemoryRequest,
    NotInt64,
    NoWiderMemory,
)
from numafit.managers.topology.hint import HintList, ProviderHints
from numafit.settings.versions import Behaviour
from numafit.workload.pod import Container

NO_DEFAULT = "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
NO_DEFAULT_PREFERRED = "[memorymanager] failed to find the default preferred hint"
NO_EXTENSION = "[memorymanager] failed to find NUMA nodes to extend the current topology hint"
NO_EXTENDED_PREFERRED = "[memorymanager] failed to find the extended preferred hint"
NO_PLAIN_MEMORY = "no-plain-memory"
"""A crash: huge pages are asked for, and no memory."""
VIOLATES = "[memorymanager] preferred hint violates NUMA node allocation"


class MemoryManager(msgspec.Struct, frozen=True):
    """The static policy; with `static` False the policy None."""

    static: bool
    behaviour: Behaviour
    pod_entries: bool = False
    """Gate PodLevelResourceManagers."""

    # --- hints -------------------------------------------------------------------------------------------------------

    def hints(self, call: Call, container: Container) -> ProviderHints:
        self._remember(call)
        self.remove_stale(call)
        ask = call.ask
        request = ask.memory[container.name]
        if not self.static or not ask.guaranteed or request is None or ask.pod_level == "skipped":
            return None
        if not request and self.behaviour.memory_empty_container_is_nil:
            return None
        held = call.ledger.memory.entries.get(ask.pod.uid, {}).get(container.name)
        if held is not None:
            return _regenerate(held, request)
        return self._calculate(call, request)

    def pod_hints(self, call: Call) -> ProviderHints:
        self._remember(call)
        self.remove_stale(call)
        ask = call.ask
        request = ask.pod_memory
        if not self.static or not ask.guaranteed or request is None or ask.pod_level == "skipped":
            return None
        if ask.pod_level == "managed" and pod_refusal(ask) is not None:
            return dict.fromkeys(request, ())
        if not request and self.behaviour.memory_empty_pod_is_nil:
            return None
        entries = call.ledger.memory.entries.get(ask.pod.uid, {})
        for container in ask.pod.all_containers:
            if container.name in entries:
                return _regenerate(entries[container.name], request)
        return self._calculate(call, request)

    def _calculate(self, call: Call, request: Mapping[str, int]) -> dict[str, HintList]:
        """No mask at all gives an empty map, which the merge takes for "no preference" (1.21 to 1.36)."""
        reuse = self._reusable(call)
        hints = memory_hints(call.ledger.memory.nodes, request, reuse, self.behaviour.memory_group_first)
        return dict.fromkeys(request, hints) if hints else {}

    # --- allocation --------------------------------------------------------------------------------------------------

    def allocate(self, call: Call, container: Container) -> Refusal | None:
        self._remember(call)
        self.remove_stale(call)
        ask = call.ask
        if not self.static or not ask.guaranteed or ask.pod_level == "skipped":
            return None
        uid = ask.pod.uid
        request = ask.memory[container.name]
        if self.behaviour.memory_empty_container_is_nil:
            if request is None:
                return Refusal(NOT_INT64, NotInt64())
            if not request:
                return None
        held = call.ledger.memory.entries.get(uid, {}).get(container.name)
        if held is not None:
            self._update_reuse(call, container, held)
            return None
        if request is None:
            return Refusal(NOT_INT64, NotInt64())
        mask = self._mask(call, call.ledger.affinity_of(uid, container.name), request)
        if isinstance(mask, Refusal):
            return mask
        numa = tuple(members(mask))
        nodes = call.ledger.memory.nodes
        reuse = self._reusable(call)
        blocks = []
        for memory_type in sorted(request):
            size = request[memory_type]
            blocks.append(Block(numa, memory_type, size))
            nodes = fill(nodes, numa, memory_type, max(0, size - reuse.get((mask, memory_type), 0)))
        stored = tuple(blocks)
        self._update_reuse(call, container, stored)
        self._store(call, nodes, {container.name: stored})
        self._shrink_init(call, container, stored)
        return None

    def _mask(self, call: Call, hint: Hint, request: Mapping[str, int]) -> int | Refusal:
        """The NUMA nodes to allocate on: the topology manager's, or wider if they lack free bytes."""
        nodes = call.ledger.memory.nodes
        mask, preferred = hint
        if mask is None:
            hints = self._calculate(call, request)
            if not hints:
                return Refusal(NO_DEFAULT, NoMemoryPlace(request) if request else NoMemoryRequest(request))
            default, default_preferred = best_memory_hint(hints.get(MEMORY)) or (None, False)
            if preferred and not default_preferred:
                asked = MEMORY in request
                cause = MemoryNotPreferred(request, 0) if asked else NoMemoryRequest(request)
                return Refusal(NO_DEFAULT_PREFERRED, cause)
            if default is None:
                raise KubeletPanic(NIL_POINTER, code=NO_PLAIN_MEMORY)
            mask, preferred = default, default_preferred
        if not has_free(nodes, mask, request):
            above = 0 if self.behaviour.memory_widens_down else mask.bit_length()
            candidates = self._calculate(call, request).get(MEMORY)
            wider, wider_preferred = best_memory_hint(candidates, mask, above) or (None, False)
            if wider is None:
                asked = MEMORY in request
                return Refusal(NO_EXTENSION, NoWiderMemory(request, mask) if asked else NoMemoryRequest(request))
            if preferred and not wider_preferred:
                return Refusal(NO_EXTENDED_PREFERRED, MemoryNotPreferred(request, mask))
            mask = wider
        if self.behaviour.memory_group_check and violates_group(nodes, mask):
            return Refusal(VIOLATES, MemoryGroups(request, mask))
        return mask

    def allocate_pod(self, call: Call) -> Refusal | None:
        """A pod with pod-level resources: charged once as a whole, then divided among its containers."""
        self._remember(call)
        self.remove_stale(call)
        ask = call.ask
        request = ask.pod_memory
        if not self.static or not ask.guaranteed or request is None:
            return None
        refusal = pod_refusal(ask)
        if refusal is not None:
            return refusal
        mask = self._mask(call, call.ledger.affinity_of(ask.pod.uid, ask.pod.all_containers[0].name), request)
        if isinstance(mask, Refusal):
            return mask
        numa = tuple(members(mask))
        nodes = call.ledger.memory.nodes
        for memory_type in sorted(request):
            nodes = fill(nodes, numa, memory_type, request[memory_type])
        pods = {**call.ledger.memory.pod_entries, ask.pod.uid: blocks_of(numa, request)}
        call.ledger = replace(call.ledger, memory=replace(call.ledger.memory, pod_entries=pods, file=None))
        self._store(call, nodes, divide(call, numa, request))
        return None

    # --- the ledger --------------------------------------------------------------------------------------------------

    def _remember(self, call: Call) -> None:
        if self.behaviour.remembers_pending_pod:
            call.ledger = replace(call.ledger, memory=replace(call.ledger.memory, pending=call.ask.pod))

    def _reusable(self, call: Call) -> Mapping[tuple[int, str], int]:
        ledger = call.ledger.memory
        return ledger.reuse if ledger.reuse_pod == call.ask.pod.uid else {}

    def _update_reuse(self, call: Call, container: Container, blocks: Sequence[Block]) -> None:
        if not self.behaviour.memory_reuse:
            return
        uid = call.ask.pod.uid
        reuse = dict(self._reusable(call))
        init = container.name in call.ask.ordinary_init
        kept = call.ledger.memory.reuse_kept
        if self.behaviour.memory_reuse_lost:
            if kept - {uid}:
                reuse = {}
                kept -= {uid}
            kept |= {uid} if init else frozenset()
        for block in blocks:
            key = (mask_of(block.numa), block.type)
            old = reuse.get(key, 0)
            reuse[key] = max(old, block.size) if init else max(0, old - block.size)
        memory = replace(call.ledger.memory, reuse_pod=uid, reuse=reuse, reuse_kept=kept)
        call.ledger = replace(call.ledger, memory=memory)

    def _store(self, call: Call, nodes: MemoryNodes, blocks: Mapping[str, tuple[Block, ...]]) -> None:
        ledger = call.ledger.memory
        uid = call.ask.pod.uid
        entries = {**ledger.entries, uid: {**ledger.entries.get(uid, {}), **blocks}}
        call.ledger = replace(call.ledger, memory=replace(ledger, nodes=nodes, entries=entries, file=None))

    def _shrink_init(self, call: Call, container: Container, blocks: Sequence[Block]) -> None:
        """The blocks of a pod add up to what is taken: what a container reuses, init containers no longer hold."""
        if not self.behaviour.memory_reuse:
            return
        uid = call.ask.pod.uid
        own = dict(call.ledger.memory.entries[uid])
        for block in blocks:
            left = block.size
            for init in call.ask.pod.init_containers:
                if init.name == container.name or left == 0:
                    break
                if init.name not in call.ask.ordinary_init or init.name not in own:
                    continue
                shrunk = []
                for held in own[init.name]:
                    used = min(held.size, left) if held.numa == block.numa and held.type == block.type else 0
                    left -= used
                    shrunk.append(replace(held, size=held.size - used) if used else held)
                own[init.name] = tuple(shrunk)
        entries = {**call.ledger.memory.entries, uid: own}
        call.ledger = replace(call.ledger, memory=replace(call.ledger.memory, entries=entries))

    def remove_stale(self, call: Call) -> None:
        if MEMORY not in call.swept:
            call.swept.add(MEMORY)
            call.ledger = self.without_stale(call.ledger, call.choices)

    def without_stale(self, ledger: Ledger, choices: Choices) -> Ledger:
        stale = stale_containers(ledger, ledger.memory.entries, ledger.memory.pending)
        if not stale:
            return ledger
        memory = ledger.memory
        # Blocks of one NUMA node each can be given back in any order: only those of groups show it.
        blocks = [block for uid, own in stale for block in (memory.entries[uid][own], memory.pod_entries.get(uid, ()))]
        grouped = any(len(block.numa) > 1 for own in blocks for block in own)
        for uid, container in choices.stale(stale) if grouped else stale:
            memory = self.release(memory, uid, container)
        return replace(ledger, memory=memory)

    def release(self, ledger: MemoryLedger, uid: str, container: str) -> MemoryLedger:
        own = ledger.entries.get(uid, {})
        if container not in own:
            return ledger
        rest = {name: blocks for name, blocks in own.items() if name != container}
        entries = {other: held for other, held in ledger.entries.items() if other != uid}
        if rest:
            entries[uid] = rest
        if self.pod_entries and uid in ledger.pod_entries:
            if rest:
                return replace(ledger, entries=entries, file=None)
            pods = {other: blocks for other, blocks in ledger.pod_entries.items() if other != uid}
            nodes = give_back(ledger.nodes, ledger.pod_entries[uid])
            return replace(ledger, nodes=nodes, entries=entries, pod_entries=pods, file=None)
        return replace(ledger, nodes=give_back(ledger.nodes, own[container]), entries=entries, file=None)

    def started(self, ledger: Ledger, uid: str, container: str) -> Ledger:
        """A container starts: the ordinary init containers before it are finished, and lose what they hold."""
        if not self.static or not self.behaviour.memory_reuse:
            return ledger
        memory = ledger.memory
        for init in ledger.active[uid].init_containers:
            if init.name == container:
                break
            if not (init.restartable and self.behaviour.sidecars):
                memory = self.release(memory, uid, init.name)
        return ledger if memory is ledger.memory else replace(ledger, memory=memory)


def _regenerate(held: Sequence[Block], request: Mapping[str, int]) -> ProviderHints:
    if len(held) != len(request) or any(request.get(block.type) != block.size for block in held):
        return None
    hints: dict[str, tuple[Hint, ...]] = dict.fromkeys(request, ())
    for block in held:
        hints[block.type] = (*hints[block.type], (mask_of(block.numa), True))
    return hints
