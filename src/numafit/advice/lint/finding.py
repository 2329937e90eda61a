"""What lint says: a finding with its code, its place and a cure, and the edit that cures it where that is safe."""

from typing import Literal, NamedTuple

import msgspec

Severity = Literal["error", "warning", "info"]


class Place(NamedTuple):
    """Lines and columns count from 1."""

    source: str
    line: int = 1
    column: int = 1


class Edit(msgspec.Struct, frozen=True):
    """At this place `old` stands and `new` is meant."""

    place: Place
    old: str
    new: str


class Finding(msgspec.Struct, frozen=True):
    code: str
    severity: Severity
    place: Place
    message: str
    cure: str = ""
    edit: Edit | None = None

    @property
    def order(self) -> tuple[int, int, str, str]:
        """Within a file: by place, then by code."""
        return self.place.line, self.place.column, self.code, self.message


def edited(text: str, edits: list[Edit]) -> str:
    """Edits whose old text does not stand where it should are left out; of two at one place the first one counts."""
    lines = text.split("\n")
    seen: set[tuple[int, int]] = set()
    for edit in sorted(edits, key=lambda edit: (edit.place.line, edit.place.column), reverse=True):
        line, column = edit.place.line - 1, edit.place.column - 1
        if line >= len(lines) or (line, column) in seen or not lines[line].startswith(edit.old, column):
            continue
        seen.add((line, column))
        row = lines[line]
        lines[line] = row[:column] + edit.new + row[column + len(edit.old) :]
    return "\n".join(lines)
