"""A decision is data: what each manager offered, what the merge made of it, the verdict, and the ledger after it."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.ledger.ledger import Block, Hint, Ledger
from numafit.managers.protocol import PluginCall
from numafit.managers.refused import AllocationRefused
from numafit.managers.topology.hint import ProviderHints
from numafit.workload.pod import Pod

OUT_OF = "OutOf"
"""The reason begins so when the node as a whole is short of a resource, whose name follows."""
PREEMPTING = "Preempting"
PREEMPTED = "Preempted in order to admit critical pod"
NO_LOCALITY = "Resources cannot be allocated with Topology locality"


class MergeStep(msgspec.Struct, frozen=True):
    """One merge: of one container's hints, or in the pod scope of the pod's (`container` is then empty)."""

    container: str
    providers: tuple[ProviderHints, ...]
    """In the kubelet's order: device manager, CPU manager, memory manager."""
    best: Hint
    admit: bool
    ledger: Ledger
    """What the hints were made from."""


class Placement(msgspec.Struct, frozen=True):
    """What a container holds after the decision. None: no entry."""

    affinity: Hint
    cpus: int | None = None
    memory: tuple[Block, ...] | None = None
    devices: Mapping[str, Mapping[str, tuple[int, ...]]] = {}
    """Resource -> device id -> its NUMA nodes."""


class ManagerRefused(msgspec.Struct, frozen=True, tag_field="kind", tag="manager-refused"):
    """A manager that could not allocate."""

    container: str
    """Empty where the pod is allocated as a whole."""
    cause: AllocationRefused


class NodeShort(msgspec.Struct, frozen=True, tag_field="kind", tag="node-short"):
    """The node as a whole has too little, whatever the managers found. CPUs are counted in thousandths."""

    resource: str
    asked: int
    used: int
    """By the other pods."""
    capacity: int

    @property
    def missing(self) -> int:
        return self.asked - (self.capacity - self.used)


class NothingToEvict(msgspec.Struct, frozen=True, tag_field="kind", tag="nothing-to-evict"):
    """The node as a whole has too little for a critical pod, and too little even without all that may go for it."""

    short: tuple[NodeShort, ...]
    """In the kubelet's order."""
    missing: Mapping[str, int]
    """Resource -> what would be missing without them."""
    candidates: int
    """So many pods may go."""


class Preempted(msgspec.Struct, frozen=True, tag_field="kind", tag="preempted"):
    """A pod that ran and is evicted for a critical one."""

    by: str
    """The critical pod, as namespace/name."""
    qos: str
    """The class that it was chosen from."""
    missing: Mapping[str, int]
    """What was missing when its turn came: for a Guaranteed pod with all Burstable and BestEffort ones gone, for a
    Burstable pod with all BestEffort ones gone and the Guaranteed ones that must go."""
    frees: Mapping[str, int]
    """What it gives back of that."""
    distance: float
    """The sum, over what was missing, of the squared share that it leaves missing; no other was nearer."""
    among: int
    """So many pods of its class could have gone, itself included."""
    equals: int
    """So many others were as near and as small: which of them goes is left to chance."""
    larger: int = 0
    """So many others were as near, and ask for more memory, or for as much and more CPU."""


class Unsuited(msgspec.Struct, frozen=True, tag_field="kind", tag="unsuited"):
    """The node is not of the sort that the pod wants, whatever is free on it."""

    reason: str
    message: str
    facts: Mapping[str, str] = {}
    """What the pod wants and the node lacks: `selector` with `label`, `affinity`, `port` with `pod`, `taint`,
    `system`, `sidecar`."""


class Crash(msgspec.Struct, frozen=True, tag_field="kind", tag="crash"):
    """The kubelet's process ends, or never comes back."""

    code: str
    container: str
    """Empty where the pod is looked at as a whole."""
    facts: Mapping[str, str] = {}


ResizeVerdict = Literal["", "allocated", "reverted", "Deferred", "Infeasible", "refused"]
"""Empty: no resize was decided. `allocated`: the pod has it from now on; `reverted`: what was asked before is given up,
and what is asked now is what the pod has. `Deferred` and `Infeasible` are the kubelet's words; what is deferred is
tried again. `refused`: by the API server, so that no kubelet hears of it."""


class ResizeRefused(msgspec.Struct, frozen=True, tag_field="kind", tag="resize-refused"):
    """A resize that fails before any manager is asked."""

    code: str
    """A code of `resize.request`, or of `resize.verdict`."""
    facts: Mapping[str, str | int] = {}
    """What the code is about: container, resource, amounts (CPUs in thousandths)."""


class Decision(msgspec.Struct, frozen=True):
    pod: Pod
    qos: str
    admitted: bool
    ledger: Ledger
    """After the decision. A rejection leaves behind what earlier containers got, until stale state is removed."""
    reason: str = ""
    message: str = ""
    merges: tuple[MergeStep, ...] | None = None
    """None with the topology policy none, which merges nothing."""
    containers: Mapping[str, Placement] = {}
    plugin_calls: tuple[PluginCall, ...] = ()
    panic: str = ""
    """The kubelet would panic here with this text, or hang. People read "crash"."""
    cause: ManagerRefused | NodeShort | NothingToEvict | Preempted | Unsuited | Crash | ResizeRefused | None = None
    """Why not, unless the last merge tells."""
    short: tuple[NodeShort, ...] = ()
    """All that the node as a whole was short of, in the kubelet's order."""
    evicted: tuple["Decision", ...] = ()
    """The pods that went so that this one, a critical one, was admitted; in the order in which they were killed."""
    resize: ResizeVerdict = ""
    """Of a decision on other resources for a pod that runs: `pod` is then the pod as it shall be, and `admitted` that
    it has them. A pod whose resize is not allocated runs on as it was."""

    @property
    def runs(self) -> bool:
        """The pod is there after it, with the new resources or as it was."""
        return self.admitted or (bool(self.resize) and not self.panic)

    @property
    def shortage(self) -> str:
        """The resource of which the node as a whole has too little, though its managers found a place."""
        if isinstance(self.cause, NothingToEvict):
            return self.cause.short[0].resource
        return self.cause.resource if isinstance(self.cause, NodeShort) else ""
