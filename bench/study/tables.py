"""What is shown of answers, as Markdown. A row is a play and a rule."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from bench.study.plays import Answer, Play
from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.show.text.fleet.simulation import duration_text, many_text, part_text

Cells = tuple[str, ...]


class Column(NamedTuple):
    title: str
    cell: Callable[[RuleOutcome], str]


class Row(NamedTuple):
    play: str
    rule: str
    outcome: RuleOutcome


def _room(devices: str) -> Callable[[RuleOutcome], str]:
    def cell(own: RuleOutcome) -> str:
        for left in own.large:
            if left.shape.name == devices:
                return f"{left.mean:.1f}" + (f", none {left.none:.0%}" if left.none else "")
        return "-"

    return cell


def _part(part: int, whole: int) -> str:
    return "all" if part == whole else part_text(part, whole)


def _at_once(own: RuleOutcome, devices: int) -> str:
    """Of pods with so many devices; - where there are none."""
    return "".join(part_text(size.at_once, size.pods) for size in own.sizes if size.devices == devices) or "-"


USE = (
    Column("GPUs in use", lambda own: f"{own.used_devices:.0%}"),
    Column("at most", lambda own: f"{max((at.used_devices for at in own.moments), default=0.0):.0%}"),
)
IMPOSSIBLE = Column("no fit", lambda own: f"{own.impossible:,}")
FATE = (
    Column("rejected", lambda own: f"{own.rejected_pods:,}"),
    Column("again", lambda own: many_text(own.recreations)),
    Column("at once", lambda own: f"{own.at_once / own.pods:.1%}" if own.pods else "-"),
    Column("wait", lambda own: duration_text(own.mean_wait)),
    Column("99 %", lambda own: duration_text(own.late_wait)),
    Column("left", lambda own: f"{own.left_waiting:,}"),
    Column("never", lambda own: f"{own.unplaced:,}"),
)
GIVEN_UP = Column("given up", lambda own: f"{own.given_up:,}")
FATE_OF_POLICIES = tuple(column for column in FATE if column.title != "again")
FATE_IN_SHORT = tuple(column for column in FATE if column.title not in ("again", "99 %", "left"))
"""Where each cell has two numbers, and a line of a page has an end."""
LARGEST = Column("8 GPUs", lambda own: _at_once(own, 8))
ALIGNED = (
    Column("CPUs", lambda own: _part(own.alignment.cpus_together, own.alignment.cpus)),
    Column("GPUs", lambda own: _part(own.alignment.devices_near, own.alignment.devices)),
)
ROOM = (
    Column("8 GPUs", _room("8 GPUs")),
    Column("4 GPUs", _room("4 GPUs")),
    Column("NUMA node", _room("NUMA node")),
    Column("stranded CPUs", lambda own: f"{own.stranded_cpus:,.0f}"),
    Column("GPUs", lambda own: f"{own.stranded_gpus:,.1f}"),
)


def rows_of(answers: Iterable[tuple[Play, Answer]]) -> list[Row]:
    """Called by what was played, the policy, or both."""
    return [
        Row(", ".join(part for part in (play.name, answer.outcome.policy) if part), answer.outcome.rule, answer.outcome)
        for play, answer in answers
    ]


def fates(first: str, rows: Sequence[Row], columns: Sequence[Column]) -> str:
    """Rows in their order; where those of a policy are the same with both scopes, they are called by the policy."""
    found: dict[str, list[Cells]] = {}
    for row in rows:
        found.setdefault(row.play, []).append((row.rule, *(column.cell(row.outcome) for column in columns)))
    lines = [(name, *cells) for name, own in one_of_both_scopes(found).items() for cells in own]
    return markdown((first, "rule", *(column.title for column in columns)), lines)


def one_of_both_scopes(found: Mapping[str, list[Cells]]) -> dict[str, list[Cells]]:
    merged: dict[str, list[Cells]] = {}
    for name, own in found.items():
        policy, slash, scope = name.rpartition("/")
        other = f"{policy}/{'pod' if scope == 'container' else 'container'}"
        if slash and found.get(other) == own:
            merged.setdefault(policy, own)
        else:
            merged[name] = own
    return merged


def spread(first: str, rows: Sequence[Row], columns: Sequence[Column]) -> str:
    """Of the rows of a rule, which differ by chance, the least and the most; sorted as numbers."""
    lines = []
    for name, rule in dict.fromkeys((row.play, row.rule) for row in rows):
        own = [row.outcome for row in rows if (row.play, row.rule) == (name, rule)]
        lines.append((name, rule, *(_between([column.cell(each) for each in own]) for column in columns)))
    return markdown((first, "rule", *(column.title for column in columns)), lines)


UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "M": 1_000_000}


def _between(cells: Sequence[str]) -> str:
    ordered = sorted(dict.fromkeys(cells), key=_amount)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _amount(cell: str) -> float:
    number, _, unit = cell.partition(" ")
    return float(number.strip("%,").replace(",", "").replace("-", "0") or 0) * UNITS.get(unit, 1)


def costs(answers: Iterable[tuple[Play, Answer]]) -> str:
    lines = [
        (play.name, play.rules[0], f"{own.cpu_seconds:.0f} s", f"{own.most_memory / 1e6:.0f} MB")
        for play, own in answers
    ]
    return markdown(("trace", "rule", "processor time", "memory"), lines)


def markdown(heads: Cells, rows: Iterable[Cells]) -> str:
    body = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join((body[0], "|---" * len(heads) + "|", *body[1:]))
