"""One attempt to admit a pod, as a log tells it: the value, and how it grows line by line."""

from collections.abc import Mapping

import msgspec

from numafit.advice.log_kubelet import Kubelet
from numafit.advice.log_lines import LogLine
from numafit.advice.log_rejection import Rejection
from numafit.decision.decision import NO_LOCALITY
from numafit.managers.hint import Hint, ProviderHints
from numafit.managers.manager import TOPOLOGY_AFFINITY


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
    kubelet: Kubelet


class Arrival(msgspec.Struct, frozen=True):
    """The kubelet is told of a pod; `old_uid` is that of a pod of the same name that was there before."""

    pod: str
    uid: str
    time: int
    stamp: str
    old_uid: str = ""


Event = Admission | Arrival


class Verdict(msgspec.Struct, frozen=True):
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

    def verdict(self) -> Verdict:
        if self.rejection is not None:
            return Verdict(False, self.rejection.reason, self.rejection.message)
        if self.result:
            return Verdict(False, TOPOLOGY_AFFINITY if self.result == NO_LOCALITY else "", self.result)
        if self.result == "":
            return Verdict(True)
        if not self.merges:
            # With the policy none nothing is merged; what was allocated tells that it went well so far.
            return Verdict(True if self.cpus else None)
        last = self.merges[-1]
        if last.stored:
            return Verdict(True)
        if last.decided and (self.followed or last.best == (None, False)):
            return Verdict(False, TOPOLOGY_AFFINITY, NO_LOCALITY, inferred=True)
        return Verdict(None)

    def merge_rejected(self) -> bool:
        """The last merge is the end of it."""
        return bool(self.merges) and self.merges[-1].decided and not self.merges[-1].stored and self._over()

    def _over(self) -> bool:
        return self.verdict().admitted is not None

    def admission(self, kubelet: Kubelet) -> Admission:
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
