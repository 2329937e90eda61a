"""Who of those that wait may start: the rule of the queue, as a function of host, leases and queue.

They are asked in order: higher priorities first, then who came first. Who fits starts, unless that could delay one that
is ahead and waits on. So a waiter holds back what it needs and nothing else. Two things show that one who passes delays
nobody:

- by resources: of everything that the other needs (CPUs, whole cores, memory of each NUMA node, devices) as much stays
  free as it needs, or as much as is free now, if that is less. Whatever ends later, he then finds what he would have
  found. Where alignment is demanded that must be so on each NUMA node by itself;
- by time: who passes must end (`--time`) before the other can start at the latest, by the times of the leases.

Shared work takes no CPUs, and passes unless somebody waits for every CPU; the one that is left to it may cost another
the wait for one CPU more.

Held back is for as many as could run at the same time on the idle host, in the order of the queue: for those behind
them room is made by those before them. Nobody starves: who is first is delayed by nobody, so he starts at the latest
when the leases have ended that were there before him.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

import msgspec
from msgspec.structs import replace

from numafit.bits import members, parse_cpuset
from numafit.errors import InputError
from numafit.host.grant import (
    QueuePlace,
    Refused,
    granted_to,
    is_over,
    provisional,
    too_few_cpus,
    too_few_devices,
)
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.place import Placed, node_of
from numafit.host.pool import left_to_shared, pool_of
from numafit.host.quota import group_of
from numafit.host.request import JobRequest
from numafit.host.spread import cpus_in_all
from numafit.ledger.ledger import Block, MemoryNode
from numafit.managers.ask import MEMORY
from numafit.managers.memory.nodes import fill

LAST = 1 << 62
"""The ticket of one that has none: he stands behind all others of his priority."""
NEVER = float("inf")

_TICKS = os.sysconf("SC_CLK_TCK")
_STRICT = ("restricted", "single-numa-node")
_ANYWHERE = -1

_Key = tuple[str, int]
"""(`cpu`, `core`, `memory` or a resource, NUMA node or _ANYWHERE)."""


class QueueTurn(msgspec.Struct, frozen=True):
    """What one in the queue gets now, or why he waits on."""

    place: QueuePlace
    answer: Placed | Refused


class _Room(msgspec.Struct, frozen=True):
    """What is free of what a request needs."""

    amounts: Mapping[_Key, int]
    groups: Mapping[int, tuple[int, ...]]
    """NUMA node -> those that share its memory, by leases across several."""


class _Ahead(msgspec.Struct, frozen=True):
    """One that waits on, and what is held back for him together with those before him."""

    place: QueuePlace
    host: Host
    needs: Mapping[str, int]


def in_order(queue: Iterable[QueuePlace]) -> list[QueuePlace]:
    return sorted(queue, key=lambda place: (-place.request.priority, place.ticket))


def turns(host: Host, leases: Sequence[Lease], queue: Iterable[QueuePlace], now: float) -> Iterator[QueueTurn]:
    """In the order of the queue, each as it comes: whoever starts is held against those after him. `now` is that of
    CLOCK_BOOTTIME. `host` is as nobody in particular sees it; what each may use is in his place."""
    line = _Line(leases, now)
    for place in in_order(queue):
        yield QueueTurn(place, line.answer(place, seen_by(host, place)))


def first_start(host: Host, leases: Sequence[Lease], place: QueuePlace, now: float) -> float:
    """When he could start at the latest if nobody else came, by the times of the leases; NEVER: they do not tell."""
    own = seen_by(host, place)
    for end in sorted({max(now, end_of(lease, now)) for lease in leases} - {NEVER}):
        rest = [lease for lease in leases if end_of(lease, now) > end]
        if isinstance(_granted(own, rest, place), Placed):
            return end
    return NEVER


def end_of(lease: Lease, now: float) -> float:
    """On CLOCK_BOOTTIME. The time of a job counts from the start of its process, the second owner: the first is the
    one that watches over it, and has waited before."""
    if lease.until is not None:
        return lease.until
    if not lease.seconds:
        return NEVER
    return (lease.owners[1].start / _TICKS if len(lease.owners) > 1 else now) + lease.seconds


def seen_by(host: Host, place: QueuePlace) -> Host:
    """With what he may use of it."""
    cpus = parse_cpuset(place.allowed_cpus) if place.allowed_cpus else host.allowed_cpus
    mems = parse_cpuset(place.allowed_mems) if place.allowed_mems else host.allowed_mems
    return replace(host, allowed_cpus=cpus, allowed_mems=mems)


def _granted(host: Host, leases: Sequence[Lease], place: QueuePlace) -> Placed | Refused:
    try:
        return granted_to(host, leases, place.request, place.owner)
    except InputError as error:
        # Others may see devices that this process does not.
        return Refused(why=str(error))


class _Line:
    """Those that were asked so far: the leases with who starts, and who waits on."""

    def __init__(self, leases: Sequence[Lease], now: float) -> None:
        self._leases = list(leases)
        self._now = now
        self._ahead: list[_Ahead] = []
        self._full = False
        """Nobody more could run at the same time."""
        self._alike: dict[bytes, Refused] = {}
        self._numbers = count()

    def answer(self, place: QueuePlace, host: Host) -> Placed | Refused:
        request = place.request
        # Who asks for the same as one before him cannot be better off; but each has a quota of his own.
        uid = place.owner.uid if host.quotas.users or host.quotas.groups else 0
        key = msgspec.json.encode((replace(request, name=""), place.allowed_cpus, place.allowed_mems, uid))
        if key in self._alike:
            return self._wait(place, host, self._alike[key])
        short = self._shortage(host, request)
        answer = Refused(why=short) if short else _granted(host, self._leases, place)
        if isinstance(answer, Refused):
            return self._wait(place, host, self._alike.setdefault(key, answer))
        delayed = self._delayed(host, answer)
        if delayed is not None:
            beside = _granted(host, [*self._leases, *self._held_back()], place)
            if isinstance(beside, Refused) or self._delayed(host, beside) is not None:
                return self._wait(place, host, self._alike.setdefault(key, Refused(ahead=(delayed,))))
            answer = beside
        new = provisional(host, answer, f"starts-{next(self._numbers)}")
        self._leases.append(replace(new, uid=place.owner.uid, group=group_of(host.quotas, place.owner.uid)))
        return answer

    def _shortage(self, host: Host, request: JobRequest) -> str:
        """What most wait for, which is seen without the engine."""
        if request.cpus:
            free = (pool_of(host, self._leases) & host.usable_cpus & ~host.reserved_cpus).bit_count()
            if request.cpus > free:
                return too_few_cpus(request.cpus, free)
        for resource, amount in sorted(request.devices.items()):
            found = _free_devices(host, self._leases, resource, apart=False)
            if found and amount > len(found[_ANYWHERE]):
                return too_few_devices(resource, amount, len(found[_ANYWHERE]))
        return ""

    def _wait(self, place: QueuePlace, host: Host, refused: Refused) -> Refused:
        # Who has his quota in use waits for himself, and nobody else for him.
        if not self._full and place.request.holds and not is_over(host, self._leases, place):
            before = self._ahead[-1].needs if self._ahead else {}
            needs = {
                **before,
                **{name: before.get(name, 0) + size for name, size in _needs(host, place.request).items()},
            }
            self._full = bool(self._ahead) and not _fits_idle(host, needs)
            if not self._full:
                self._ahead.append(_Ahead(place, host, needs))
        return refused

    def _delayed(self, host: Host, placed: Placed) -> QueuePlace | None:
        """The first one ahead whom it could delay."""
        new = provisional(host, placed, "passes")
        seconds = placed.request.seconds
        for one in self._ahead:
            if _is_harmless(one, self._leases, new):
                continue
            if not seconds or self._now + seconds > first_start(one.host, self._leases, one.place, self._now):
                return one.place
        return None

    def _held_back(self) -> Iterator[Lease]:
        """What is held back, somewhere: a place beside it may be found for who would delay others where he was placed
        first."""
        leases = list(self._leases)
        for number, one in enumerate(self._ahead):
            lease = _as_lease(one, leases, f"held-back-{number}")
            leases.append(lease)
            yield lease


def _needs(host: Host, request: JobRequest) -> dict[str, int]:
    needs = {resource: amount for resource, amount in request.devices.items() if amount}
    if request.memory:
        needs["memory"] = request.memory
    if request.cpus:
        needs["cpu"] = needs["core"] = cpus_in_all(host, request)
    return needs


def _fits_idle(host: Host, needs: Mapping[str, int]) -> bool:
    everything = JobRequest(cpus=1, memory=1, devices={name: 1 for name in needs if "/" in name})
    whole: dict[str, int] = {}
    for (name, _), size in _room(host, (), everything).amounts.items():
        whole[name] = whole.get(name, 0) + size
    return all(size <= whole.get(name, size) for name, size in needs.items())


def _is_harmless(ahead: _Ahead, leases: Sequence[Lease], new: Lease) -> bool:
    """Of the CPUs shared work takes none, but the last one is left to it: that matters to who needs all of them."""
    request = ahead.place.request
    if new.pooled and 0 < (ahead.host.usable_cpus & ~ahead.host.reserved_cpus).bit_count() <= request.cpus:
        return False
    before, after = (_room(ahead.host, held, request) for held in (leases, [*leases, new]))
    for key, size in before.amounts.items():
        name, numa = key
        left = after.amounts[key]
        if name == "memory" and before.groups[numa] != after.groups[numa]:
            left = 0
        if left < min(size, ahead.needs[name]) and not (new.pooled and name in ("cpu", "core")):
            return False
    return True


def _room(host: Host, leases: Sequence[Lease], request: JobRequest) -> _Room:
    """Where alignment is demanded, per NUMA node; so is memory always, since it is had from one node or from a group of
    them that nobody else uses."""
    apart = request.policy in _STRICT
    amounts: dict[_Key, int] = {}
    groups: dict[int, tuple[int, ...]] = {}
    if request.cpus:
        free = _free_cpus(host, leases)
        whole = 0
        for core in host.cores:
            whole |= core if not core & ~free else 0
        for numa, cpus in _cpus_by_node(host, apart=apart).items():
            amounts["cpu", numa] = (free & cpus).bit_count()
            amounts["core", numa] = (whole & cpus).bit_count()
    if request.memory:
        for numa, node in _memory(host, leases).items():
            amounts["memory", numa] = node.tables[MEMORY].free if MEMORY in node.tables else 0
            groups[numa] = node.cells
    for resource in request.devices:
        for numa, ids in _free_devices(host, leases, resource, apart=apart).items():
            amounts[resource, numa] = len(ids)
    return _Room(amounts, groups)


def _free_cpus(host: Host, leases: Sequence[Lease]) -> int:
    pool = pool_of(host, leases)
    free = pool & host.usable_cpus & ~host.reserved_cpus
    return free & ~left_to_shared(pool, leases, pool)


def _cpus_by_node(host: Host, *, apart: bool) -> dict[int, int]:
    cpus: dict[int, int] = {}
    for cpu in host.machine.cpus:
        numa = cpu.numa if apart else _ANYWHERE
        cpus[numa] = cpus.get(numa, 0) | 1 << cpu.id
    return cpus


def _memory(host: Host, leases: Sequence[Lease]) -> Mapping[int, MemoryNode]:
    nodes: Mapping[int, MemoryNode] = node_of(host, JobRequest(memory=1)).idle_memory
    for lease in leases:
        for block in lease.memory:
            if all(numa in nodes for numa in block.numa):
                nodes = fill(nodes, block.numa, block.type, block.size)
    return {numa: node for numa, node in nodes.items() if host.memory_nodes >> numa & 1}


def _free_devices(host: Host, leases: Sequence[Lease], resource: str, *, apart: bool) -> dict[int, list[str]]:
    held = {device for lease in leases for device in lease.devices.get(resource, ())}
    found: dict[int, list[str]] = {}
    for device in host.machine.devices:
        if device.resource == resource:
            # One that lies between several NUMA nodes is missed on each of them.
            for numa in (device.numa or (_ANYWHERE,)) if apart else (_ANYWHERE,):
                ids = found.setdefault(numa, [])
                if device.id not in held and device.bus not in held:
                    ids.append(device.id)
    return found


def _as_lease(ahead: _Ahead, leases: Sequence[Lease], lease_id: str) -> Lease:
    request = ahead.place.request
    host, apart = ahead.host, request.policy in _STRICT
    cpus = 0
    free = _free_cpus(host, leases) if request.cpus else 0
    for own in _cpus_by_node(host, apart=apart).values():
        cpus |= _last_cores(host, free & own, cpus_in_all(host, request))
    blocks = []
    if request.memory:
        for numa, node in _memory(host, leases).items():
            free_bytes = node.tables[MEMORY].free if MEMORY in node.tables else 0
            size = min(request.memory, free_bytes)
            if size:
                blocks.append(Block(node.cells or (numa,), MEMORY, size))
    devices: dict[str, tuple[str, ...]] = {}
    for resource, amount in request.devices.items():
        groups = _free_devices(host, leases, resource, apart=apart).values()
        devices[resource] = tuple(sorted({device for ids in groups for device in sorted(ids)[-amount:] if amount}))
    return Lease(lease_id, "", 0, "", 0.0, exclusive=cpus, memory=tuple(blocks), devices=devices)


def _last_cores(host: Host, free: int, amount: int) -> int:
    """So many CPUs, of whole cores as long as there are any, the last ones first."""
    chosen = 0
    cores = sorted((core & free for core in host.cores if core & free), key=lambda own: (own.bit_count(), own))
    for core in reversed(cores):
        for cpu in members(core):
            if chosen.bit_count() < amount:
                chosen |= 1 << cpu
    return chosen
