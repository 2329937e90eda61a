"""Notes: their codes are listed once, and each is used."""

import re
from pathlib import Path

from numafit.notes import NOTE_CODES, Note
from numafit.show.text.notes import notes_text

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "numafit"


def used_codes() -> set[str]:
    texts = "\n".join(path.read_text() for path in SOURCES.rglob("*.py") if path.name != "__pycache__")
    return set(re.findall(r"\bNote\(\s*\"([a-z-]+)\"", texts))


def test_every_code_that_is_used_is_listed() -> None:
    assert used_codes() <= NOTE_CODES.keys()


def test_every_code_has_its_row_on_the_page() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", (ROOT / "docs" / "notes.md").read_text(), re.MULTILINE)
    assert dict(rows) == NOTE_CODES


def test_the_same_note_about_many_is_said_once() -> None:
    """Replicas differ in their names only."""
    notes = [Note("left-to-chance", f"default/web-{i}", "either GPU may be given") for i in range(5)]
    assert notes_text(notes) == (
        "Notes:\n- default/web-0, default/web-1, default/web-2 and 2 more: either GPU may be given"
    )
    assert notes_text([]) == ""
