"""Advice: how each pod is, and the proposals with their patches."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from numafit.advice.propose.advise import Advice
from numafit.advice.propose.proposal import Proposal, patch_of
from numafit.decision.decision import Decision
from numafit.notes import Note, notes_by_subject
from numafit.replay.outcomes import PlacementOutcome, decision_outcome
from numafit.settings.config import KubeletConfig
from numafit.workload.manifest import Workload
from numafit.workload.pod import Pod


class DecisionInShort(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """As a step of a recording, without hints and calls."""

    pod: str
    admitted: bool
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    panic: str | UnsetType = UNSET
    containers: Mapping[str, PlacementOutcome] | UnsetType = UNSET


class Proposed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    text: str
    aligned: bool
    removes: tuple[str, ...]
    rejects: tuple[str, ...]
    then: tuple[DecisionInShort, ...]
    patches: str | None
    patch: dict[str, Any] | None
    """A merge patch: a part of a file of whichever kind."""


class Advised(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    fault: str
    why: str
    now: DecisionInShort
    proposals: tuple[Proposed, ...]
    notes: tuple[Note, ...] | UnsetType = UNSET
    """Those about this pod."""
    same: tuple[str, ...] = ()
    """Other pods of the same shape with the same fault, which get no advice of their own."""
    replicas: tuple[str, ...] = ()
    """Other pods of its object that are badly off in another way: what changes its template changes them, too."""


class AdviseAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    advice: tuple[Advised, ...]
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""
    undecided: tuple[str, ...] = ()
    """Pods behind the one at which the kubelet would crash."""


Makers = Mapping[str, Workload]
"""Pod UID -> the object that makes it."""


def maker_of(makers: Makers, pod: Pod) -> tuple[str, str]:
    """Kind and name."""
    maker = makers.get(pod.uid)
    return ("Pod", pod.name) if maker is None else (maker.kind, maker.name)


def advice_record(
    advices: Sequence[Advice],
    config: KubeletConfig,
    makers: Makers,
    most: int,
    notes: Sequence[Note] = (),
    undecided: Sequence[Pod] = (),
) -> AdviseAnswer:
    """At most `most` proposals for each pod. `undecided` are the pods that the kubelet did not come to."""
    about = notes_by_subject(notes)
    records = []
    for advice in advices:
        pod = advice.decision.pod
        kind, _ = maker_of(makers, pod)
        proposals = [_proposed(one, patch_of(one, pod, config, kind)) for one in advice.proposals[:most]]
        now = _in_short(advice.decision)
        own = about.get(pod.full_name, UNSET)
        same, replicas = advice.same, advice.replicas
        records.append(Advised(pod.full_name, advice.fault, advice.why, now, tuple(proposals), own, same, replicas))
    return AdviseAnswer(tuple(records), tuple(notes), tuple([pod.full_name for pod in undecided]))


def _proposed(proposal: Proposal, patch: dict[str, object] | None) -> Proposed:
    target = None
    if patch is not None:
        target = "kubelet" if proposal.config is not None else "manifest"
    return Proposed(
        proposal.kind,
        proposal.text,
        proposal.aligned,
        tuple([pod.full_name for pod in proposal.removed]),
        proposal.loses,
        tuple([_in_short(each) for each in proposal.decisions]),
        target,
        patch,
    )


def _in_short(decision: Decision) -> DecisionInShort:
    outcome = decision_outcome(decision)
    return DecisionInShort(
        decision.pod.full_name, outcome.admitted, outcome.reason, outcome.message, outcome.panic, outcome.containers
    )
