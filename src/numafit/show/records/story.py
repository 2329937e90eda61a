"""Decisions with their stories."""

from collections.abc import Iterable

import msgspec

from numafit.decision.decision import Decision
from numafit.decision.story import Chapter, Story


# A `Story` under the name that the API has published for it.
class StoryTold(msgspec.Struct, frozen=True):
    sentence: str
    chapters: tuple[Chapter, ...]


class Explained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pod: str
    admitted: bool
    reason: str
    message: str
    story: StoryTold


class ExplainAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stories: tuple[Explained, ...]


def stories_record(stories: Iterable[tuple[Decision, Story]]) -> ExplainAnswer:
    return ExplainAnswer(tuple([_explained(decision, story) for decision, story in stories]))


def _explained(decision: Decision, story: Story) -> Explained:
    told = StoryTold(story.sentence, story.chapters)
    return Explained(decision.pod.full_name, decision.admitted, decision.reason, decision.message, told)
