"""Bandwidth and latency between NUMA nodes as a picture: a square for each pair, coloured by what it loses."""

from collections.abc import Callable, Iterator

from numafit.host.measure.result import Figure, Measured, NodePair
from numafit.show.draw.picture.palette import Theme
from numafit.show.draw.picture.shapes import DrawnShape, Label, Piece, Rect, column
from numafit.show.draw.picture.svg import svg_text

MARGIN, LEFT, CELL, HIGH = 24.0, 110.0, 92.0, 34.0
NEAR, MIDDLE = 0.9, 0.6
"""Shares of the best of all pairs, down to which a square counts as near or middle."""


def draw_measured(measured: Measured, *, theme: Theme = "auto") -> str:
    panels = [
        _panel(measured, "Read bandwidth, GB/s", lambda pair: pair.bandwidth, lambda value: value / 1e9, best=max),
        _panel(measured, "Latency of a load, ns", lambda pair: pair.latency, lambda value: value, best=min),
    ]
    title = Piece(300, 26, (Label(0, 19, "Measured between NUMA nodes", "title"),))
    when = Piece(300, 18, (Label(0, 12, f"{measured.at}; rows: CPUs, columns: memory", "subtitle"),))
    inside = column([title, when, *(panel for panel in panels if panel.shapes)], 14)
    full = (max(inside.width, 360.0) + 2 * MARGIN, inside.height + 2 * MARGIN)
    page = Piece(*full, (Rect(0, 0, *full, "page"), *inside.moved(MARGIN, MARGIN)))
    return svg_text(page, "Measured between NUMA nodes", " ".join(_told(measured)), theme)


def _told(measured: Measured) -> Iterator[str]:
    for pair in measured.pairs:
        words = f"CPUs of node {pair.node}, memory {pair.memory}:"
        if pair.bandwidth is not None:
            words += f" {pair.bandwidth.middle / 1e9:.1f} GB/s"
        if pair.latency is not None:
            words += f" {pair.latency.middle:.0f} ns"
        yield f"{words}."


def _panel(
    measured: Measured,
    title: str,
    figure: Callable[[NodePair], Figure | None],
    shown: Callable[[float], float],
    *,
    best: Callable[[list[float]], float],
) -> Piece:
    values = {(pair.node, pair.memory): own.middle for pair in measured.pairs if (own := figure(pair)) is not None}
    if not values:
        return Piece(0, 0)
    top = best(list(values.values()))
    shapes: list[DrawnShape] = [Label(0, 13, title, "head")]
    for x, memory in enumerate(measured.memories):
        shapes.append(Label(LEFT + CELL * (x + 0.5), 36, f"memory {memory}", "fact", "middle"))
    for y, node in enumerate(measured.callers):
        shapes.append(Label(0, 44 + HIGH * y + 21, f"CPUs of node {node}", "fact"))
        for x, memory in enumerate(measured.memories):
            value = values.get((node, memory))
            share = 0.0 if value is None else min(value / top, top / value)
            role = "self" if value is None else "near" if share >= NEAR else "middle" if share >= MIDDLE else "far"
            place = LEFT + CELL * x, 44 + HIGH * y
            text = "-" if value is None else f"{shown(value):.3g}"
            tip = "not measured" if value is None else f"{share:.0%} of the best"
            shapes.append(Rect(*place, CELL, HIGH, role, tip))
            shapes.append(Label(place[0] + CELL / 2, place[1] + 21, text, "name", "middle"))
    return Piece(LEFT + CELL * len(measured.memories), 44 + HIGH * len(measured.callers), tuple(shapes))
