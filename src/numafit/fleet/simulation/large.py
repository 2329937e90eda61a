"""Large pods that nobody sends: how many of them could still come, and with them how much room a rule leaves."""

from collections.abc import Iterable, Iterator

import msgspec

from numafit.fleet.simulation.outcome import LargeShape
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory, shape_digest, tried
from numafit.quantity import Quantity, quantity_of
from numafit.workload.pod import Container, Pod

SHARE = 3, 4
"""Of the CPUs and the memory that are due to its devices, or its NUMA node, a large pod asks for so much."""
FEWEST_DEVICES = 2


class LargePod(msgspec.Struct, frozen=True):
    name: str
    """What it asks for, in words."""
    pod: Pod
    shape: bytes

    @property
    def asks(self) -> LargeShape:
        requests = self.pod.containers[0].requests
        return LargeShape(self.name, {name: str(amount) for name, amount in requests.items()})


def large_pod(name: str, amounts: dict[str, Quantity]) -> LargePod:
    pod = Pod("large", "large", (Container("main", amounts, amounts),))
    return LargePod(name, pod, shape_digest(pod))


def large_pods(idle: Iterable[NodeState]) -> tuple[LargePod, ...]:
    """For nodes with nobody on them, one of each kind: pods with all devices of the node that has most, with half of
    them, and with a NUMA node's CPUs. Those that no kubelet admits are left out; without nodes there are none."""
    states = list(idle)
    if not states:
        return ()
    memory, view = VerdictMemory(), SchedulerView()
    largest = max(states, key=lambda state: (_devices(state)[1], view.offered(state).get("cpu", 0)))
    found: dict[bytes, LargePod] = {}
    for own in _asked(largest, view):
        if any(memory.verdict(state, own.pod, own.shape).admitted for state in states):
            found.setdefault(own.shape, own)
    return tuple(found.values())


def _devices(state: NodeState) -> tuple[str, int]:
    """The resource of which there is most, and how many."""
    counts = {name: len(own) for name, own in state.ledger.device.healthy.items()}
    return max(counts.items(), key=lambda own: (own[1], own[0]), default=("", 0))


def _asked(state: NodeState, view: SchedulerView) -> Iterator[LargePod]:
    offered = view.offered(state)
    cpus, memory = offered.get("cpu", 0) // 1000, offered.get("memory", 0)
    resource, all_of_them = _devices(state)
    per_core = state.node.cpu.topology.cpus_per_core
    for parts in (1, 2):
        devices = all_of_them // parts
        if devices >= FEWEST_DEVICES and devices * parts == all_of_them:
            own = _share(cpus // parts, memory // parts, per_core)
            yield large_pod(f"{devices} {_word(resource)}", {**own, resource: quantity_of(devices)})
    numa_nodes = len(state.node.machine.numa_nodes)
    if numa_nodes:
        yield large_pod("NUMA node", _share(cpus // numa_nodes, memory // numa_nodes, per_core))


def _share(cpus: int, memory: int, per_core: int) -> dict[str, Quantity]:
    part, whole = SHARE
    wanted = max(cpus * part // whole // per_core, 1) * per_core
    return {"cpu": quantity_of(wanted), "memory": Quantity(max(memory * part // whole >> 20, 1) << 20, 0, "BinarySI")}


def _word(resource: str) -> str:
    kind = resource.rpartition("/")[2]
    return f"{kind.upper()}s" if len(kind) <= 4 else kind


class RoomCounter:
    """How many pods of a shape a node still takes, one after the other; remembered as long as nodes
    are in that state."""

    def __init__(self, large: LargePod, view: SchedulerView) -> None:
        self.large, self._view = large, view
        self._found: dict[bytes, int] = {}

    def count_all(self, groups: Iterable[tuple[NodeState, int]]) -> int:
        """On all of these: states, and how many nodes are in each."""
        # What was counted of states that no node is in any more is forgotten.
        known, self._found, total = self._found, {}, 0
        for state, many in groups:
            found = known.get(state.key)
            if found is None:
                found = self._counted(state)
            self._found[state.key] = found
            total += found * many
        return total

    def count(self, state: NodeState) -> int:
        return self.count_all(((state, 1),))

    def _counted(self, state: NodeState) -> int:
        pod, count = self.large.pod, 0
        stands: NodeState | None = state
        while stands is not None and self._view.fits(stands, pod, self.large.shape):
            stands = tried(stands, msgspec.structs.replace(pod, uid=f"large-{count}"))[1]
            count += stands is not None
        return count
