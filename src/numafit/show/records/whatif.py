"""All that the page shows of a what-if question: decisions, stories with their merges, the ledger, the advice."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, astuple

from numafit.advice.verdict import alignment_of
from numafit.bits import mask_of
from numafit.decision.decision import Decision
from numafit.decision.history.step import with_evictions
from numafit.decision.node import Node
from numafit.decision.simulation import Simulation
from numafit.decision.story.story import Chapter, story_of
from numafit.decision.story.wanted import Wanted
from numafit.notes import Note
from numafit.show.records.advice import AdviseAnswer
from numafit.show.records.alignment import AlignmentRecord, alignment_record
from numafit.show.records.ledger import LedgerView, NodeAmounts
from numafit.show.records.settings import Resolved, resolved
from numafit.show.records.simulation import SimulateAnswer, simulation_record
from numafit.show.records.story import CauseRecord, cause_record
from numafit.show.records.walk import Walk, walk_of
from numafit.show.words import device_labels


class ChapterWalked(Chapter, frozen=True, kw_only=True):
    walk: Walk


class StoryWalked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sentence: str
    chapters: tuple[ChapterWalked, ...]
    cause: CauseRecord
    wanted: Wanted | UnsetType = UNSET


class ExplainedWalked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    admitted: bool
    reason: str
    message: str
    story: StoryWalked
    alignment: AlignmentRecord | UnsetType = UNSET
    """How it came to lie, where it was admitted."""


class WhatIfAnswer(SimulateAnswer, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    stories: tuple[ExplainedWalked, ...]
    before: tuple[NodeAmounts, ...]
    """The NUMA nodes before the pods of the question came; `ledger` is after them."""
    ledger: LedgerView
    settings: Resolved
    kubelet: str
    advice: AdviseAnswer | None
    advice_problem: str | UnsetType = UNSET


def whatif_record(
    simulation: Simulation,
    before: Sequence[NodeAmounts],
    view: LedgerView,
    kubelet: str,
    notes: Sequence[Note] = (),
    *,
    events: bool = False,
) -> WhatIfAnswer:
    """Without the advice, which is asked for by itself, and without state files, which nobody looks at on a page."""
    node = simulation.node
    steps = with_evictions(simulation.steps)
    return WhatIfAnswer(
        **asdict(simulation_record(simulation, notes, with_files=False, events=events)),
        stories=tuple([_walked(simulation.node_of(step), step.decision) for step in steps]),
        before=tuple(before),
        ledger=view,
        settings=resolved(node.settings),
        kubelet=kubelet,
        advice=None,
    )


def _walked(node: Node, decision: Decision) -> ExplainedWalked:
    """The story, with the walk of each merge in its chapter."""
    story = story_of(node, decision)
    ground = mask_of(numa.id for numa in node.machine.numa_nodes)
    equal = node.settings.behaviour.merge_equal_masks
    chapters = tuple(
        ChapterWalked(*astuple(chapter), walk=walk_of(step, node.topology.policy, ground, equal_masks=equal))
        for chapter, step in zip(story.chapters, decision.merges or (), strict=True)
    )
    told = StoryWalked(story.sentence, chapters, cause_record(story.cause), story.wanted or UNSET)
    found = alignment_of(node, decision.ledger, decision.pod.uid) if decision.admitted else None
    lying = UNSET if found is None else alignment_record(found, device_labels(node.machine))
    return ExplainedWalked(decision.pod.full_name, decision.admitted, decision.reason, decision.message, told, lying)
