"""What a kubelet log tells of admissions, with the field names of a recording where it has them."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from numafit.advice.logs.admission import Admission, LoggedMerge
from numafit.advice.logs.agreement import PodAgreement
from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.advice.logs.loops import RecreateLoop
from numafit.advice.logs.report import Kept, LogReport
from numafit.advice.logs.story import LogStory, story_of_admission
from numafit.bits import cpuset_text
from numafit.ledger.ledger import Hint
from numafit.machine.model import Machine
from numafit.notes import Note
from numafit.replay.outcomes import OutcomeHints, hints_outcome


class KubeletInLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Null is what the log does not tell."""

    process: int
    release: str | None
    releases: tuple[str, str]
    """The first and the last minor that write such lines."""
    policy: str | None
    scope: str | None


class MergeInLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    container: str
    providers: tuple[OutcomeHints, ...]
    best: Hint | None
    admit: bool | None


class ContainerInLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a container was given."""

    cpus: str | UnsetType = UNSET
    devices: Mapping[str, tuple[str, ...]] | UnsetType = UNSET


class AdmissionInLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    uid: str
    line: int
    time: str
    times: int
    """How often the same came again."""
    last: str
    admitted: bool | None
    reason: str
    message: str
    inferred: bool
    policy: str | None
    merges: tuple[MergeInLog, ...]
    containers: Mapping[str, ContainerInLog]
    story: LogStory


class LogAnswer(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    lines: int
    admitted: int
    rejected: int
    unknown: int
    kubelets: tuple[KubeletInLog, ...]
    stories: tuple[AdmissionInLog, ...]
    not_shown: int
    loops: tuple[RecreateLoop, ...]
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""
    compared: tuple[PodAgreement, ...] = ()
    """Pods that were given beside the log: what is predicted for each."""


def log_record(
    report: LogReport, machine: Machine | None, notes: Sequence[Note] = (), compared: Sequence[PodAgreement] = ()
) -> LogAnswer:
    return LogAnswer(
        report.lines,
        report.admitted,
        report.rejected,
        report.unknown,
        tuple([_kubelet(kubelet) for kubelet in report.kubelets.values()]),
        tuple([_admission(kept, report, machine) for kept in report.kept]),
        report.not_kept,
        report.loops,
        tuple(notes),
        tuple(compared),
    )


def _kubelet(kubelet: LoggedKubelet) -> KubeletInLog:
    return KubeletInLog(
        kubelet.process,
        str(kubelet.version) if kubelet.version else None,
        (f"1.{kubelet.first_minor}", f"1.{kubelet.last_minor}"),
        kubelet.policy or None,
        kubelet.scope or None,
    )


def _admission(kept: Kept, report: LogReport, machine: Machine | None) -> AdmissionInLog:
    admission = kept.admission
    kubelet = report.kubelet_of(admission)
    names = dict.fromkeys([*admission.cpus, *admission.devices])
    return AdmissionInLog(
        admission.pod,
        admission.uid,
        admission.line,
        admission.stamp,
        kept.times,
        kept.last,
        admission.admitted,
        admission.reason,
        admission.message,
        admission.inferred,
        kubelet.policy or None,
        tuple([_merge(merge) for merge in admission.merges]),
        {name: _container(admission, name) for name in names},
        story_of_admission(admission, kubelet, machine),
    )


def _merge(merge: LoggedMerge) -> MergeInLog:
    providers = tuple([hints_outcome(hints) for hints in merge.providers])
    return MergeInLog(merge.container, providers, merge.best, merge.admit)


def _container(admission: Admission, name: str) -> ContainerInLog:
    cpus = admission.cpus.get(name)
    return ContainerInLog(UNSET if cpus is None else cpuset_text(cpus), admission.devices.get(name, UNSET))
