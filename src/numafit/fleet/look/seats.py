"""Where the pods of a node sit by what its kubelet holds for them, and who lies on more NUMA nodes than it needs."""

from collections.abc import Mapping

import msgspec

from numafit.advice.alignment import Given, Torn, crossing, given_to, torn
from numafit.advice.verdict import as_decided
from numafit.bits import mask_of, members
from numafit.decision.decision import Placement
from numafit.decision.held import Holding, holding_of
from numafit.decision.node import Node
from numafit.fleet.state import NodeState
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod


class PodSeat(msgspec.Struct, frozen=True):
    pod: Pod
    holding: Holding
    containers: Mapping[str, Holding] = {}
    """Those that hold something; an empty name stands for what the pod holds as a whole."""
    units: tuple[Given, ...] = ()
    """Containers, or the pod where the kubelet looks at it as a whole; those that hold something with a NUMA node."""
    crossing: tuple[Given, ...] = ()
    """Of the units those that lie on more NUMA nodes than the empty machine would need for them."""
    torn: tuple[Torn, ...] = ()
    """Of the units those whose GPUs could be nearer to each other."""

    @property
    def split(self) -> bool:
        return bool(self.crossing)


def seat_of(state: NodeState, uid: str) -> PodSeat | None:
    """None for a pod that is not among those of the node."""
    pod = state.ledger.active.get(uid)
    if pod is None:
        return None
    node, ledger = state.node, state.ledger
    decision = as_decided(pod, ledger)
    return PodSeat(
        pod,
        holding_of(node, ledger, uid),
        {name: _held(node, placement) for name, placement in decision.containers.items()},
        given_to(node, decision),
        crossing(node, decision),
        torn(node, decision),
    )


def _held(node: Node, placement: Placement) -> Holding:
    blocks = placement.memory or ()
    nodes = mask_of(numa for block in blocks for numa in block.numa)
    nodes |= mask_of(numa for own in placement.devices.values() for places in own.values() for numa in places)
    nodes |= mask_of(numa for numa, own in node.cpu.topology.numa_nodes.items() if own & (placement.cpus or 0))
    devices = {resource: tuple(own) for resource, own in sorted(placement.devices.items())}
    return Holding(placement.cpus or 0, blocks, devices, tuple(members(nodes)))


def seats_of(state: NodeState) -> tuple[PodSeat, ...]:
    """Of all pods of the node, by name."""
    seats = [seat for uid in state.ledger.active if (seat := seat_of(state, uid)) is not None]
    return tuple(sorted(seats, key=lambda seat: seat.pod.known_name))


def split_pods(state: NodeState) -> tuple[str, ...]:
    """Their names, sorted."""
    node, ledger = state.node, state.ledger
    found = []
    for uid in _with_several(node, ledger):
        pod = ledger.active.get(uid)
        if pod is not None and crossing(node, as_decided(pod, ledger)):
            found.append(pod.known_name)
    return tuple(sorted(found))


def _with_several(node: Node, ledger: Ledger) -> list[str]:
    """UIDs of the pods that lie on several NUMA nodes: the others are not worth a closer look."""
    cpu, memory, device = ledger.cpu, ledger.memory, ledger.device
    holders = {**cpu.entries, **cpu.pod_entries, **memory.entries, **memory.pod_entries, **device.held}
    return [uid for uid in holders if len(holding_of(node, ledger, uid).nodes) > 1]
