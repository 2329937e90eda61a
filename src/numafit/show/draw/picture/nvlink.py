"""NVLink in a picture: GPUs that all have the same bond hang at one bar; any other mesh is shown as a matrix."""

from collections.abc import Mapping, Sequence

import msgspec

from numafit.machine.gpu_sets import GpuPairs, groups_of
from numafit.machine.links import NVLINK_SCORE, link_score, nvlinks
from numafit.show.draw.picture.shapes import DrawnShape, Label, Piece, Rect, Wire, text_width
from numafit.show.words import device_label

LANE = 18.0
"""Height of the channel that one bar takes."""
LARGEST_MATRIX = 32

RowKey = tuple[int, int, int]
"""(row of packages, row of nodes, row of GPUs)."""


class Fabric(msgspec.Struct, frozen=True):
    kind: str
    gpus: frozenset[str]


class Port(msgspec.Struct, frozen=True):
    """Where the lower edge of a GPU is."""

    x: float
    y: float
    row: RowKey


def fabrics_of(pairs: GpuPairs) -> tuple[Fabric, ...]:
    """The bars to draw, in device order."""
    return tuple(
        Fabric(pairs.kinds[group[0]][group[1]], frozenset(pairs.gpus[gpu].id for gpu in group))
        for group in _meshes(pairs)
        if _is_even(pairs, group)
    )


def needs_matrix(pairs: GpuPairs) -> bool:
    uneven = any(not _is_even(pairs, group) for group in _meshes(pairs))
    return uneven and len(pairs.gpus) <= LARGEST_MATRIX


def _meshes(pairs: GpuPairs) -> list[tuple[int, ...]]:
    return [group for group in groups_of(pairs, NVLINK_SCORE) if len(group) > 1]


def _is_even(pairs: GpuPairs, group: Sequence[int]) -> bool:
    return len({pairs.kinds[a][b] for a in group for b in group if a < b}) == 1


def lanes_of(fabrics: Sequence[Fabric], rows: Mapping[RowKey, Sequence[str]]) -> dict[tuple[RowKey, Fabric], int]:
    """Which lane of the channel below each row of GPUs a bar takes; bars in one lane do not touch.

    `rows` holds the GPUs of each row from left to right. A bar that goes on in another row leaves to the right.
    """
    lanes: dict[tuple[RowKey, Fabric], int] = {}
    for key, gpus in rows.items():
        ends: list[float] = []
        for fabric in fabrics:
            places = [place for place, gpu in enumerate(gpus) if gpu in fabric.gpus]
            if not places:
                continue
            end = float(places[-1]) if len(places) == len(fabric.gpus) else float("inf")
            lane = next((number for number, last in enumerate(ends) if last < places[0]), len(ends))
            ends[lane : lane + 1] = [end]
            lanes[key, fabric] = lane
    return lanes


def bars(
    fabrics: Sequence[Fabric],
    ports: Mapping[str, Port],
    lanes: Mapping[tuple[RowKey, Fabric], int],
    right: float,
) -> tuple[list[DrawnShape], float]:
    """The bars, and how far beyond `right` the lines go that join bars of several rows."""
    wires: list[DrawnShape] = []
    pills: list[DrawnShape] = []
    beyond = right
    for fabric in fabrics:
        rows: dict[RowKey, list[Port]] = {}
        for gpu in fabric.gpus:
            if gpu in ports:
                rows.setdefault(ports[gpu].row, []).append(ports[gpu])
        if not rows:
            continue
        spine = None
        if len(rows) > 1:
            beyond += 12
            spine = beyond
        heights = []
        for key in sorted(rows):
            row = sorted(rows[key], key=lambda port: port.x)
            y = row[0].y + LANE * lanes[key, fabric] + LANE / 2 + 2
            heights.append(y)
            wires += [Wire(((port.x, port.y), (port.x, y)), "nvlink") for port in row]
            end = spine if spine is not None else row[-1].x
            wires.append(Wire(((row[0].x, y), (end, y)), "nvlink"))
            pills += _pill(fabric.kind, row, y, end)
        if spine is not None:
            wires.append(Wire(((spine, heights[0]), (spine, heights[-1])), "nvlink"))
    return [*wires, *pills], beyond - right


def _pill(kind: str, row: Sequence[Port], y: float, end: float) -> list[DrawnShape]:
    """The name of the bond, on the bar between the first two stems."""
    width = text_width(kind, "band") + 10
    after = row[1].x if len(row) > 1 else end
    middle = (row[0].x + after) / 2 if after - row[0].x < 160 else row[0].x + 50
    return [Rect(middle - width / 2, y - 7, width, 14, "pill"), Label(middle, y + 3.5, kind, "small", "middle")]


def matrix_panel(pairs: GpuPairs) -> Piece:
    labels = [device_label(gpu)[:8] for gpu in pairs.gpus]
    cell = max(34.0, *(text_width(label, "small") + 6 for label in labels))
    shapes: list[DrawnShape] = []
    for a, label in enumerate(labels):
        shapes.append(Label(0, 34 + 20 * a, label, "small"))
        shapes.append(Label(cell * (a + 1.5), 14, label, "small", "middle"))
        for b, kind in enumerate(pairs.kinds[a]):
            role = "self" if a == b else _nearness(kind)
            shapes.append(Rect(cell * (b + 1), 20 + 20 * a, cell, 20, role))
            shapes.append(Label(cell * (b + 1.5), 34 + 20 * a, "X" if a == b else kind or "?", "small", "middle"))
    return Piece(cell * (len(labels) + 1), 20.0 * (len(labels) + 1), tuple(shapes))


def _nearness(kind: str) -> str:
    if nvlinks(kind) or kind == "PIX":
        return "near"
    return "middle" if link_score(kind) > link_score("SYS") else "far"
