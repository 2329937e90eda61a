"""How a count of pods over all nodes reads."""

from collections.abc import Sequence

from numafit.amounts import count_text
from numafit.errors import some_of
from numafit.fleet.look.capacity import FleetCount, NodeCount
from numafit.show.table import BAD, GOOD, PLAIN, Screen, aligned
from numafit.show.words import printable

MOST_NODES = 3
MOST_ROWS = 12


def capacity_text(
    counts: Sequence[FleetCount], wanted: Sequence[int], unknown: Sequence[str] = (), screen: Screen = PLAIN
) -> str:
    """`wanted`: how many of each shape the files ask for."""
    parts = [_shape(count, number, screen) for count, number in zip(counts, wanted, strict=True)]
    if unknown:
        parts.append(f"Nothing is known of {count_text(len(unknown), 'node')}: {some_of(unknown, MOST_NODES)}.")
    return "\n\n".join(parts)


def _shape(count: FleetCount, wanted: int, screen: Screen) -> str:
    total = count.total
    fits = f"{total} more {'fits' if total == 1 else 'fit'}" if total else "none fits"
    fits = screen.paint(fits, GOOD if total >= wanted else BAD)
    where = f", on {count_text(count.nodes, 'node')}" if total else ""
    asked = f"; {wanted} are asked for" if wanted > 1 else ""
    rows: list[Sequence[str]] = [("EACH", "NODES", "", "WHY NO MORE")]
    shown = count.counts if len(count.counts) <= MOST_ROWS else count.counts[: MOST_ROWS - 1]
    rows += [_row(own) for own in shown]
    if len(shown) < len(count.counts):
        rest = count.counts[len(shown) :]
        nodes = sum(len(own.nodes) for own in rest)
        rows.append((f"{rest[-1].count}-{rest[0].count}", str(nodes), "", "for other reasons (-o json tells all)"))
    table = aligned(rows, {0, 1}, screen.inside(2))
    return f"{count.shape.full_name}: {fits}{where}{asked}\n" + "\n".join(f"  {line}" for line in table.split("\n"))


def _row(own: NodeCount) -> Sequence[str]:
    return str(own.count), str(len(own.nodes)), some_of(own.nodes, MOST_NODES), printable(own.sentence)
