"""Nodes as a scheduler sees them: what each offers as a whole and what pods ask for on it. Where on the node that is
free does not matter here."""

from collections.abc import Mapping

from numafit.decision.decide import offered_by, requests_of
from numafit.fleet.state import NodeState
from numafit.workload.pod import Pod

PODS = "pods"
LEAST_ASKED = {"cpu": 100, "memory": 200 << 20}
"""Of a pod that asks for none, when nodes are scored (kube-scheduler 1.36: 100m, 200 MiB); not when it is fitted in."""


class SchedulerView:
    """It remembers what is equal for all nodes of a kind, as long as their devices are healthy, and for pods of a
    shape."""

    def __init__(self) -> None:
        self._offered: dict[str, Mapping[str, int]] = {}
        self._wanted: dict[tuple[str, bytes], Mapping[str, int]] = {}

    def offered(self, state: NodeState) -> Mapping[str, int]:
        found = self._offered.get(state.kind)
        if found is None:
            found = self._offered[state.kind] = offered_by(state.ledger.device, state.allocatable or {})
        return found

    def wanted(self, state: NodeState, pod: Pod, shape: bytes) -> Mapping[str, int]:
        key = (state.kind, shape)
        found = self._wanted.get(key)
        if found is None:
            found = self._wanted[key] = requests_of(state.node.settings, pod)
        return found

    def fits(self, state: NodeState, pod: Pod, shape: bytes) -> bool:
        """NodeResourcesFit: of everything enough is left on the node as a whole."""
        offered, used = self.offered(state), state.load.amounts
        if state.load.pods + 1 > offered.get(PODS, 0):
            return False
        for name, amount in self.wanted(state, pod, shape).items():
            if amount > offered.get(name, 0) - used.get(name, 0):
                return False
        return True

    def parts(self, state: NodeState, pod: Pod, shape: bytes, *, devices: bool = True) -> list[tuple[int, int]]:
        """(asked for, offered) of each resource that NodeResourcesFit scores, the pod included: CPUs and memory, and
        where it is told to, devices that the pod asks for."""
        offered, used, wanted = self.offered(state), state.load.amounts, self.wanted(state, pod, shape)
        found = []
        for name in (*LEAST_ASKED, *(own for own in wanted if devices and "/" in own)):
            if offered.get(name, 0):
                found.append((used.get(name, 0) + (wanted.get(name, 0) or LEAST_ASKED.get(name, 0)), offered[name]))
        return found

    def parts_in_full(
        self, state: NodeState, pod: Pod, shape: bytes
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """(asked for, offered) of CPUs and of memory, without the pod and with it; who asks for none counts as that."""
        offered, used, wanted = self.offered(state), state.load.amounts, self.wanted(state, pod, shape)
        names = [name for name in LEAST_ASKED if offered.get(name, 0)]
        before = [(used.get(name, 0), offered[name]) for name in names]
        after = [(used.get(name, 0) + wanted.get(name, 0), offered[name]) for name in names]
        return before, after
