"""Where the pods of a node sit by what its kubelet holds for them, and who lies on more NUMA nodes than it needs."""

from collections.abc import Mapping

import msgspec

from numafit.advice.alignment import Given, Torn, crossing, given_to, torn
from numafit.decision.decision import Decision, Placement
from numafit.decision.held import Holding, holding_of
from numafit.decision.node import Node
from numafit.fleet.state import NodeState
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod

WHOLE_POD = ""
"""In the place of a container: what the pod holds as a whole."""


class PodSeat(msgspec.Struct, frozen=True):
    pod: Pod
    holding: Holding
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
    decision = _as_decided(pod, ledger)
    return PodSeat(
        pod,
        holding_of(node, ledger, uid),
        given_to(node, decision),
        crossing(node, decision),
        torn(node, decision),
    )


def split_pods(state: NodeState) -> tuple[str, ...]:
    """Their names, sorted."""
    node, ledger = state.node, state.ledger
    found = []
    for uid in _with_several(node, ledger):
        pod = ledger.active.get(uid)
        if pod is not None and crossing(node, _as_decided(pod, ledger)):
            found.append(pod.known_name)
    return tuple(sorted(found))


def _with_several(node: Node, ledger: Ledger) -> list[str]:
    """UIDs of the pods that lie on several NUMA nodes: the others are not worth a closer look."""
    cpu, memory, device = ledger.cpu, ledger.memory, ledger.device
    holders = {**cpu.entries, **cpu.pod_entries, **memory.entries, **memory.pod_entries, **device.held}
    return [uid for uid in holders if len(holding_of(node, ledger, uid).nodes) > 1]


def _as_decided(pod: Pod, ledger: Ledger) -> Decision:
    """As if the kubelet had just decided what it holds for the pod."""
    uid = pod.uid
    cpus, memory = ledger.cpu.entries.get(uid, {}), ledger.memory.entries.get(uid, {})
    devices = ledger.device.held.get(uid, {})
    names = dict.fromkeys((*cpus, *memory, *devices))
    numa_of = {own.id: own.numa or () for listed in ledger.device.devices.values() for own in listed.values()}
    placed: dict[str, Placement] = {
        name: Placement(
            ledger.affinity_of(uid, name),
            cpus.get(name),
            memory.get(name),
            {
                resource: {id: numa_of.get(id, ()) for id in sorted(held.ids)}
                for resource, held in devices.get(name, {}).items()
            },
        )
        for name in names
    }
    if uid in ledger.cpu.pod_entries or uid in ledger.memory.pod_entries:
        whole = Placement((None, False), ledger.cpu.pod_entries.get(uid), ledger.memory.pod_entries.get(uid))
        placed = {**_without_memory(placed, uid, ledger), WHOLE_POD: whole}
    return Decision(pod, "", True, ledger, containers=placed)


def _without_memory(placed: Mapping[str, Placement], uid: str, ledger: Ledger) -> dict[str, Placement]:
    """Where the pod holds memory as a whole, that of its containers is a part of it."""
    if uid not in ledger.memory.pod_entries:
        return dict(placed)
    return {name: Placement(own.affinity, own.cpus, None, own.devices) for name, own in placed.items()}
