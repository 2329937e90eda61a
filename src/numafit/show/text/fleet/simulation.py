"""How a fleet in time reads: who was rejected and waited, and how much room each rule left."""

from collections.abc import Mapping

from numafit.fleet.simulation.outcome import LargeLeft
from numafit.show.records.fleet_run import FleetRunAnswer
from numafit.show.table import PLAIN, Screen, aligned


def fleet_run_text(run: FleetRunAnswer, screen: Screen = PLAIN) -> str:
    parts = [_head(run), aligned(_waits(run), range(1, 9), screen)]
    if any(own.large for own in run.rules):
        watched = "; ".join(f"{own.name}: {_amounts(own.requests)}" for own in run.large)
        rows = aligned(_rooms(run), range(1, 9), screen)
        parts.append(f"Large pods that could still come (how often none could); stranded CPUs, GPUs:\n{rows}")
        parts.append(f"Such a pod asks for: {watched}.")
    return "\n\n".join(parts)


def _head(run: FleetRunAnswer) -> str:
    nodes = "1 node" if run.nodes == 1 else f"{run.nodes:,} nodes"
    pods = "1 pod" if run.pods == 1 else f"{run.pods:,} pods"
    left = f"; {run.impossible:,} more fit no empty node, and are left out" if run.impossible else ""
    return f"{pods} in {_duration(run.seconds)} on {nodes}{left}"


def _waits(run: FleetRunAnswer) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("RULE", "REJECTED", "AT ONCE", "WAIT", "95 %", "LONGEST", "NEVER")]
    for own in run.rules:
        rows.append(
            (
                own.rule,
                f"{own.rejections:,}",
                f"{own.at_once / own.pods:.1%}",
                _duration(own.mean_wait),
                _duration(own.late_wait),
                _duration(own.longest_wait),
                f"{own.unplaced:,}",
            )
        )
    return rows


def _rooms(run: FleetRunAnswer) -> list[tuple[str, ...]]:
    heads = [own.name for own in run.large]
    rows: list[tuple[str, ...]] = [("RULE", *heads, "CPUS", "GPUS")]
    for own in run.rules:
        cells = [_left(left) for left in own.large]
        rows.append((own.rule, *cells, f"{own.stranded_cpus:.0f}", f"{own.stranded_gpus:.1f}"))
    return rows


def _left(left: LargeLeft) -> str:
    return f"{left.mean:.1f}" + (f" ({left.none:.0%})" if left.none else "")


def _amounts(requests: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in requests.items())


def _duration(seconds: float) -> str:
    """In the largest unit of which there are at least two."""
    for unit, many in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * many:
            return f"{seconds / many:.1f} {unit}"
    return f"{seconds:.0f} s"
