"""Columns of equal width, and how columns and sentences fit a screen.

What goes into a file or a pipe is `PLAIN`: each row and each sentence on a line of its own, however long, so that other
programs find them. On a screen nothing is cut either: lists and sentences go on in the next line.
"""

import re
from collections.abc import Container, Sequence

import msgspec

GOOD, BAD, CRASH, WARNING, HINT = "32", "31", "1;35", "33", "36"
"""Colours of a terminal, by number. They repeat what the words say, and never say it alone."""
SEVERITIES = {"error": BAD, "warning": WARNING, "info": HINT}

_UNSEEN = re.compile(
    r"\x1b\[(?:0|31|32|33|36|1;35)m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""The colours above, and letters that move, hide or turn what stands around them."""
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_PREFIX = re.compile(r"\s*(?:(?:[-!*]|\d+\.) |\S+(?: \S+){0,2} {2,})?")
"""What later lines of a sentence stay behind: blanks, the sign of a list, or a short label with two blanks after it."""
_BELOW = 4
"""Blanks in front of the columns that found no place beside the first ones."""


class Screen(msgspec.Struct, frozen=True):
    width: int = 0
    """Columns; 0: without an end."""
    coloured: bool = False

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self.coloured and text else text

    def cleaned(self, text: str) -> str:
        """Names may come from anywhere, and must not steer the terminal that they are shown on."""
        return _UNSEEN.sub(lambda found: found[0] if self.coloured and len(found[0]) > 1 else "?", text)

    def inside(self, indent: int) -> "Screen":
        """What is left of it where each line begins with so many blanks."""
        return Screen(max(self.width - indent, 1), self.coloured) if self.width else self

    def folded(self, text: str) -> str:
        """Each line that is too long goes on in the next, behind its own indentation."""
        if not self.width:
            return text
        return "\n".join(part for line in text.split("\n") for part in _fold_line(line, self.width))


PLAIN = Screen()


def aligned(rows: Sequence[Sequence[str]], right: Container[int] = (), screen: Screen = PLAIN) -> str:
    """Two blanks between columns; those at the places in `right` end at the same column, the others begin there.

    The first row has the heads. Where the table is wider than the screen, cells go on in the next line, or the last
    columns stand below the first, each behind its head: whichever takes fewer lines.
    """
    return "\n".join(line for lines in _fitting(rows, right, screen) for line in lines)


class Section(msgspec.Struct, frozen=True):
    """A part of a table, with lines of its own around its rows."""

    title: str
    rows: Sequence[Sequence[str]] = ()
    below: Sequence[str] = ()


def sections(heads: Sequence[str], parts: Sequence[Section], screen: Screen = PLAIN) -> str:
    """One table whose rows stand below the titles of their sections, which are numbered from 1."""
    indent = len(str(len(parts))) + 2
    blanks = " " * indent
    rows = [heads, *(row for part in parts for row in part.rows)]
    head, *lines = _fitting(rows, (), screen.inside(indent))
    found = [blanks + line for line in head] if lines else []
    for number, part in enumerate(parts, 1):
        found += screen.folded(f"{number}.".ljust(indent) + part.title).split("\n")
        own, lines = lines[: len(part.rows)], lines[len(part.rows) :]
        found += [blanks + line for row in own for line in row]
        found += [line for text in part.below for line in screen.folded(blanks + text).split("\n")]
    return "\n".join(found)


def _fitting(rows: Sequence[Sequence[str]], right: Container[int], screen: Screen) -> list[list[str]]:
    """The lines of each row."""
    table = _lines(rows, right)
    if not screen.width or max(map(_length, table)) <= screen.width:
        return [[line] for line in table]
    below = _below(rows, right, screen.width)
    narrow = _narrow(rows, right, screen.width)
    return below if narrow is None or sum(map(len, below)) < sum(map(len, narrow)) else narrow


def matrix(rows: Sequence[Sequence[str]], right: Container[int] = (), screen: Screen = PLAIN) -> str:
    """Like `aligned`; where it is too wide, in several tables one below the other, each with the first column."""
    widths = _widths(rows)
    blocks: list[list[int]] = [[]]
    for place in range(1, len(widths)):
        block = [*blocks[-1], place]
        if screen.width and blocks[-1] and sum(widths[i] + 2 for i in block) + widths[0] > screen.width:
            blocks.append([place])
        else:
            blocks[-1] = block
    parts = []
    for block in blocks:
        places = (0, *block)
        ending = {new for new, old in enumerate(places) if old in right}
        parts.append("\n".join(_lines([[row[i] for i in places] for row in rows], ending)))
    return "\n\n".join(parts)


def listed(rows: Sequence[tuple[str, str]], screen: Screen = PLAIN) -> str:
    """Names and what is said of them, which goes on behind the longest name."""
    width = max(_length(name) for name, _ in rows)
    if width > screen.width // 2:
        return screen.folded("\n".join(f"{_padded(name, width)}  {text}".rstrip() for name, text in rows))
    lines = []
    for name, text in rows:
        first, *others = _fold(text, screen.width - width - 2)
        lines += [f"{_padded(name, width)}  {first}".rstrip(), *(" " * (width + 2) + other for other in others)]
    return "\n".join(lines)


def _lines(rows: Sequence[Sequence[str]], right: Container[int]) -> list[str]:
    widths = _widths(rows)
    return [_line(row, widths, right) for row in rows]


def _line(row: Sequence[str], widths: Sequence[int], right: Container[int]) -> str:
    cells = (_padded(cell, width, i in right) for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
    return "  ".join(cells).rstrip()


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(_length(row[i]) for row in rows) for i in range(len(rows[0]))]


def _narrow(rows: Sequence[Sequence[str]], right: Container[int], width: int) -> list[list[str]] | None:
    """Cells in several lines; None where even their shortest pieces find no place."""
    room = width - 2 * (len(rows[0]) - 1)
    natural = _widths(rows)
    least = [max(_length(piece) for row in rows for piece in _pieces(row[i]) or [""]) for i in range(len(natural))]
    if sum(least) > room:
        return None
    # The widest column gives first, and none more than it must.
    cap = max(natural)
    while sum(widths := [max(short, min(long, cap)) for short, long in zip(least, natural, strict=True)]) > room:
        cap -= 1
    lines = []
    for row in rows:
        cells = [_fold(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        deep = [
            [cell[number] if number < len(cell) else "" for cell in cells] for number in range(max(map(len, cells)))
        ]
        lines.append([_line(each, widths, right) for each in deep])
    return lines


def _below(rows: Sequence[Sequence[str]], right: Container[int], width: int) -> list[list[str]]:
    heads, natural = rows[0], _widths(rows)
    beside = 1
    while beside < len(heads) and sum(natural[: beside + 1]) + 2 * beside <= width:
        beside += 1
    lines = []
    for number, line in enumerate(_lines([row[:beside] for row in rows], right)):
        lines.append([line])
        if number:
            cells = zip(heads[beside:], rows[number][beside:], strict=True)
            told = [f"{head} {cell}".strip() for head, cell in cells if cell not in ("", "-")]
            lines[-1] += [" " * _BELOW + part for part in _together(told, width - _BELOW)]
    return lines


def _together(items: Sequence[str], width: int) -> list[str]:
    """As many in a line as find a place; one that is too long by itself goes on in the next."""
    lines: list[str] = []
    for item in items:
        if lines and _length(f"{lines[-1]}; {item}") <= width:
            lines[-1] += f"; {item}"
        else:
            lines += _fold(item, width)
    return lines


def _fold_line(line: str, width: int) -> list[str]:
    # A command stays whole, so that it can be copied.
    if _length(line) <= width or line.lstrip().startswith("$ "):
        return [line]
    match = _PREFIX.match(line)
    prefix = match.group() if match else ""
    blanks = len(line) - len(line.lstrip())
    if len(prefix) > width // 2:
        prefix = line[:blanks]
    # A sentence that begins at the margin is told from the next by its later lines.
    indent = len(prefix) + 2 * (len(prefix) == blanks)
    first, *others = _fold(line[len(prefix) :], width - len(prefix), width - indent)
    return [prefix + first, *(" " * indent + other for other in others)]


def _fold(text: str, width: int, later: int | None = None) -> list[str]:
    """Lines of at most `width`, those after the first of `later`; a longer word breaks after a comma or not at all."""
    lines, line, room = [], "", width
    for blank, word in re.findall(r"(\s*)(\S+)", text):
        for number, piece in enumerate([word] if _length(word) <= (later or width) else _pieces(word)):
            gap = "" if number else blank
            if line and _length(line + gap + piece) > room:
                lines.append(line)
                line, room, gap = "", width if later is None else later, ""
            line += gap + piece if line else piece
    return [*lines, line]


def _pieces(text: str) -> list[str]:
    """As short as a line may break them: after a blank or a comma."""
    return re.findall(r"[^\s,]+,*|,+", text)


def _padded(text: str, width: int, right: bool = False) -> str:
    blanks = " " * (width - _length(text))
    return blanks + text if right else text + blanks


def _length(text: str) -> int:
    """As it is seen: colours take no room."""
    return len(_COLOUR.sub("", text)) if "\x1b" in text else len(text)
