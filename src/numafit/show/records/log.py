"""What a kubelet log tells of admissions, as JSON."""

from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.advice.logs.report import Kept, LogReport
from numafit.advice.logs.story import story_of_admission
from numafit.bits import cpuset_text
from numafit.machine.model import Machine
from numafit.replay.outcomes import Json, hints_record


def report_record(report: LogReport, machine: Machine | None) -> Json:
    return {
        "lines": report.lines,
        "admitted": report.admitted,
        "rejected": report.rejected,
        "unknown": report.unknown,
        "kubelets": [_kubelet_record(kubelet) for kubelet in report.kubelets.values()],
        "stories": [_record(kept, report, machine) for kept in report.kept],
        "notShown": report.not_kept,
        "loops": report.loops,
    }


def _kubelet_record(kubelet: LoggedKubelet) -> Json:
    return {
        "process": kubelet.process,
        "release": str(kubelet.version) if kubelet.version else None,
        "releases": [f"1.{kubelet.first_minor}", f"1.{kubelet.last_minor}"],
        "policy": kubelet.policy or None,
        "scope": kubelet.scope or None,
    }


def _record(kept: Kept, report: LogReport, machine: Machine | None) -> Json:
    """With the field names of a recording where it has them."""
    admission = kept.admission
    kubelet = report.kubelet_of(admission)
    names = [*admission.cpus, *(name for name in admission.devices if name not in admission.cpus)]
    return {
        "pod": admission.pod,
        "uid": admission.uid,
        "line": admission.line,
        "time": admission.stamp,
        "times": kept.times,
        "last": kept.last,
        "admitted": admission.admitted,
        "reason": admission.reason,
        "message": admission.message,
        "inferred": admission.inferred,
        "policy": kubelet.policy or None,
        "merges": [
            {
                "container": merge.container,
                "providers": [hints_record(hints) for hints in merge.providers],
                "best": merge.best,
                "admit": merge.admit,
            }
            for merge in admission.merges
        ],
        "containers": {
            name: {
                **({"cpus": cpuset_text(admission.cpus[name])} if name in admission.cpus else {}),
                **({"devices": admission.devices[name]} if name in admission.devices else {}),
            }
            for name in names
        },
        "story": story_of_admission(admission, kubelet, machine),
    }
