"""What a log tells of pods, beside what is predicted for the same pods: agreement or difference, pod by pod."""

from collections.abc import Mapping, Sequence

import msgspec

from numafit.advice.logs.admission import Admission
from numafit.bits import cpuset_text
from numafit.decision.decision import Decision
from numafit.workload.pod import Pod


class PodAgreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    predicted: str
    """`admitted`, or `rejected, ` and the reason."""
    logged: str
    """The same in the log; `not in the log`, or `end not told`."""
    agrees: bool | None
    """Null where the log does not tell."""
    differences: tuple[str, ...] = ()
    """What is not the same, a sentence each."""


def in_log_order(pods: Sequence[Pod], logged: Mapping[str, Admission]) -> list[Pod]:
    """As the kubelet met them; those that the log does not name come last, in the order given."""
    last = max((admission.line for admission in logged.values()), default=0) + 1
    return sorted(pods, key=lambda pod: logged[pod.full_name].line if pod.full_name in logged else last)


def agreements(decisions: Sequence[Decision], logged: Mapping[str, Admission]) -> tuple[PodAgreement, ...]:
    """`logged`: pod -> its first admission in the log."""
    return tuple(_agreement(decision, logged.get(decision.pod.full_name)) for decision in decisions)


def _agreement(decision: Decision, admission: Admission | None) -> PodAgreement:
    predicted = _verdict(decision.admitted, decision.reason)
    if admission is None or admission.admitted is None:
        told = "not in the log" if admission is None else "end not told"
        return PodAgreement(decision.pod.full_name, predicted, told, None)
    logged = _verdict(admission.admitted, admission.reason)
    differences = []
    reasons_differ = admission.reason and admission.reason != decision.reason
    if admission.admitted != decision.admitted or (not admission.admitted and reasons_differ):
        differences.append(f"the log says {logged}, predicted is {predicted}")
    elif admission.admitted:
        differences += _cpu_differences(decision, admission)
    return PodAgreement(decision.pod.full_name, predicted, logged, not differences, tuple(differences))


def _verdict(admitted: bool, reason: str) -> str:
    return "admitted" if admitted else f"rejected, {reason or 'no reason told'}"


def _cpu_differences(decision: Decision, admission: Admission) -> list[str]:
    """Only of containers whose exclusive CPUs the log names."""
    found = []
    for container, cpus in admission.cpus.items():
        placement = decision.containers.get(container)
        own = (placement.cpus or 0) if placement is not None else 0
        if own != cpus:
            texts = cpuset_text(cpus) or "none", cpuset_text(own) or "none"
            found.append(f"container {container} has the CPUs {texts[0]} in the log, predicted are {texts[1]}")
    return found
