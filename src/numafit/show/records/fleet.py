"""Answers about all nodes of a cluster: the table, a pod's account, a count of pods, a checkup, one node."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from numafit.bits import cpuset_text
from numafit.decision.held import Holding
from numafit.decision.story.story import story_of
from numafit.fleet.look.account import PodAccount
from numafit.fleet.look.capacity import FleetCount
from numafit.fleet.look.findings import FleetCheckup, KubeletGroup
from numafit.fleet.look.rows import FleetRow, total_of
from numafit.fleet.look.seats import PodSeat
from numafit.fleet.look.usage import NodeUsage
from numafit.fleet.waiting.why import AsideNodes, Ending, NodesAlike
from numafit.fleet.waiting.words import waiting_sentence
from numafit.notes import Note
from numafit.show.records.ledger import MemoryHeld
from numafit.show.records.story import Explained, stories_record


class NodeLine(msgspec.Struct, frozen=True):
    node: str
    usage: NodeUsage
    policy: str
    scope: str
    split: tuple[str, ...]
    promised: int
    schedulable: bool


class TopAnswer(msgspec.Struct, frozen=True):
    nodes: tuple[NodeLine, ...]
    total: NodeUsage
    unknown: tuple[str, ...]
    """Nodes of which nothing is known."""
    notes: tuple[Note, ...] = ()


class SeatRecord(msgspec.Struct, frozen=True):
    pod: str
    uid: str
    cpus: str
    memory: tuple[MemoryHeld, ...]
    devices: Mapping[str, tuple[str, ...]]
    nodes: tuple[int, ...]
    """NUMA nodes."""
    aligned: bool
    crossing: tuple[str, ...]
    """Containers that lie on more NUMA nodes than they need; empty texts stand for the pod as a whole."""
    torn: tuple[str, ...]
    """Those whose GPUs could be nearer to each other."""


class WhyWaitingRecord(msgspec.Struct, frozen=True, rename="camel"):
    sentence: str
    nodes: int
    unknown: int
    fitting: int
    never: int
    busy: int
    ends: tuple[Ending, ...]
    aside: tuple[AsideNodes, ...]
    groups: tuple[NodesAlike, ...]
    change: str | None
    """The smallest that would let it start now."""
    change_node: str | None


class AccountRecord(msgspec.Struct, frozen=True):
    pod: str
    standing: str
    node: str
    reason: str
    message: str
    policy: str
    since: str
    gates: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    best: tuple[str, ...] = ()
    seat: SeatRecord | UnsetType = UNSET
    unknown: str | UnsetType = UNSET
    now: Explained | UnsetType = UNSET
    """What the kubelet would decide as the node stands now."""
    waiting: WhyWaitingRecord | UnsetType = UNSET


class AccountsAnswer(msgspec.Struct, frozen=True):
    pods: tuple[AccountRecord, ...]
    notes: tuple[Note, ...] = ()


class NodeCountRecord(msgspec.Struct, frozen=True):
    each: int
    nodes: tuple[str, ...]
    reason: str
    sentence: str


class ShapeCountRecord(msgspec.Struct, frozen=True):
    pod: str
    wanted: int
    total: int
    nodes: int
    counts: tuple[NodeCountRecord, ...]


class CapacityAnswer(msgspec.Struct, frozen=True):
    shapes: tuple[ShapeCountRecord, ...]
    unknown: tuple[str, ...]
    notes: tuple[Note, ...] = ()


class FindingRecord(msgspec.Struct, frozen=True):
    code: str
    severity: str
    text: str
    cure: str
    nodes: tuple[str, ...]


class FleetCheckupAnswer(msgspec.Struct, frozen=True):
    nodes: int
    known: int
    kubelets: tuple[KubeletGroup, ...]
    findings: tuple[FindingRecord, ...]
    notes: tuple[Note, ...] = ()


class NodeAnswer(msgspec.Struct, frozen=True):
    node: NodeLine
    release: str
    pods: tuple[SeatRecord, ...]
    coming: tuple[str, ...]
    """Bound to it, and not in its report yet."""
    notes: tuple[Note, ...] = ()


def top_record(rows: Sequence[FleetRow], unknown: Sequence[str], notes: Sequence[Note]) -> TopAnswer:
    return TopAnswer(tuple(map(_line, rows)), total_of(rows), tuple(unknown), tuple(notes))


def _line(row: FleetRow) -> NodeLine:
    return NodeLine(row.name, row.usage, row.policy, row.scope, row.split, row.promised, row.schedulable)


def seat_record(seat: PodSeat) -> SeatRecord:
    holding = seat.holding
    return SeatRecord(
        seat.pod.known_name,
        seat.pod.uid,
        cpuset_text(holding.cpus),
        _memory(holding),
        holding.devices,
        holding.nodes,
        not seat.split,
        tuple(unit.unit for unit in seat.crossing),
        tuple(unit.unit for unit in seat.torn),
    )


def _memory(holding: Holding) -> tuple[MemoryHeld, ...]:
    return tuple(MemoryHeld(block.numa, block.type, block.size) for block in holding.memory)


def accounts_record(accounts: Sequence[PodAccount], notes: Sequence[Note]) -> AccountsAnswer:
    return AccountsAnswer(tuple(map(_account, accounts)), tuple(notes))


def _account(account: PodAccount) -> AccountRecord:
    now: Explained | UnsetType = UNSET
    if account.decision is not None and account.engine is not None:
        now = stories_record([(account.decision, story_of(account.engine, account.decision))]).stories[0]
    return AccountRecord(
        account.name,
        account.standing,
        account.node,
        account.reason,
        account.message,
        account.policy,
        account.since,
        account.gates,
        account.offered,
        account.best,
        UNSET if account.seat is None else seat_record(account.seat),
        account.unknown or UNSET,
        now,
        _waiting(account),
    )


def _waiting(account: PodAccount) -> WhyWaitingRecord | UnsetType:
    why = account.why
    if why is None:
        return UNSET
    return WhyWaitingRecord(
        waiting_sentence(why),
        why.nodes,
        why.unknown,
        why.fitting,
        why.never,
        why.busy,
        why.ends,
        why.aside,
        why.groups,
        None if why.change is None else why.change.text,
        None if why.change is None else why.change.node,
    )


def capacity_record(
    counts: Sequence[FleetCount], wanted: Sequence[int], unknown: Sequence[str], notes: Sequence[Note]
) -> CapacityAnswer:
    shapes = tuple(_shape(count, number) for count, number in zip(counts, wanted, strict=True))
    return CapacityAnswer(shapes, tuple(unknown), tuple(notes))


def _shape(count: FleetCount, wanted: int) -> ShapeCountRecord:
    counts = tuple(NodeCountRecord(own.count, own.nodes, own.reason, own.sentence) for own in count.counts)
    return ShapeCountRecord(count.shape.full_name, wanted, count.total, count.nodes, counts)


def checkup_answer(checkup: FleetCheckup, notes: Sequence[Note]) -> FleetCheckupAnswer:
    findings = tuple(
        FindingRecord(own.finding.code, own.finding.severity, own.finding.text, own.finding.cure, own.nodes)
        for own in checkup.findings
    )
    return FleetCheckupAnswer(checkup.nodes, checkup.known, checkup.kubelets, findings, tuple(notes))


def node_record(
    row: FleetRow, release: str, seats: Sequence[PodSeat], coming: Sequence[str], notes: Sequence[Note]
) -> NodeAnswer:
    return NodeAnswer(_line(row), release, tuple(map(seat_record, seats)), tuple(coming), tuple(notes))
