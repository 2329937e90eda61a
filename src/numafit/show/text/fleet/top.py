"""How the table of nodes reads."""

from collections.abc import Sequence

from numafit.amounts import count_text, size_text
from numafit.errors import some_of
from numafit.fleet.look.rows import FleetRow, total_of
from numafit.fleet.look.usage import KindUsage, NodeUsage
from numafit.show.table import PLAIN, WARNING, Screen, aligned

HEADS = ("NODE", "PODS", "CPUS", "ON ONE", "GPUS", "MEMORY", "STRANDED", "SPLIT", "POLICY")
RIGHT = {1, 2, 3, 4, 5, 7}
MOST_SPLIT = 10
MOST_NODES = 5


def top_text(
    rows: Sequence[FleetRow], unknown: Sequence[str] = (), most: int | None = None, screen: Screen = PLAIN
) -> str:
    """`most`: so many rows are shown, and the rest only counted."""
    shown = rows if most is None else rows[:most]
    parts = []
    if rows:
        table: list[Sequence[str]] = [HEADS, *(_row(row, screen) for row in shown)]
        split = sum(len(row.split) for row in rows)
        name = count_text(len(rows), "node")
        table.append((name, *_cells(total_of(rows)), str(split or "-"), ""))
        parts.append(aligned(table, RIGHT, screen))
        parts[0] += "\nFree of all; ON ONE: the most CPUs that are free on one NUMA node."
    if len(shown) < len(rows):
        parts.append(f"{count_text(len(rows) - len(shown), 'more node')} not shown.")
    split_lines = [f"- {pod} on {row.name}" for row in rows for pod in row.split]
    if split_lines:
        more = len(split_lines) - MOST_SPLIT
        lines = ["On more NUMA nodes than they need:", *split_lines[:MOST_SPLIT]]
        parts.append("\n".join([*lines, *([f"- and {more} more"] if more > 0 else [])]))
    if unknown:
        parts.append(f"Nothing is known of {count_text(len(unknown), 'node')}: {some_of(unknown, MOST_NODES)}.")
    return "\n\n".join(parts) or "There are no nodes."


def _row(row: FleetRow, screen: Screen) -> Sequence[str]:
    name = row.name if row.schedulable else f"{row.name} (cordoned)"
    split = screen.paint(str(len(row.split)), WARNING) if row.split else "-"
    return (name, *_cells(row.usage), split, row.policy)


def _cells(usage: NodeUsage) -> tuple[str, ...]:
    return (
        str(usage.pods),
        _free(usage.cpus),
        str(usage.largest) if usage.cpus.total else "-",
        _free(usage.gpus),
        size_text(usage.memory.free) if usage.memory.total else "-",
        stranded_text(usage),
    )


def _free(kind: KindUsage) -> str:
    return f"{kind.free}/{kind.total}" if kind.total else "-"


def stranded_text(usage: NodeUsage) -> str:
    parts = []
    if usage.cpus.stranded:
        parts.append(count_text(usage.cpus.stranded, "CPU"))
    if usage.gpus.stranded:
        parts.append(count_text(usage.gpus.stranded, "GPU"))
    if usage.memory.stranded:
        parts.append(size_text(usage.memory.stranded))
    return ", ".join(parts) or "-"
