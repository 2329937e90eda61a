"""Yes or no: a pod is admitted or rejected, in the kubelet's order, with the kubelet's reason and message.

The managers allocate in here and nowhere else. Nothing is rolled back: a rejected pod leaves what its earlier
containers got until stale state is removed.
"""

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from numafit.decision.decision import NO_LOCALITY, Crash, Decision, ManagerRefused, MergeStep, Placement
from numafit.decision.node import Node
from numafit.errors import KubeletPanic
from numafit.ledger.ledger import Hint, Ledger
from numafit.managers.ask import ask_of
from numafit.managers.protocol import TOPOLOGY_AFFINITY, UNEXPECTED, Call, Choices, Manager, Refusal
from numafit.managers.topology.hint import ProviderHints
from numafit.managers.topology.merge import merge
from numafit.workload.pod import Container, Pod

POD_LEVEL_CONTAINER_SCOPE = (
    "Pod Scope pod with pod-level resources failed admission with a container-level topology manager"
)
POD_LEVEL_POD_SCOPE = "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"


LifecycleOperation = Literal["add", "resize"]


def admit(
    node: Node, ledger: Ledger, pod: Pod, choices: Choices | None = None, operation: LifecycleOperation = "add"
) -> Decision:
    """Decide on a pod, new or known from before a restart. Afterwards it is active if it was admitted.

    A resize is an operation of its own only since 1.37: before, a pod that is resized passes as if it came."""
    ask = ask_of(pod, node.settings)
    ledger = replace(ledger, active={**ledger.active, pod.uid: pod})
    call = Call(ledger, ask, choices or Choices())
    admission = _Admission(node, call, resize=operation == "resize" and node.settings.behaviour.resize_operation)
    panic = ""
    refusal: Refusal | None = None
    cause: ManagerRefused | Crash | None = None
    try:
        refusal = admission.run()
        if refusal is not None and refusal.cause is not None:
            cause = ManagerRefused(admission.container, refusal.cause)
    except KubeletPanic as error:
        panic = str(error)
        cause = Crash(error.code, admission.container, error.facts)
    reason, message = _verdict(node, refusal)
    containers = placements_of(call.ledger, pod)
    admitted = refusal is None and not panic
    return Decision(
        pod,
        ask.qos,
        admitted,
        call.ledger if admitted else _rejected(call.ledger, pod.uid),
        reason,
        message,
        None if node.topology.policy == "none" else tuple(admission.merges),
        containers,
        tuple(call.plugin_calls),
        panic,
        cause=cause,
    )


class _Admission:
    """One admission under way: the merges so far, and the call that carries the ledger."""

    def __init__(self, node: Node, call: Call, *, resize: bool) -> None:
        self.node = node
        self.resize = resize
        """Nothing is allocated, and only the device manager has hints: for what the pod holds."""
        self.call = call
        self.pod = call.ask.pod
        self.managed = call.ask.pod_level == "managed"
        self.merges: list[MergeStep] = []
        self.container = ""
        """Whose turn it is; empty while the pod is looked at as a whole."""

    def run(self) -> Refusal | None:
        if self.node.topology.policy == "none":
            return self._each(self._allocate)
        if self.node.topology.scope == "pod":
            return self._pod_scope()
        return self._each(self._container_scope)

    def _each(self, step: Callable[[Container], Refusal | None]) -> Refusal | None:
        for container in self.pod.all_containers:
            refusal = step(container)
            if refusal is not None:
                return refusal
        return None

    def _container_scope(self, container: Container) -> Refusal | None:
        self.container = container.name
        hints = self._hints(lambda manager: manager.hints(self.call, container))
        best, admitted = self._merge(container.name, hints)
        if not admitted:
            return Refusal(POD_LEVEL_CONTAINER_SCOPE if self.managed else NO_LOCALITY, None, TOPOLOGY_AFFINITY)
        self._remember(best, (container,))
        return self._allocate(container)

    def _pod_scope(self) -> Refusal | None:
        hints = self._hints(lambda manager: manager.pod_hints(self.call))
        best, admitted = self._merge("", hints)
        if not admitted:
            return Refusal(POD_LEVEL_POD_SCOPE if self.managed else NO_LOCALITY, None, TOPOLOGY_AFFINITY)
        if self.managed:
            self._remember(best, self.pod.all_containers)
            return self._allocate_pod()
        for container in self.pod.all_containers:
            self._remember(best, (container,))
            refusal = self._allocate(container)
            if refusal is not None:
                return refusal
        return None

    def _hints(self, hints_of: Callable[[Manager], ProviderHints]) -> tuple[ProviderHints, ...]:
        if not self.resize:
            return tuple(hints_of(manager) for manager in self.node.managers)
        self._sweep()
        return (hints_of(self.node.device), *(None for _ in self.node.managers[1:]))

    def _sweep(self) -> None:
        """Whoever is asked removes stale state first, whatever the operation."""
        self.node.cpu.remove_stale(self.call)
        if self.node.memory is not None:
            self.node.memory.remove_stale(self.call)

    def _merge(self, container: str, hints: tuple[ProviderHints, ...]) -> tuple[Hint, bool]:
        topology = self.node.topology
        merged = merge(
            topology.policy,
            hints,
            topology.numa_nodes,
            behaviour=self.node.settings.behaviour,
            distances=topology.distances,
        )
        self.merges.append(MergeStep(container, hints, merged.best, merged.admit, self.call.ledger))
        return merged.best, merged.admit

    def _remember(self, best: Hint, containers: tuple[Container, ...]) -> None:
        ledger = self.call.ledger
        own = {**ledger.affinity.get(self.pod.uid, {}), **{container.name: best for container in containers}}
        self.call.ledger = replace(ledger, affinity={**ledger.affinity, self.pod.uid: own})

    def _allocate(self, container: Container) -> Refusal | None:
        self.container = container.name
        if self.resize:
            self._sweep()
            return None
        for manager in self.node.managers:
            refusal = manager.allocate(self.call, container)
            if refusal is not None:
                return refusal
        return None

    def _allocate_pod(self) -> Refusal | None:
        for manager in () if self.resize else self.node.managers:
            refusal = manager.allocate_pod(self.call)
            if refusal is not None:
                return refusal
        return None


def _verdict(node: Node, refusal: Refusal | None) -> tuple[str, str]:
    if refusal is None:
        return "", ""
    typed = node.settings.behaviour.typed_errors or refusal.reason == TOPOLOGY_AFFINITY
    if refusal.reason and typed:
        return refusal.reason, refusal.text
    return UNEXPECTED, f"Allocate failed due to {refusal.text}, which is unexpected"


def _rejected(ledger: Ledger, uid: str) -> Ledger:
    """The pod is no longer active. Its hints are of no use any more; the kubelet keeps them until it ends."""
    active = {other: pod for other, pod in ledger.active.items() if other != uid}
    affinity = {other: hints for other, hints in ledger.affinity.items() if other != uid}
    return replace(ledger, active=active, affinity=affinity)


def placements_of(ledger: Ledger, pod: Pod) -> dict[str, Placement]:
    """What each container holds."""
    return {container.name: _placement(ledger, pod.uid, container.name) for container in pod.all_containers}


def _placement(ledger: Ledger, uid: str, container: str) -> Placement:
    devices: dict[str, dict[str, tuple[int, ...]]] = {}
    for resource, held in ledger.device.held.get(uid, {}).get(container, {}).items():
        nodes: dict[str, list[int]] = {}
        for node, ids in held.by_numa.items():
            for device in ids:
                nodes.setdefault(device, []).append(node)
        devices[resource] = {device: tuple(sorted(own)) for device, own in sorted(nodes.items())}
    return Placement(
        ledger.affinity_of(uid, container),
        ledger.cpu.entries.get(uid, {}).get(container),
        ledger.memory.entries.get(uid, {}).get(container),
        devices,
    )
