"""How a fleet in time reads: who was rejected and waited, and how much room each rule left."""

from collections.abc import Mapping, Sequence

from numafit.fleet.simulation.outcome import LargeLeft, RuleOutcome
from numafit.show.records.fleet_run import FleetRunAnswer
from numafit.show.table import PLAIN, Screen, aligned

GIB = 1 << 30
ROOM_SAID = """\
Large pods that could still come (how often none could); the LARGEST aligned
shape that still fits, as CPUs of one NUMA node/as GPUs with their share of its
CPUs; and what is stranded. All of it is a mean over time."""
MOST_SKIPPED = 10
"""Rows that are told; all are counted."""


def fleet_run_text(run: FleetRunAnswer, screen: Screen = PLAIN) -> str:
    parts = [_head(run), aligned(_waits(run), range(1, 10), screen), _reached_text(run, screen)]
    if any(own.large or own.largest for own in run.rules):
        rows = aligned(_rooms(run), range(1, 12), screen)
        parts.append(f"{ROOM_SAID}\n{rows}")
    if any(own.large for own in run.rules):
        shapes = dict.fromkeys(f"{own.shape.name}: {_amounts(own.shape.requests)}" for own in _all_large(run))
        parts.append(f"Such a pod asks for: {'; '.join(shapes)}.")
    if run.skipped:
        parts.append(skipped_text(run.skipped))
    return "\n\n".join(parts)


def _head(run: FleetRunAnswer) -> str:
    nodes = "1 node" if run.nodes == 1 else f"{run.nodes:,} nodes"
    pods = "1 pod" if run.pods == 1 else f"{run.pods:,} pods"
    return f"{pods} in {duration_text(run.seconds)} on {nodes}{_left_out(run)}"


def _left_out(run: FleetRunAnswer) -> str:
    counts = dict.fromkeys((own.policy, own.impossible) for own in run.rules)
    if not any(count for _, count in counts):
        return ""
    if len({count for _, count in counts}) == 1:
        said = f"{next(iter(counts))[1]:,} of them"
    else:
        said = ", ".join(f"{count:,} with {policy}" for policy, count in counts)
    return f"; {said} fit no empty node, and are left out"


def skipped_text(skipped: Sequence[str]) -> str:
    many = "1 row was left out" if len(skipped) == 1 else f"{len(skipped):,} rows were left out"
    lines = [f"  {own}" for own in skipped[:MOST_SKIPPED]]
    if len(skipped) > MOST_SKIPPED:
        lines.append(f"  and {len(skipped) - MOST_SKIPPED:,} more: all of them with -o json")
    return "\n".join((f"{many}:", *lines))


def _named(run: FleetRunAnswer, own: RuleOutcome) -> tuple[str, ...]:
    return (own.policy, own.rule) if run.rules[0].policy else (own.rule,)


def _heads(run: FleetRunAnswer) -> tuple[str, ...]:
    return ("POLICY", "RULE") if run.rules[0].policy else ("RULE",)


def _waits(run: FleetRunAnswer) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [(*_heads(run), "REJECTED", "AGAIN", "AT ONCE", "WAIT", "99 %", "LEFT", "NEVER")]
    for own in run.rules:
        rows.append(
            (
                *_named(run, own),
                f"{own.rejected_pods:,}",
                many_text(own.recreations),
                f"{own.at_once / own.pods:.1%}" if own.pods else "-",
                duration_text(own.mean_wait),
                duration_text(own.late_wait),
                f"{own.left_waiting:,}",
                f"{own.unplaced:,}",
            )
        )
    return rows


def _reached_text(run: FleetRunAnswer, screen: Screen) -> str:
    rows: list[tuple[str, ...]] = [(*_heads(run), "CPUS", "MEMORY", "DEVICES", "DISTANCE", "LINKS")]
    for own in run.rules:
        found = own.alignment
        rows.append(
            (
                *_named(run, own),
                part_text(found.cpus_together, found.cpus),
                part_text(found.memory_near, found.memory),
                part_text(found.devices_near, found.devices),
                "-" if found.device_distance is None else f"{found.device_distance:.1f}",
                "-" if found.link_quality is None else f"{found.link_quality:.2f}",
            )
        )
    said = "Alignment of what was given: CPUs on one NUMA node, memory and devices at them, how far devices are\n"
    return f"{said}(10: the same NUMA node), and how well sets of GPUs are linked (1: as well as any).\n" + aligned(
        rows, range(1, 10), screen
    )


def _all_large(run: FleetRunAnswer) -> list[LargeLeft]:
    return [left for own in run.rules for left in own.large]


def _rooms(run: FleetRunAnswer) -> list[tuple[str, ...]]:
    names = tuple(dict.fromkeys(own.shape.name for own in _all_large(run)))
    rows: list[tuple[str, ...]] = [(*_heads(run), *names, "LARGEST", *_stranded_heads(run))]
    for own in run.rules:
        found = {left.shape.name: left_text(left) for left in own.large}
        cells = [found.get(name, "-") for name in names]
        memory = (f"{own.stranded_memory / GIB:,.0f} GiB",) if _has_memory(run) else ()
        rows.append(
            (
                *_named(run, own),
                *cells,
                largest_text(own),
                f"{own.stranded_cpus:.0f}",
                *memory,
                f"{own.stranded_gpus:.1f}",
            )
        )
    return rows


def largest_text(own: RuleOutcome) -> str:
    gpus = f"/{own.largest_gpus:.1f}" if any(moment.largest_gpus for moment in own.moments) else ""
    return f"{own.largest:.0f}{gpus}"


def _has_memory(run: FleetRunAnswer) -> bool:
    return any(own.stranded_memory for own in run.rules)


def _stranded_heads(run: FleetRunAnswer) -> tuple[str, ...]:
    return ("CPUS", "MEMORY", "GPUS") if _has_memory(run) else ("CPUS", "GPUS")


def left_text(left: LargeLeft) -> str:
    return f"{left.mean:.1f}" + (f" ({left.none:.0%})" if left.none else "")


def _amounts(requests: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in requests.items())


def duration_text(seconds: float) -> str:
    """In the largest unit of which there are at least two."""
    for unit, many in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * many:
            return f"{seconds / many:.1f} {unit}"
    return f"{seconds:.0f} s"


def many_text(count: int) -> str:
    """A count that may be very large."""
    return f"{count:,}" if count < 1_000_000 else f"{count / 1_000_000:,.1f} M"


def part_text(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
