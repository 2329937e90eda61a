"""The few shapes of a picture, and pieces of them that are moved and put together. Lengths are pixels."""

from collections.abc import Iterable, Sequence

import msgspec

CHARACTER = 0.64
"""Width of a character in units of the font size: that of the digits in the widest of the fonts we name."""


class Rect(msgspec.Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    role: str
    """What it is, such as `core` or `gpu`; the palette knows its colours."""
    tip: str = ""


class Label(msgspec.Struct, frozen=True):
    x: float
    y: float
    """Of the base line."""
    text: str
    role: str
    anchor: str = "start"
    """`start`, `middle` or `end`."""


class Wire(msgspec.Struct, frozen=True):
    points: tuple[tuple[float, float], ...]
    role: str


DrawnShape = Rect | Label | Wire


class Piece(msgspec.Struct, frozen=True):
    """Shapes around the origin of their own; later ones lie on top."""

    width: float
    height: float
    shapes: tuple[DrawnShape, ...] = ()

    def moved(self, x: float, y: float) -> tuple[DrawnShape, ...]:
        return tuple(_moved(shape, x, y) for shape in self.shapes)


def _moved(shape: DrawnShape, x: float, y: float) -> DrawnShape:
    if isinstance(shape, Rect):
        return Rect(shape.x + x, shape.y + y, shape.width, shape.height, shape.role, shape.tip)
    if isinstance(shape, Label):
        return Label(shape.x + x, shape.y + y, shape.text, shape.role, shape.anchor)
    return Wire(tuple((px + x, py + y) for px, py in shape.points), shape.role)


FONT_SIZES = {"title": 20.0, "subtitle": 13.0, "head": 13.0, "fact": 11.0, "cpu": 11.0, "band": 10.0, "name": 12.0}
"""Of the text roles; any other is drawn at 10."""


def text_width(text: str, role: str) -> float:
    return CHARACTER * FONT_SIZES.get(role, 10.0) * len(text)


def fitted(text: str, role: str, width: float) -> str:
    """Cut to `width` with an ellipsis where it must be."""
    room = int(width / text_width("0", role))
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"


def row(pieces: Sequence[Piece], gap: float) -> Piece:
    shapes: list[DrawnShape] = []
    x = 0.0
    for piece in pieces:
        shapes += piece.moved(x, 0)
        x += piece.width + gap
    return Piece(max(x - gap, 0), max((piece.height for piece in pieces), default=0), tuple(shapes))


def column(pieces: Iterable[Piece], gap: float) -> Piece:
    shapes: list[DrawnShape] = []
    y = width = 0.0
    for piece in pieces:
        shapes += piece.moved(0, y)
        y += piece.height + gap
        width = max(width, piece.width)
    return Piece(width, max(y - gap, 0), tuple(shapes))


def rows_within(pieces: Sequence[Piece], width: float, gap: float) -> list[list[Piece]]:
    """As many side by side as `width` holds, at least one."""
    rows: list[list[Piece]] = []
    used = 0.0
    for piece in pieces:
        if not rows or used + gap + piece.width > width:
            rows.append([])
            used = -gap
        rows[-1].append(piece)
        used += gap + piece.width
    return rows


def flowed(pieces: Sequence[Piece], width: float, gap: float) -> Piece:
    return column((row(pieces_, gap) for pieces_ in rows_within(pieces, width, gap)), gap)


def grid(pieces: Sequence[Piece], gap: float, shape: float) -> Piece:
    """Rows of equally many, so that width / height comes near to `shape`; full rows are worth more than the shape."""
    best: tuple[float, Piece] | None = None
    for columns in _column_counts(len(pieces)):
        made = column((row(pieces[i : i + columns], gap) for i in range(0, len(pieces), columns)), gap)
        ratio = made.width / max(made.height, 1) / shape
        cost = max(ratio, 1 / max(ratio, 1e-6)) * (2 if len(pieces) % columns else 1)
        if best is None or cost < best[0]:
            best = cost, made
    return best[1] if best else Piece(0, 0)


def _column_counts(number: int) -> list[int]:
    """Few candidates for many pieces: those that divide evenly, and powers of two."""
    if number <= 16:
        return list(range(1, number + 1))
    return sorted({count for count in range(2, 65) if number % count == 0} | {8, 16, 32})
