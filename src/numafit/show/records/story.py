"""Decisions with their stories."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from numafit.decision.decision import Decision
from numafit.decision.story.claims import Cause
from numafit.decision.story.story import Chapter, Story
from numafit.notes import Note, notes_by_subject


# A `Story` under the name that the API has published for it.
class StoryTold(msgspec.Struct, frozen=True):
    sentence: str
    chapters: tuple[Chapter, ...]
    cause: Cause


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
    told = StoryTold(story.sentence, story.chapters, story.cause)
    return Explained(decision.pod.full_name, decision.admitted, decision.reason, decision.message, told, notes or UNSET)
