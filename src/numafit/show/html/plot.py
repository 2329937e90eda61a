"""Lines over time as SVG, drawn in the colours of the page that they stand in."""

from collections.abc import Iterator, Sequence
from html import escape

import msgspec

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 8, 24
TICKS = 4


class Curve(msgspec.Struct, frozen=True):
    name: str
    look: str
    """Its classes."""
    points: tuple[tuple[float, float], ...]
    """(seconds, amount), by time; the amount holds until the next one."""


def plot_text(name: str, curves: Sequence[Curve], unit: str = "") -> str:
    """`name`: what is drawn, for those who do not see it, who are told the ends and the tops of the curves with it.
    `unit`: written behind the numbers at the side."""
    last = max((own.points[-1][0] for own in curves if own.points), default=0.0) or 1.0
    most = nice_top(max((amount for own in curves for _, amount in own.points), default=0.0))
    said = "; ".join(f"{own.name} {_course(own, unit)}" for own in curves if own.points)
    parts = [frame_text(f"{name}: {said}" if said else name), *grid_lines(most, unit), *_times(last)]
    for own in curves:
        parts.append(f'<path class="rule {own.look}" d="{_path(own.points, last, most)}">')
        parts.append(f"<title>{escape(own.name)}</title></path>")
    return "".join((*parts, "</svg>"))


def frame_text(name: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)}">'


def _course(curve: Curve, unit: str) -> str:
    amounts = [amount for _, amount in curve.points]
    return f"at most {_amount(max(amounts))}{unit}, {_amount(amounts[-1])}{unit} at the end"


def nice_top(most: float) -> float:
    """The end of the scale: 4 times a number that reads well, and no smaller than what is drawn."""
    if most <= 0:
        return float(TICKS)
    size = 1.0
    while size * 10 * TICKS <= most:
        size *= 10
    while size * TICKS > most:
        size /= 10
    return next(TICKS * size * step for step in (1, 1.5, 2, 2.5, 4, 5, 10, 20) if TICKS * size * step >= most)


def _x(moment: float, last: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * moment / last


def _y(amount: float, most: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - amount / most)


def _path(points: Sequence[tuple[float, float]], last: float, most: float) -> str:
    """In steps; a point that changes nothing is left out."""
    steps: list[str] = []
    before: float | None = None
    for moment, amount in points:
        if before is None:
            steps.append(f"M{_x(moment, last):.1f} {_y(amount, most):.1f}")
        elif amount != before:
            steps.append(f"H{_x(moment, last):.1f}V{_y(amount, most):.1f}")
        before = amount
    if points:
        steps.append(f"H{_x(points[-1][0], last):.1f}")
    return "".join(steps)


def grid_lines(most: float, unit: str) -> Iterator[str]:
    for tick in range(TICKS + 1):
        amount = most * tick / TICKS
        height = _y(amount, most)
        kind = "grid" if tick else "axis"
        yield f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{_amount(amount)}{unit}</text>'


def _times(last: float) -> Iterator[str]:
    units = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
    seconds, word = next((own for own in units if last >= 2 * own[0]), units[-1])
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        amount = last * part / seconds
        yield (
            f'<text x="{_x(last * part, last):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">'
            f"{amount:.{int(0 < amount < 10)}f} {word}</text>"
        )


def _amount(value: float) -> str:
    for size, word in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / (1e3 if word == 'k' else size):.4g}{word}"
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
