"""Counts of what the engine decided for the node that is shown, under the names of the kubelet's own metrics."""

from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.managers.ask import ask_of
from numafit.managers.manager import TOPOLOGY_AFFINITY, UNEXPECTED

KNOWN_REASONS = (TOPOLOGY_AFFINITY, UNEXPECTED, "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods")
"""Reasons that the kubelet counts under their own name, as far as its managers and the check behind them give them."""


class Counters:
    def __init__(self) -> None:
        self.requests = 0
        self.errors = 0
        self.cpu_requests = 0
        self.cpu_errors = 0
        self.memory_requests = 0
        self.memory_errors = 0
        self.rejections: dict[str, int] = {}
        self.aligned: dict[tuple[str, str], int] = {}
        self.not_aligned: dict[tuple[str, str], int] = {}

    def count(self, node: Node, decision: Decision) -> None:
        self.requests += 1
        managers_refused = not decision.admitted and not decision.reason.startswith("OutOf")
        if managers_refused and node.topology.policy != "none":
            self.errors += 1
        if not decision.admitted:
            reason = reason_label(decision.reason)
            self.rejections[reason] = self.rejections.get(reason, 0) + 1
        self._pinning(node, decision)
        if node.topology.policy == "single-numa-node":
            self._alignment(node, decision)

    def _pinning(self, node: Node, decision: Decision) -> None:
        """An allocation is tried only behind a merge that lets the pod pass."""
        if decision.reason == TOPOLOGY_AFFINITY:
            return
        ask = ask_of(decision.pod, node.settings)
        for name, placement in decision.containers.items():
            if node.cpu.static and ask.cpus[name]:
                self.cpu_requests += 1
                self.cpu_errors += placement.cpus is None
            if node.memory is not None and node.memory.static and ask.guaranteed:
                self.memory_requests += 1
                self.memory_errors += placement.memory is None and bool(ask.memory[name])

    def _alignment(self, node: Node, decision: Decision) -> None:
        scope = node.topology.scope
        for step in decision.merges or ():
            table = self.aligned if step.admit else self.not_aligned
            key = (scope, "numa_node")
            table[key] = table.get(key, 0) + 1


def reason_label(reason: str) -> str:
    if reason in KNOWN_REASONS:
        return reason
    return "OutOfExtendedResources" if reason.startswith("OutOf") else "Other"
