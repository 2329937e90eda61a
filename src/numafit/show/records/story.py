"""Decisions with their stories."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from numafit.bits import cpuset_text
from numafit.decision.decision import (
    Crash,
    Decision,
    ManagerRefused,
    NodeShort,
    NothingToEvict,
    Preempted,
    ResizeRefused,
    Unsuited,
)
from numafit.decision.effects import told_events
from numafit.decision.history.lines import line_of
from numafit.decision.history.step import StepEvent
from numafit.decision.simulation import Simulation
from numafit.decision.story.claims import (
    Admitted,
    Cause,
    MergeCause,
    MergeRefused,
    ResizeAllocated,
    ResizePutOff,
    Untold,
)
from numafit.decision.story.story import Chapter, Story, story_of
from numafit.decision.story.wanted import Wanted
from numafit.notes import Note, notes_by_subject
from numafit.show.records.effects import EffectRecord, effect_records


# A `Story` under the name that the API has published for it.
class AdmittedCause(msgspec.Struct, frozen=True, tag_field="kind", tag="admitted"):
    nodes: int
    """Where the exclusive CPUs, the bytes and the devices of the pod lie, as a mask of NUMA nodes."""
    cpus: str
    """The exclusive ones, such as `0-3,8`; empty where all containers run on the shared ones."""
    memory: bool
    """Bytes of these nodes are held for it."""
    devices: tuple[str, ...]
    loose: tuple[MergeCause, ...]
    """For each merge without a preferred hint, why."""
    evicted: tuple[str, ...] = ()
    """The pods that went for it, in order."""
    missing: Mapping[str, int] = {}
    """What the node as a whole was short of while they were there; CPUs in thousandths."""


CauseRecord = (
    AdmittedCause
    | MergeRefused
    | ManagerRefused
    | NodeShort
    | NothingToEvict
    | Preempted
    | Unsuited
    | Crash
    | Untold
    | ResizeAllocated
    | ResizePutOff
    | ResizeRefused
)


def cause_record(cause: Cause) -> CauseRecord:
    """A mask of CPUs is wider than the numbers of JSON: it is written as a set."""
    if not isinstance(cause, Admitted):
        return cause
    return AdmittedCause(
        cause.nodes, cpuset_text(cause.cpus), cause.memory, cause.devices, cause.loose, cause.evicted, cause.missing
    )


class StoryTold(msgspec.Struct, frozen=True):
    sentence: str
    chapters: tuple[Chapter, ...]
    cause: CauseRecord
    chance: str | UnsetType = UNSET
    """What of it was left to chance, in a sentence."""
    wanted: Wanted | UnsetType = UNSET
    """Of a refusal that no merge made: what was needed, and for which of it the pod was refused."""


class Explained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    admitted: bool
    reason: str
    message: str
    story: StoryTold
    notes: tuple[Note, ...] | UnsetType = UNSET
    """Those about this pod."""
    event: StepEvent | UnsetType = UNSET
    """With events: at what it is decided."""


class EventExplained(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """One event of a run, told."""

    event: str
    """Its line."""
    stories: tuple[Explained, ...]
    """Of the decisions that it caused."""
    effects: tuple[EffectRecord, ...] | UnsetType = UNSET
    crash: str | UnsetType = UNSET
    """What the kubelet says at its end, or why it does not start."""
    no_effect: str | UnsetType = UNSET
    """Why it had no effect, or not on all of its pods."""


class ExplainAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    stories: tuple[Explained, ...]
    events: tuple[EventExplained, ...] | UnsetType = UNSET
    """With events: each in its order; with a pod chosen, those that it has a part in."""
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""


def stories_record(stories: Iterable[tuple[Decision, Story]], notes: Sequence[Note] = ()) -> ExplainAnswer:
    about = notes_by_subject(notes)
    explained = [_explained(decision, story, about.get(decision.pod.full_name, ())) for decision, story in stories]
    return ExplainAnswer(stories=tuple(explained), notes=tuple(notes))


def events_explained(
    simulation: Simulation, pod: str = "", notes: Sequence[Note] = (), chances: Mapping[int, str] | None = None
) -> ExplainAnswer:
    """Of one pod (namespace/name), or of all. `chances`: what was left to chance, by the `id` of the decision."""
    about = notes_by_subject(notes)
    events = []
    for told in told_events(simulation, pod):
        stories = []
        for step in told.steps:
            decision = step.decision
            own = about.get(decision.pod.full_name, ())
            chance = (chances or {}).get(id(decision), "")
            story = story_of(simulation.node_of(step), decision, chance, told.name, told.gone(decision))
            stories.append(_explained(decision, story, own, step.event))
        events.append(
            EventExplained(
                event=line_of(told.happened.event),
                stories=tuple(stories),
                effects=effect_records(told) or UNSET,
                crash=told.happened.crash or UNSET,
                no_effect=told.happened.void or UNSET,
            )
        )
    return ExplainAnswer(
        stories=tuple([story for event in events for story in event.stories]), events=tuple(events), notes=tuple(notes)
    )


def _explained(
    decision: Decision, story: Story, notes: tuple[Note, ...], event: StepEvent | UnsetType = UNSET
) -> Explained:
    chance, wanted = story.chance or UNSET, story.wanted or UNSET
    told = StoryTold(story.sentence, story.chapters, cause_record(story.cause), chance, wanted)
    own = notes or UNSET
    return Explained(decision.pod.full_name, decision.admitted, decision.reason, decision.message, told, own, event)
