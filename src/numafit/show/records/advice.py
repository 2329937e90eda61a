"""Advice as JSON: how each pod is, and the proposals with their patches."""

from collections.abc import Mapping, Sequence

from numafit.advice.propose.advise import Advice
from numafit.advice.propose.proposal import Proposal, patch_of
from numafit.decision.decision import Decision
from numafit.replay.outcomes import decision_record
from numafit.settings.config import KubeletConfig
from numafit.workload.manifest import Workload
from numafit.workload.pod import Pod

Makers = Mapping[str, Workload]
"""Pod UID -> the object that makes it."""


def maker_of(makers: Makers, pod: Pod) -> tuple[str, str]:
    """Kind and name."""
    maker = makers.get(pod.uid)
    return ("Pod", pod.name) if maker is None else (maker.kind, maker.name)


def advice_record(advices: Sequence[Advice], config: KubeletConfig, makers: Makers, most: int) -> dict[str, object]:
    """At most `most` proposals for each pod."""
    records = []
    for advice in advices:
        pod = advice.decision.pod
        kind, _ = maker_of(makers, pod)
        records.append(
            {
                "pod": pod.full_name,
                "fault": advice.fault,
                "why": advice.why,
                "now": _decision(advice.decision),
                "proposals": [
                    _record(proposal, patch_of(proposal, pod, config, kind)) for proposal in advice.proposals[:most]
                ],
            }
        )
    return {"advice": records}


def _record(proposal: Proposal, patch: dict[str, object] | None) -> dict[str, object]:
    target = None
    if patch is not None:
        target = "kubelet" if proposal.config is not None else "manifest"
    return {
        "kind": proposal.kind,
        "text": proposal.text,
        "aligned": proposal.aligned,
        "removes": [pod.full_name for pod in proposal.removed],
        "rejects": list(proposal.loses),
        "then": [_decision(each) for each in proposal.decisions],
        "patches": target,
        "patch": patch,
    }


def _decision(decision: Decision) -> dict[str, object]:
    """As a step of a recording, without hints and calls."""
    record = decision_record(decision)
    kept: dict[str, object] = {
        name: record[name] for name in ("admitted", "reason", "message", "panic", "containers") if name in record
    }
    return {"pod": decision.pod.full_name, **kept}
