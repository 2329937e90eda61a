"""Boxes of text: lines of one width that are wrapped, framed, and set beside or below each other."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

TextBlock = list[str]
"""Lines that all have the same width."""

NO_BREAK = "\u00a0"
"""A blank at which no line is broken."""


class Glyphs(NamedTuple):
    """What a frame and its inside are drawn with."""

    corners: tuple[str, str, str, str]
    """Top left, top right, bottom left, bottom right."""
    horizontal: str
    vertical: str
    dot: str
    bullet: str

    def plain(self, text: str) -> str:
        """`text` in characters that this set allows."""
        return text if self is not ASCII else text.replace("…", "~").encode("ascii", "replace").decode()


UNICODE = Glyphs(("┌", "┐", "└", "┘"), "─", "│", "·", "•")
ASCII = Glyphs(("+", "+", "+", "+"), "-", "|", "-", "*")


def wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    """At blanks, not at no-break ones; a word too long for a line breaks after a comma, in the last resort anywhere."""
    lines: list[str] = []
    line = ""
    for word in _pieces(text, max(width - len(indent), 1)):
        glue = " " if line and word.startswith(" ") else ""
        word = word.strip()
        if line and len(line) + len(glue) + len(word) > width:
            lines.append(line)
            line = indent + word
        else:
            line += glue + word
    return [shown.replace(NO_BREAK, " ") for shown in ([*lines, line] if line or not lines else lines)]


def _pieces(text: str, width: int) -> Iterator[str]:
    """Words, each with a blank in front; the rest of a broken word has none."""
    for word in text.split(" "):
        blank = " "
        while len(word) > width:
            cut = max(word.rfind(",", 0, width), word.rfind(NO_BREAK, 0, width)) + 1 or width
            yield blank + word[:cut]
            word, blank = word[cut:], ""
        yield blank + word


def padded(lines: Sequence[str], width: int) -> TextBlock:
    return [line.ljust(width) for line in lines]


def framed(title: str, lines: Sequence[str], width: int, glyphs: Glyphs) -> TextBlock:
    """A frame of `width` columns with `title` in its upper edge; lines are at most `width` - 4 wide."""
    top_left, top_right, bottom_left, bottom_right = glyphs.corners
    room = width - 4
    shown = title if len(title) <= room - 1 else title[: room - 2] + "…"
    head = f"{top_left}{glyphs.horizontal} {shown} "
    top = head + glyphs.horizontal * (width - len(head) - 1) + top_right
    side = glyphs.vertical
    body = [f"{side} {line.ljust(room)} {side}" for line in lines]
    return [top, *body, bottom_left + glyphs.horizontal * (width - 2) + bottom_right]


def beside(frames: Sequence[TextBlock], gap: int = 1) -> TextBlock:
    """Frames in a row, the lower ones made as high as the highest."""
    height = max(len(frame) for frame in frames)
    return [(" " * gap).join(parts) for parts in zip(*(_stretched(frame, height) for frame in frames), strict=True)]


def _stretched(frame: TextBlock, height: int) -> TextBlock:
    side = frame[1][0] if len(frame) > 2 else " "
    empty = side + " " * (len(frame[0]) - 2) + side
    return [*frame[:-1], *[empty] * (height - len(frame)), frame[-1]]


def tiled(
    makers: Sequence[Callable[[int], TextBlock]], width: int, narrowest: int, most_columns: int = 8, gap: int = 1
) -> TextBlock:
    """Frames in as many equal columns as make the whole lowest; of equally low ones the fewest columns."""
    best: TextBlock | None = None
    for columns in range(1, min(len(makers), most_columns) + 1):
        column = (width - gap * (columns - 1)) // columns
        if columns > 1 and column < narrowest:
            break
        blocks = [make(column) for make in makers]
        lines: TextBlock = []
        for start in range(0, len(blocks), columns):
            lines += beside(blocks[start : start + columns], gap)
        if best is None or len(lines) < len(best):
            best = lines
    return padded(best or [], width)
