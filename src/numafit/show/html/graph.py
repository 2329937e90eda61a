"""Amounts over numbers as SVG: dots that lines join, and a line that is not to be passed."""

from collections.abc import Iterator, Sequence

import msgspec

from numafit.show.html.plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, frame_text, grid_lines, nice_top


class Dot(msgspec.Struct, frozen=True):
    number: int
    amount: float
    look: str
    """Its class."""
    told: str
    """When somebody points at it."""


def graph_text(name: str, dots: Sequence[Dot], limit: float, unit: str) -> str:
    """`name`: what is drawn, for those who do not see it, who are told of each dot with it. `limit` is drawn across;
    `unit` is written behind the numbers at the side."""
    first, last = dots[0].number, dots[-1].number
    most = nice_top(max(limit, *(own.amount for own in dots)))

    def x(number: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (number - first) / max(last - first, 1)

    def y(amount: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - amount / most)

    path = "L".join(f"{x(own.number):.1f} {y(own.amount):.1f}" for own in dots)
    parts = [
        frame_text(f"{name}: {'; '.join(own.told for own in dots)}"),
        *grid_lines(most, unit),
        *_numbers(first, last),
    ]
    parts.append(f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(limit):.1f}" y2="{y(limit):.1f}"/>')
    parts.append(f'<path class="rule now" d="M{path}"/>')
    for own in dots:
        parts.append(f'<circle class="{own.look}" cx="{x(own.number):.1f}" cy="{y(own.amount):.1f}" r="3.5">')
        parts.append(f"<title>{own.told}</title></circle>")
    return "".join((*parts, "</svg>"))


def _numbers(first: int, last: int) -> Iterator[str]:
    ends = ((LEFT, "start", first), (WIDTH - RIGHT, "end", last))
    for place, anchor, number in ends[: 1 + (last > first)]:
        yield f'<text x="{place}" y="{HEIGHT - 6}" text-anchor="{anchor}">{number:,} nodes</text>'
