"""From the live fleet to what is shown of it."""

from collections.abc import Iterable, Mapping

from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import ClusterPod, PodController
from numafit.cluster.live.words import HOLD_GATE, OUR_GATES, PLACED
from numafit.fleet.fleet import FleetNode
from numafit.fleet.look.rows import row_of
from numafit.fleet.look.usage import KindUsage, numa_usage
from numafit.show.records.fleet_board import (
    FleetTotals,
    KindRecord,
    NodeTile,
    NumaTile,
    RejectedOwner,
    WaitingTile,
)

UNKNOWN = "no agent of numafit publishes how it stands"
MOST_NODES = 8
"""Of a loop."""


def tile_of(node: ClusterNode, known: FleetNode | None, trouble: str) -> NodeTile:
    if known is None:
        return NodeTile(node.name, False, trouble or UNKNOWN, not node.unschedulable, node.ready, node.release)
    state, row = known.state, row_of(known)
    usage = row.usage
    return NodeTile(
        node.name,
        True,
        trouble,
        not node.unschedulable,
        node.ready,
        str(state.node.settings.version),
        row.policy,
        row.scope,
        _kind(usage.cpus),
        _kind(usage.gpus),
        _kind(usage.memory),
        usage.largest,
        usage.pods,
        row.promised,
        row.split,
        round(row.stranded, 4),
        tuple(NumaTile(own.numa, _kind(own.cpus), _kind(own.gpus), _kind(own.memory)) for own in numa_usage(state)),
    )


def _kind(usage: KindUsage) -> KindRecord:
    return KindRecord(usage.total, usage.free, usage.stranded)


def waiting_of(pods: Iterable[ClusterPod]) -> tuple[WaitingTile, ...]:
    """Those that no node has, and that are not about to be deleted."""
    found = [own for own in pods if not own.node and own.metadata.deletionTimestamp is None]
    found.sort(key=lambda own: (-(own.pod.priority or 0), own.metadata.creationTimestamp, own.full_name))
    return tuple(_waiting(own) for own in found)


def _waiting(pod: ClusterPod) -> WaitingTile:
    teller, sentence = _told(pod)
    made, priority = pod.metadata.creationTimestamp, pod.pod.priority or 0
    return WaitingTile(pod.full_name, made, priority, sentence, teller, pod.gates)


def _told(pod: ClusterPod) -> tuple[str, str]:
    placed = pod.condition(PLACED)
    if placed is not None and placed.status != "True" and any(gate in OUR_GATES for gate in pod.gates):
        return "guard" if HOLD_GATE in pod.gates else "placer", placed.message
    scheduled = pod.condition("PodScheduled")
    if scheduled is not None and scheduled.message and not pod.gates:
        return "scheduler", scheduled.message
    return "", ""


def loops_of(failed: Iterable[ClusterPod], living: Iterable[ClusterPod]) -> tuple[RejectedOwner, ...]:
    """By the owner that makes the next pod. Bare pods make no loop."""
    rejected: dict[PodController, list[ClusterPod]] = {}
    namespaces: dict[PodController, str] = {}
    for own in failed:
        if own.rejected and own.owner is not None:
            rejected.setdefault(own.owner, []).append(own)
            namespaces[own.owner] = own.metadata.namespace
    held: dict[PodController, list[str]] = {}
    for own in living:
        if HOLD_GATE in own.gates and own.owner is not None:
            held.setdefault(own.owner, []).append(own.metadata.name)
            namespaces[own.owner] = own.metadata.namespace
    loops = [
        _loop(owner, namespace, rejected.get(owner, []), held.get(owner, [])) for owner, namespace in namespaces.items()
    ]
    return tuple(sorted(loops, key=lambda own: (-own.rejected, own.owner)))


def _loop(owner: PodController, namespace: str, rejected: list[ClusterPod], held: list[str]) -> RejectedOwner:
    last = max(rejected, key=lambda own: (own.metadata.creationTimestamp, own.full_name), default=None)
    nodes = sorted({own.node for own in rejected})
    return RejectedOwner(
        f"{owner.kind} {namespace}/{owner.name}",
        len(rejected),
        last.reason if last else "",
        last.message if last else "",
        tuple(nodes[:MOST_NODES]),
        last.metadata.creationTimestamp if last else "",
        tuple(sorted(held)),
    )


def totals_of(tiles: Mapping[str, NodeTile], waiting: int) -> FleetTotals:
    known = [own for own in tiles.values() if own.known]
    return FleetTotals(
        len(tiles),
        len(known),
        _sum(own.cpus for own in known),
        _sum(own.gpus for own in known),
        _sum(own.memory for own in known),
        sum(len(own.split) for own in known),
        waiting,
    )


def _sum(kinds: Iterable[KindRecord | None]) -> KindRecord:
    total = free = stranded = 0
    for own in kinds:
        if own is not None:
            total, free, stranded = total + own.total, free + own.free, stranded + own.stranded
    return KindRecord(total, free, stranded)
