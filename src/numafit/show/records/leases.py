"""Leases, the queue, the history and what is free, and leases read back from there."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from numafit.bits import CpusetError, cpuset_text, parse_cpuset
from numafit.host.book.tables import LeaseEvent
from numafit.host.free import HostFree, NodeFree
from numafit.host.grant import Owner, QueuePlace
from numafit.host.host import Host
from numafit.host.lease import Lease, LeasePart, memory_of
from numafit.host.process.identity import ProcessId
from numafit.host.request import JobRequest
from numafit.ledger.ledger import Block
from numafit.show.records.alignment import AlignmentRecord
from numafit.show.records.time import end_of, end_text, seconds_of, time_text


class LeaseRecord(msgspec.Struct, frozen=True, rename="camel"):
    """What a job holds of this machine, who it is, and how it is bound."""

    # Another agent's answer is read by this, too: what it does not have yet stands at its default.
    id: str
    name: str
    uid: int
    user: str
    since: str
    command: str = ""
    policy: str = "best-effort"
    exclusive: str = ""
    nodes: str = ""
    mems: str = ""
    memory: tuple[Block, ...] = ()
    devices: Mapping[str, tuple[str, ...]] = {}
    owners: tuple[ProcessId, ...] = ()
    container: str = ""
    engine: str = ""
    cgroup: str = ""
    rung: str = ""
    bound: str = ""
    notes: tuple[str, ...] = ()
    until: str = ""
    """When it ends by itself; empty: with its job."""
    sentence: str = ""
    remarks: tuple[str, ...] = ()
    """What was really free and not only by the claims when it was placed, where that differed."""
    bind: str = "bind"
    """How its memory comes from `mems`: `prefer`, `bind` or `interleave`."""
    limit_memory: int = 0
    shares: tuple[LeasePart, ...] = ()
    priority: int = 0
    seconds: float = 0.0
    """How long its job may run; 0: as long as it likes."""
    group: str = ""
    marked: bool = False
    """Its processes carry its mark, by which everybody knows them."""
    shared: bool = False
    memory_bytes: int = 0
    alignment: AlignmentRecord | UnsetType = UNSET
    """How it lies; only in a list of all, for it is judged among them."""


class WaitingRecord(msgspec.Struct, frozen=True):
    """One that waits for a lease."""

    user: str
    command: str
    since: str
    request: JobRequest
    place: int = 0
    """In the queue, from 1."""
    id: str = ""
    """For `numafit cancel`; an agent tells none."""


class LeaseList(msgspec.Struct, frozen=True, rename="camel"):
    """As `numafit ps -o json` shows them, and what the administrator keeps back."""

    leases: tuple[LeaseRecord, ...]
    waiting: tuple[WaitingRecord, ...] = ()
    reserved_cpus: str | UnsetType = UNSET
    """Of an agent; `ps` tells neither."""
    reserved_memory: Mapping[int, int] | UnsetType = UNSET
    """NUMA node -> bytes."""


class NodeFreeRecord(msgspec.Struct, frozen=True, rename="camel"):
    id: int
    cpus: str
    cpu_count: int
    all_cpus: int
    memory: int
    all_memory: int
    devices: Mapping[str, tuple[str, ...]]
    really_free: int | UnsetType = UNSET
    """Bytes that nobody uses, whoever claimed them; not told of another host."""
    cache: int | UnsetType = UNSET
    """Bytes of files and of the kernel that it gives up when somebody needs them."""


class FreeAnswer(msgspec.Struct, frozen=True):
    nodes: tuple[NodeFreeRecord, ...]
    pool: str
    unplaced: Mapping[str, tuple[str, ...]]
    largest: NodeFreeRecord | None


class LeaseEventRecord(msgspec.Struct, frozen=True):
    number: int
    time: str
    event: str
    lease: str
    user: str
    data: Mapping[str, object]


class HistoryAnswer(msgspec.Struct, frozen=True):
    history: tuple[LeaseEventRecord, ...]


def lease_record(lease: Lease, alignment: AlignmentRecord | UnsetType = UNSET) -> LeaseRecord:
    return LeaseRecord(
        id=lease.id,
        name=lease.name,
        uid=lease.uid,
        user=lease.user,
        since=time_text(lease.since),
        command=lease.command,
        policy=lease.policy,
        exclusive=cpuset_text(lease.exclusive),
        nodes=cpuset_text(lease.nodes),
        mems=cpuset_text(lease.mems),
        memory=lease.memory,
        devices=lease.devices,
        owners=lease.owners,
        container=lease.container,
        engine=lease.engine,
        cgroup=lease.cgroup,
        rung=lease.rung,
        bound=cpuset_text(lease.bound),
        notes=lease.notes,
        until=end_text(lease.until) if lease.until is not None else "",
        sentence=lease.sentence,
        remarks=lease.remarks,
        shared=lease.pooled,
        memory_bytes=memory_of(lease),
        bind=lease.bind,
        limit_memory=lease.limit_memory,
        shares=lease.shares,
        priority=lease.priority,
        seconds=lease.seconds,
        group=lease.group,
        marked=lease.marked,
        alignment=alignment,
    )


def lease_of_record(record: LeaseRecord) -> Lease:
    """Raises `ValueError` for sets and times that are none."""
    try:
        exclusive, nodes, mems, bound = map(parse_cpuset, (record.exclusive, record.nodes, record.mems, record.bound))
    except CpusetError as error:
        raise ValueError(str(error)) from None
    return Lease(
        id=record.id,
        name=record.name,
        uid=record.uid,
        user=record.user,
        since=seconds_of(record.since),
        command=record.command,
        policy=record.policy,
        exclusive=exclusive,
        nodes=nodes,
        mems=mems,
        memory=record.memory,
        devices=record.devices,
        owners=record.owners,
        container=record.container,
        engine=record.engine,
        cgroup=record.cgroup,
        rung=record.rung,
        bound=bound,
        notes=record.notes,
        until=end_of(record.until) if record.until else None,
        sentence=record.sentence,
        remarks=record.remarks,
        bind=record.bind,
        limit_memory=record.limit_memory,
        shares=record.shares,
        priority=record.priority,
        seconds=record.seconds,
        marked=record.marked,
        group=record.group,
    )


def lease_list(
    leases: Sequence[Lease],
    waiting: Sequence[QueuePlace],
    host: Host | None = None,
    lying: Mapping[str, AlignmentRecord] | None = None,
) -> LeaseList:
    """With what is kept back on `host`, if that is given, and how the leases lie, as far as that is known."""
    known = lying or {}
    return LeaseList(
        tuple(lease_record(lease, known.get(lease.id, UNSET)) for lease in leases),
        tuple(_waiting(one, place) for place, one in enumerate(waiting, 1)),
        UNSET if host is None else cpuset_text(host.reserved_cpus),
        UNSET if host is None else host.reserved_memory,
    )


def _waiting(one: QueuePlace, place: int) -> WaitingRecord:
    return WaitingRecord(one.owner.user, one.owner.command, time_text(one.since), one.request, place, one.id)


def place_of_record(record: WaitingRecord) -> QueuePlace:
    """Raises `ValueError` for a time that is none."""
    owner = Owner(user=record.user, command=record.command)
    return QueuePlace(owner, record.request, seconds_of(record.since), ticket=record.place, told=record.id)


def free_record(free: HostFree) -> FreeAnswer:
    return FreeAnswer(
        tuple(_node(node) for node in free.nodes),
        cpuset_text(free.pool),
        free.unplaced,
        _node(free.largest) if free.largest is not None else None,
    )


def _node(node: NodeFree) -> NodeFreeRecord:
    return NodeFreeRecord(
        node.id,
        cpuset_text(node.cpus),
        node.cpus.bit_count(),
        node.all_cpus,
        node.memory,
        node.all_memory,
        node.devices,
        UNSET if node.usage is None else node.usage.free,
        UNSET if node.usage is None else node.usage.cache,
    )


def history_record(entries: Sequence[LeaseEvent]) -> HistoryAnswer:
    return HistoryAnswer(
        tuple(
            LeaseEventRecord(entry.number, time_text(entry.time), entry.event, entry.lease, entry.user, entry.data)
            for entry in entries
        )
    )
