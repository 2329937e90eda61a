"""Stories with one false number: what a law must find out."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from numafit.decision.story.story import Story

UNCHECKED = ("facts", "says", "best")
"""Fields that repeat what somebody else said."""


def false_stories(story: Story) -> Iterator[Story]:
    """One number larger, one yes for no, one device too many: in the cause, then in each grid."""
    for cause in _falsified(story.cause):
        yield replace(story, cause=cause)
    for i, chapter in enumerate(story.chapters):
        for grid in _falsified(chapter.grid):
            changed = replace(chapter, grid=grid)
            yield replace(story, chapters=(*story.chapters[:i], changed, *story.chapters[i + 1 :]))


def _falsified(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            if name not in UNCHECKED:
                for other in _falsified(getattr(value, name)):
                    yield replace(value, **{name: other})
    elif isinstance(value, Mapping):
        for key, own in value.items():
            for other in _falsified(own):
                yield {**value, key: other}
    elif isinstance(value, tuple):
        if value and isinstance(value[0], str):
            yield (*value, "nothing")
        for i, own in enumerate(value):
            for other in _falsified(own):
                yield (*value[:i], other, *value[i + 1 :])
