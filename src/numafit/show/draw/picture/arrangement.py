"""Where packages and NUMA nodes stand: the numbers of columns that fill a page best, and all positions in it.

Packages stand in rows, and so do the NUMA nodes in them. Whatever stands in one row is aligned over all packages of
that row: nodes are equally high, and so are the rows of devices below them. A bar that joins GPUs can therefore run to
the right between two rows without meeting a chip.
"""

from collections.abc import Iterator, Sequence

import msgspec

from numafit.show.draw.picture.nvlink import LANE, Fabric, Port, RowKey, lanes_of
from numafit.show.draw.picture.shapes import DrawnShape, Rect
from numafit.show.draw.picture.tile import CHIP_HEIGHT, PAD, RACK_INDENT, Rack, Tile, stem

PACKAGE_HEAD = 28.0
GAP = 16.0
DROP = 12.0
"""From the foot of a node, or of a row of devices, to the next row."""
PAGE = (1180.0, 760.0)
"""What the packages are arranged for; a larger machine grows in this shape."""
MOST_COLUMNS = 12

Tiles = Sequence[Sequence[Tile]]
"""Package -> its nodes."""


class NodeRow(msgspec.Struct):
    """One row of nodes over all packages that stand side by side."""

    body: float = 0
    gpus: list[float] = []
    others: list[float] = []

    def admit(self, tile: Tile) -> None:
        self.body = max(self.body, tile.body.height)
        _raise(self.gpus, tile.gpu_racks)
        _raise(self.others, tile.other_racks)


def _raise(heights: list[float], racks: Sequence[Rack]) -> None:
    for place, rack in enumerate(racks):
        heights[place : place + 1] = [max([*heights[place : place + 1], rack.piece.height])]


class Arrangement(msgspec.Struct, frozen=True):
    width: float
    height: float
    frames: tuple[Rect, ...]
    """Of the packages, in their order."""
    shapes: tuple[DrawnShape, ...]
    """Nodes and devices."""
    ports: dict[str, Port]
    lanes: dict[tuple[RowKey, Fabric], int]


def arranged(packages: Tiles, fabrics: Sequence[Fabric]) -> Arrangement:
    most = max((len(tiles) for tiles in packages), default=1)
    choices = [
        _ColumnChoice(packages, fabrics, across, columns)
        for across in range(1, min(len(packages), MOST_COLUMNS) + 1)
        for columns in range(1, min(most, MOST_COLUMNS) + 1)
    ]
    if not choices:
        return Arrangement(0, 0, (), (), {}, {})
    best = min(choices, key=lambda plan: max(plan.width / PAGE[0], plan.height / PAGE[1]))
    return best.placed()


class _ColumnChoice:
    """One choice of columns, measured before anything is placed."""

    def __init__(self, packages: Tiles, fabrics: Sequence[Fabric], across: int, columns: int) -> None:
        self.packages = packages
        self.across = across
        self.columns = columns
        self.rows: dict[tuple[int, int], NodeRow] = {}
        self.column_widths = [[0.0] * columns for _ in packages]
        order: dict[RowKey, list[str]] = {}
        for number, tiles in enumerate(packages):
            for place, tile in enumerate(tiles):
                band, line = number // across, place // columns
                self.rows.setdefault((band, line), NodeRow()).admit(tile)
                widths = self.column_widths[number]
                widths[place % columns] = max(widths[place % columns], tile.width)
                for rack_number, rack in enumerate(tile.gpu_racks):
                    order.setdefault((band, line, rack_number), []).extend(gpu for gpu, _ in rack.ports)
        self.lanes = lanes_of(fabrics, order)
        self.package_widths = [_spread(widths) + 2 * PAD for widths in self.column_widths]
        self.across_widths = [max(self.package_widths[i::across]) for i in range(min(across, len(packages)))]
        self.width = _spread(self.across_widths)
        bands = sorted({band for band, _ in self.rows})
        self.band_heights = [self._band_height(band) for band in bands]
        self.height = sum(self.band_heights) + GAP * (len(bands) - 1)

    def _band_height(self, band: int) -> float:
        heights = [self._row_height(key) for key in self.rows if key[0] == band]
        return PACKAGE_HEAD + sum(heights) + GAP * (len(heights) - 1) + PAD

    def _channel(self, key: RowKey) -> float:
        """Height below a row of GPUs that its bars take."""
        return LANE * max((lane + 1 for (row, _), lane in self.lanes.items() if row == key), default=0)

    def _row_height(self, key: tuple[int, int]) -> float:
        row = self.rows[key]
        gpus = sum(DROP + height + self._channel((*key, place)) for place, height in enumerate(row.gpus))
        return row.body + gpus + sum(DROP + height for height in row.others)

    def placed(self) -> Arrangement:
        frames: list[Rect] = []
        shapes: list[DrawnShape] = []
        ports: dict[str, Port] = {}
        for number, tiles in enumerate(self.packages):
            band, place = divmod(number, self.across)
            x = sum(self.across_widths[:place]) + GAP * place
            y = sum(self.band_heights[:band]) + GAP * band
            frames.append(Rect(x, y, self.across_widths[place], self.band_heights[band], "package"))
            # Nodes of a package that is wider than it needs to be stand at its left.
            for key, tile, left, top in self._positions(number, tiles, x + PAD, y + PACKAGE_HEAD):
                shapes += self._tile(key, tile, left, top, ports)
        return Arrangement(self.width, self.height, tuple(frames), tuple(shapes), ports, self.lanes)

    def _positions(
        self, number: int, tiles: Sequence[Tile], x: float, y: float
    ) -> Iterator[tuple[tuple[int, int], Tile, float, float]]:
        band = number // self.across
        widths = self.column_widths[number]
        for place, tile in enumerate(tiles):
            line, at = divmod(place, self.columns)
            above = sum(self._row_height((band, upper)) + GAP for upper in range(line))
            yield (band, line), tile, x + sum(widths[:at]) + GAP * at, y + above

    def _tile(
        self, key: tuple[int, int], tile: Tile, x: float, y: float, ports: dict[str, Port]
    ) -> Iterator[DrawnShape]:
        row = self.rows[key]
        yield Rect(x, y, tile.width, row.body, "node")
        yield from tile.body.moved(x, y)
        placed: list[tuple[Rack, float]] = []
        top = y + row.body
        for place, height in enumerate(row.gpus):
            top += DROP
            if place < len(tile.gpu_racks):
                rack = tile.gpu_racks[place]
                # Racks of a row stand on one line.
                placed.append((rack, top + height - rack.piece.height))
                for gpu, at in rack.ports:
                    lowered = 8 if rack.piece.height > CHIP_HEIGHT else 0
                    ports[gpu] = Port(x + RACK_INDENT + at, top + height - lowered, (*key, place))
            top += height + self._channel((*key, place))
        for place, height in enumerate(row.others):
            top += DROP
            if place < len(tile.other_racks):
                placed.append((tile.other_racks[place], top))
            top += height
        taps = [(rack_top + rack.piece.height - CHIP_HEIGHT / 2 - 1, rack.reach) for rack, rack_top in placed]
        yield from stem(y + row.body, taps, x)
        for rack, rack_top in placed:
            yield from rack.piece.moved(x + RACK_INDENT, rack_top)


def _spread(widths: Sequence[float]) -> float:
    used = [width for width in widths if width]
    return sum(used) + GAP * max(len(used) - 1, 0)
