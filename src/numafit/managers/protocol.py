"""What a manager of a resource is: the topology manager knows this protocol and nothing else of its managers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

import msgspec

from numafit.ledger.ledger import Ledger
from numafit.managers.ask import Ask
from numafit.managers.refused import AllocationRefused
from numafit.managers.topology.hint import ProviderHints
from numafit.workload.pod import Container, Pod

UNEXPECTED = "UnexpectedAdmissionError"
SMT_ALIGNMENT = "SMTAlignmentError"
TOPOLOGY_AFFINITY = "TopologyAffinityError"
EMPTY_SHARED_POOL = "EmptyPodSharedPoolError"


class Refusal(msgspec.Struct, frozen=True):
    """An allocation that failed. `reason` is empty for an error without a type of its own."""

    text: str
    cause: AllocationRefused | None
    """None only where the merge is to blame."""
    reason: str = ""


class PluginCall(msgspec.Struct, frozen=True):
    """A call to a device plugin that succeeded, in the order made."""

    kind: str
    resource: str
    devices: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    must_include: tuple[str, ...] = ()
    size: int = 0


class Choices:
    """What the kubelet leaves to chance: the order in which Go walks a map. numafit sorts.

    A subclass may answer differently to find out whether another outcome is possible.
    """

    draws: Sequence["Draw"] = ()
    """What was left to chance so far, where somebody watches."""

    def devices(self, container: str, resource: str, candidates: Iterable[str], count: int) -> Sequence[str]:
        """The order in which equal devices are taken; the first `count` of them are."""
        return sorted(candidates)

    def preferred(self, container: str, resource: str, answers: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
        """One of the answers of a device plugin, which is offered devices in random order."""
        return next(answers)

    def nodes(self, nodes: Iterable[int]) -> Sequence[int]:
        """The order of NUMA nodes in which devices that sit on several are looked for (1.20 and 1.21)."""
        return sorted(nodes)

    def resources(self, container: str, names: Iterable[str]) -> Sequence[str]:
        """The order in which the device resources of a container are served."""
        return sorted(names)

    def stale(self, containers: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        """The order in which stale (pod UID, container) pairs are released."""
        return sorted(containers)

    def pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """The order in which a kubelet that starts admits its static pods; here that in which they came."""
        return pods

    def victim(self, uids: Sequence[str]) -> str:
        """Which of equal pods, oldest first, is evicted for a critical one: the last in the order of a map."""
        return uids[-1]

    def cpus(self, container: str, outcomes: Iterator[int]) -> int:
        """One of the CPU sets that the assignment algorithm may give (several only in 1.20 and 1.21).

        `container` is empty for the reserved CPUs."""
        return next(outcomes)


DrawKind = Literal["devices", "preferred", "nodes", "resources", "stale", "pods", "victim", "cpus"]
"""The method of `Choices`."""


class Draw(msgspec.Struct, frozen=True):
    """Something that was left to chance, with more than one possibility."""

    kind: DrawKind
    container: str = ""
    resource: str = ""
    candidates: int = 0
    count: int = 0
    """So many of the candidates are taken; 0 where all of them are, in one order or another."""


class WatchedChoices(Choices):
    """Chooses as numafit does, and remembers what could have been chosen otherwise."""

    draws: list[Draw]

    def __init__(self) -> None:
        self.draws = []

    def devices(self, container: str, resource: str, candidates: Iterable[str], count: int) -> Sequence[str]:
        ordered = super().devices(container, resource, candidates, count)
        if 0 < count < len(ordered):
            self.draws.append(Draw("devices", container, resource, len(ordered), count))
        return ordered

    def preferred(self, container: str, resource: str, answers: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
        first = super().preferred(container, resource, answers)
        if next(answers, None) is not None:
            self.draws.append(Draw("preferred", container, resource, count=len(first)))
        return first

    def nodes(self, nodes: Iterable[int]) -> Sequence[int]:
        ordered = super().nodes(nodes)
        if len(ordered) > 1:
            self.draws.append(Draw("nodes"))
        return ordered

    def resources(self, container: str, names: Iterable[str]) -> Sequence[str]:
        ordered = super().resources(container, names)
        if len(ordered) > 1:
            self.draws.append(Draw("resources", container))
        return ordered

    def stale(self, containers: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        ordered = super().stale(containers)
        if len(ordered) > 1:
            self.draws.append(Draw("stale"))
        return ordered

    def pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        if len(pods) > 1:
            self.draws.append(Draw("pods", candidates=len(pods)))
        return pods

    def victim(self, uids: Sequence[str]) -> str:
        if len(uids) > 1:
            self.draws.append(Draw("victim", candidates=len(uids), count=1))
        return super().victim(uids)

    def cpus(self, container: str, outcomes: Iterator[int]) -> int:
        first = super().cpus(container, outcomes)
        if next(outcomes, None) is not None:
            self.draws.append(Draw("cpus", container))
        return first


class Call(msgspec.Struct):
    """One admission as the managers see it: the ledger moves on from call to call."""

    ledger: Ledger
    ask: Ask
    choices: Choices
    plugin_calls: list[PluginCall] = msgspec.field(default_factory=list)
    swept: set[str] = msgspec.field(default_factory=set)
    """The managers that have removed stale state. Nothing becomes stale during an admission, so once is enough."""


class Manager(Protocol):
    """Each method may move `call.ledger` on, also when it refuses: the kubelet does not roll back."""

    def hints(self, call: Call, container: Container) -> ProviderHints: ...

    def pod_hints(self, call: Call) -> ProviderHints: ...

    def allocate(self, call: Call, container: Container) -> Refusal | None: ...

    def allocate_pod(self, call: Call) -> Refusal | None: ...
