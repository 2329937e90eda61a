"""Why not here? What the kubelet's merges say of one NUMA node, for each pod that is asked about."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import astuple

from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.decision.story.elsewhere import MergeHere, elsewhere_of
from numafit.decision.story.elsewhere_words import elsewhere_in_words, merge_here_in_words
from numafit.decision.story.story import decision_sentence
from numafit.notes import Note


class MergeElsewhere(MergeHere, frozen=True, forbid_unknown_fields=True, kw_only=True):
    sentence: str


class PodElsewhere(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    numa: int
    """The NUMA node in question."""
    admitted: bool
    reason: str
    nodes: tuple[int, ...]
    """Where the pod lies; empty where it holds nothing of a NUMA node, or is refused."""
    merges: tuple[MergeElsewhere, ...]
    """Empty where none was made: the policy is none, or the pod was refused before."""
    sentence: str
    """What becomes of the pod."""


class WhyNotAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pods: tuple[PodElsewhere, ...]
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""


def elsewhere_record(asked: Iterable[tuple[Node, Decision]], numa: int, notes: Sequence[Note] = ()) -> WhyNotAnswer:
    return WhyNotAnswer(tuple([_pod(node, decision, numa) for node, decision in asked]), tuple(notes))


def _pod(node: Node, decision: Decision, numa: int) -> PodElsewhere:
    told = elsewhere_of(node, decision, numa)
    merges = tuple([MergeElsewhere(*astuple(each), sentence=merge_here_in_words(each, numa)) for each in told.merges])
    sentence = elsewhere_in_words(told) if decision.admitted else decision_sentence(node, decision)
    return PodElsewhere(decision.pod.full_name, numa, decision.admitted, decision.reason, told.nodes, merges, sentence)
