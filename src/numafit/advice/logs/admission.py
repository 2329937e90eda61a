"""One attempt to admit a pod, as a log tells it: the value, how it grows line by line, and what rejects it."""

from collections.abc import Mapping

import msgspec

from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.advice.logs.lines import DENIED, EVENT, PATCH, PREDICATE, LogLine
from numafit.decision.decision import NO_LOCALITY, OUT_OF
from numafit.ledger.ledger import Hint
from numafit.managers.protocol import SMT_ALIGNMENT, TOPOLOGY_AFFINITY
from numafit.managers.topology.hint import ProviderHints

PREFIXES = ("Pod was rejected: ", "Pod ")
"""How the message in a pod's status begins: from 1.28 on, and before."""

_REASONS = frozenset(
    (
        TOPOLOGY_AFFINITY,
        SMT_ALIGNMENT,
        "UnexpectedAdmissionError",
        "EmptyPodSharedPoolError",
        "SysctlForbidden",
        "InvalidNodeInfo",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "PodOSNotSupported",
        "UnexpectedPredicateFailureType",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "TaintToleration",
        "AppArmor",
        "PodLevelResourcesNotSupported",
        "PodFeatureUnsupported",
        "NodeShutdown",
    )
)
_EVICTED = "Evicted"
_PRESSURE = "The node had condition: "
"""A pod that comes under pressure; running pods are evicted with other words."""
_SHORT = "Node didn't have enough resource: "


class Rejection(msgspec.Struct, frozen=True):
    pod: str
    uid: str
    reason: str
    message: str


class _Metadata(msgspec.Struct):
    uid: str = ""


class _Status(msgspec.Struct):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None


class _Patch(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    status: _Status = msgspec.field(default_factory=_Status)


def rejection_of(line: LogLine) -> Rejection | None:
    fields = line.fields
    if line.message == DENIED:
        # A refused resize leaves the pod running.
        if fields.get("operation", "add") != "add" or not fields.get("pod"):
            return None
        return Rejection(fields["pod"], fields.get("podUID", ""), fields.get("reason", ""), fields.get("message", ""))
    if line.message == EVENT:
        reason, message = fields.get("reason", ""), fields.get("message", "")
        if fields.get("fieldPath") or not _rejects(reason, message):
            return None
        return Rejection(fields.get("object", ""), "", reason, message)
    if line.message == PATCH:
        return _from_patch(fields)
    if line.message == PREDICATE and fields.get("pod"):
        message = fields.get("err", "")
        name = message.removeprefix(_SHORT).partition(",")[0] if message.startswith(_SHORT) else ""
        return Rejection(fields["pod"], fields.get("podUID", ""), f"{OUT_OF}{name}" if name else "", message)
    return None


def _rejects(reason: str, message: str) -> bool:
    if reason == _EVICTED:
        return message.startswith(_PRESSURE)
    return reason in _REASONS or reason.startswith(OUT_OF)


def _from_patch(fields: dict[str, str]) -> Rejection | None:
    # Named patchBytes in 1.21.
    text = fields.get("patch") or fields.get("patchBytes", "")
    try:
        patch = msgspec.json.decode(text, type=_Patch)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    status = patch.status
    reason, message = status.reason or "", status.message or ""
    for prefix in PREFIXES:
        if message.startswith(prefix):
            message = message.removeprefix(prefix)
            break
    if status.phase != "Failed" or not _rejects(reason, message) or not fields.get("pod"):
        return None
    return Rejection(fields["pod"], patch.metadata.uid or fields.get("podUID", ""), reason, message)


class LoggedMerge(msgspec.Struct, frozen=True):
    container: str
    """Empty in the pod scope."""
    providers: tuple[ProviderHints, ...]
    """In the order of the lines, which is the kubelet's: device manager, CPU manager, memory manager."""
    best: Hint | None
    """None: the line is missing."""
    admit: bool | None


class Admission(msgspec.Struct, frozen=True):
    pod: str
    """namespace/name"""
    uid: str
    line: int
    time: int
    stamp: str
    admitted: bool | None
    """None: the log does not tell."""
    reason: str
    message: str
    inferred: bool
    """The rejection is not said by a line: it follows from the merge, after which nothing was stored."""
    merges: tuple[LoggedMerge, ...]
    cpus: Mapping[str, int]
    """Container -> exclusive CPUs given to it."""
    devices: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Container -> resource -> device ids."""
    kubelet: LoggedKubelet


class Arrival(msgspec.Struct, frozen=True):
    """The kubelet is told of a pod; `old_uid` is that of a pod of the same name that was there before."""

    pod: str
    uid: str
    time: int
    stamp: str
    old_uid: str = ""


LogEvent = Admission | Arrival


class LoggedVerdict(msgspec.Struct, frozen=True):
    admitted: bool | None
    reason: str = ""
    message: str = ""
    inferred: bool = False


class MergeBuilder:
    def __init__(self, container: str) -> None:
        self.container = container
        self.providers: list[ProviderHints] = []
        self.best: Hint | None = None
        self.decided = False
        """The policy has seen the merged hint; if it accepts, the next thing is that the hint is stored."""
        self.stored = False


class Attempt:
    def __init__(self, pod: str, line: LogLine) -> None:
        self.pod = pod
        self.uid = line.fields.get("podUID", "") if pod else ""
        self.line = line
        self.merges: list[MergeBuilder] = []
        self.container = ""
        self.cpus: dict[str, int] = {}
        self.devices: dict[str, dict[str, tuple[str, ...]]] = {}
        self.result: str | None = None
        """What the topology manager answered; empty: the pod may pass."""
        self.rejection: Rejection | None = None
        self.told_by: set[str] = set()
        self.followed = False
        """The kubelet has gone on to other things."""
        self.decided_at = 0

    def repeats(self, container: str) -> bool:
        """Hints of this container can only belong to another attempt."""
        return any(merge.decided and merge.container == container for merge in self.merges)

    def verdict(self) -> LoggedVerdict:
        if self.rejection is not None:
            return LoggedVerdict(False, self.rejection.reason, self.rejection.message)
        if self.result:
            return LoggedVerdict(False, TOPOLOGY_AFFINITY if self.result == NO_LOCALITY else "", self.result)
        if self.result == "":
            return LoggedVerdict(True)
        if not self.merges:
            # With the policy none nothing is merged; what was allocated tells that it went well so far.
            return LoggedVerdict(True if self.cpus else None)
        last = self.merges[-1]
        if last.stored:
            return LoggedVerdict(True)
        if last.decided and (self.followed or last.best == (None, False)):
            return LoggedVerdict(False, TOPOLOGY_AFFINITY, NO_LOCALITY, inferred=True)
        return LoggedVerdict(None)

    def merge_rejected(self) -> bool:
        """The last merge is the end of it."""
        return bool(self.merges) and self.merges[-1].decided and not self.merges[-1].stored and self._over()

    def _over(self) -> bool:
        return self.verdict().admitted is not None

    def admission(self, kubelet: LoggedKubelet) -> Admission:
        verdict, over = self.verdict(), self._over()
        merges = []
        for merge in self.merges:
            known = merge.stored or (merge.decided and (over or merge is not self.merges[-1]))
            merges.append(
                LoggedMerge(merge.container, tuple(merge.providers), merge.best, merge.stored if known else None)
            )
        return Admission(
            pod=self.pod,
            uid=self.uid,
            line=self.line.number,
            time=self.line.time,
            stamp=self.line.stamp,
            admitted=verdict.admitted,
            reason=verdict.reason,
            message=verdict.message,
            inferred=verdict.inferred,
            merges=tuple(merges),
            cpus=self.cpus,
            devices=self.devices,
            kubelet=kubelet,
        )
