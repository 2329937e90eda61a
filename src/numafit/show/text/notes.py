"""How notes read below an answer: one line for each thing that is not sure, whoever it is about."""

from collections.abc import Iterable

from numafit.errors import some_of
from numafit.notes import Note
from numafit.show.words import printable

MOST_NAMED = 3
"""Of those that the same note is about."""


def notes_text(notes: Iterable[Note]) -> str:
    """Empty where there is nothing to say."""
    about: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        about.setdefault((note.code, note.text), []).append(note.about)
    lines = [
        printable(f"- {some_of(list(dict.fromkeys(names)), MOST_NAMED)}: {text}") for (_, text), names in about.items()
    ]
    return "\n".join(["Notes:", *lines]) if lines else ""
