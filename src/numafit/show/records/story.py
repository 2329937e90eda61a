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
from numafit.decision.story.claims import (
    Admitted,
    Cause,
    MergeCause,
    MergeRefused,
    ResizeAllocated,
    ResizePutOff,
    Untold,
)
from numafit.decision.story.story import Chapter, Story
from numafit.notes import Note, notes_by_subject


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


class Explained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    admitted: bool
    reason: str
    message: str
    story: StoryTold
    notes: tuple[Note, ...] | UnsetType = UNSET
    """Those about this pod."""


class ExplainAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stories: tuple[Explained, ...]
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""


def stories_record(stories: Iterable[tuple[Decision, Story]], notes: Sequence[Note] = ()) -> ExplainAnswer:
    about = notes_by_subject(notes)
    explained = [_explained(decision, story, about.get(decision.pod.full_name, ())) for decision, story in stories]
    return ExplainAnswer(tuple(explained), tuple(notes))


def _explained(decision: Decision, story: Story, notes: tuple[Note, ...]) -> Explained:
    told = StoryTold(story.sentence, story.chapters, cause_record(story.cause))
    return Explained(decision.pod.full_name, decision.admitted, decision.reason, decision.message, told, notes or UNSET)
