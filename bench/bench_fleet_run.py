"""Pods in time on a fleet, `numafit fleet simulate`: how CPU time and memory grow with nodes and with pods.

Each point is a process of its own, which makes its nodes and pods, plays one rule on one core, and tells what it used.
Six of ten nodes have 96 CPUs and 8 GPUs, the others 64 CPUs; a pod comes each second, 40 of 100 with CPUs only, 30, 15,
10 and 5 of 100 with 1, 2, 4 and 8 GPUs; with ten pods a node, they run long enough to fill the fleet little by little.
"""

import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from time import process_time

import msgspec

from bench import Row
from numafit.cli.fleet.plays import Play, Playing, play_one
from numafit.cluster.plan.planned import PlannedNodes
from numafit.cluster.sim.table import NodeAssumptions, NodeTable, groups_of_table, read_node_table
from numafit.fleet.simulation.rules import RULES, STOCK
from numafit.fleet.simulation.trace import PodTrace, read_trace

SIZES = (
    (1_250, 12_500),
    (2_500, 25_000),
    (5_000, 50_000),
    (10_000, 100_000),
    # Only nodes, and only pods.
    (10_000, 25_000),
    (2_500, 100_000),
)
PLAYED = ("numafit", "least-allocated, blind")
LARGEST, LARGEST_SECONDS = (10_000, 100_000), 1200.0
TRACES = Path(__file__).parent.parent.parent / "shared" / "traces"
TRACE_NODES, TRACE_PODS = TRACES / "openb_node_list_all_node.csv", TRACES / "openb_pod_list_default.csv"
TRACE_SECONDS, TRACE_MB = 120.0, 500.0


class Used(msgspec.Struct):
    seconds: float
    megabytes: float
    pods: int
    at_once: int
    rejections: int
    used_gpus: float


def rows() -> Iterator[Row]:
    for rule in PLAYED:
        if TRACE_NODES.exists():
            yield from _both(f"fleet run/Alibaba's trace, {rule}", ("trace", rule), TRACE_SECONDS, TRACE_MB)
        for nodes, pods in SIZES:
            budget = LARGEST_SECONDS if (nodes, pods) == LARGEST else None
            yield from _both(f"fleet run/{nodes:,} nodes, {pods:,} pods, {rule}", (nodes, pods, rule), budget)


def _both(name: str, what: tuple[object, ...], seconds: float | None, megabytes: float | None = None) -> Iterator[Row]:
    yield Row(f"{name}/CPU time", partial(_seconds, what), seconds, measured=True)
    yield Row(f"{name}/memory", partial(_megabytes, what), megabytes, unit="MB", measured=True)


def _seconds(what: tuple[object, ...]) -> float:
    used = _used(what)
    print(
        f"  played {used.pods:,} pods: {used.at_once / used.pods:.1%} at once, {used.rejections:,} rejections, "
        f"{used.used_gpus:.0%} of the GPUs in use"
    )
    return used.seconds


def _megabytes(what: tuple[object, ...]) -> float:
    return _used(what).megabytes


@cache
def _used(what: tuple[object, ...]) -> Used:
    code = f"from bench.bench_fleet_run import played; played{what!r}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return msgspec.json.decode(done.stdout, type=Used)


def played(*what: object) -> None:
    """In a process of its own."""
    nodes, trace = _trace() if what[0] == "trace" else _made(int(str(what[0])), int(str(what[1])))
    rule = next(own for own in RULES if own.name == what[-1])
    planned = PlannedNodes(tuple(groups_of_table(nodes, NodeAssumptions())))
    found = play_one(Playing(planned, trace.pods, (), STOCK), Play("", rule), lambda _: None).outcome
    assert found is not None
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        msgspec.json.encode(
            Used(process_time(), megabytes, found.pods, found.at_once, found.rejections, found.used_devices)
        ).decode()
    )


def _trace() -> tuple[NodeTable, PodTrace]:
    nodes = read_node_table(TRACE_NODES.read_text(), str(TRACE_NODES))
    return nodes, read_trace(TRACE_PODS.read_text(), str(TRACE_PODS), whole_cpus=True)


def _made(nodes: int, pods: int) -> tuple[NodeTable, PodTrace]:
    gpu = nodes * 6 // 10
    table = f"name,count,cpu,memory,nvidia.com/gpu\ngpu,{gpu},96,384Gi,8\ncpu,{nodes - gpu},64,256Gi,\n"
    return read_node_table(table, "nodes"), _arriving(nodes, pods)


def _arriving(nodes: int, pods: int) -> PodTrace:
    chance = random.Random(7)
    lines, now = ["arrival,run,cpu,memory,nvidia.com/gpu"], 0.0
    kinds = (
        (40, 0, (2, 4, 8, 16, 32)),
        (30, 1, (4, 8, 12)),
        (15, 2, (8, 16, 24)),
        (10, 4, (16, 32, 46)),
        (5, 8, (64, 90)),
    )
    weights = [weight for weight, _, _ in kinds]
    for _ in range(pods):
        now += chance.expovariate(1.0)
        ((_, gpus, sizes),) = chance.choices(kinds, weights)
        cpus = chance.choice(sizes)
        run = chance.expovariate(1 / (nodes * 6))
        lines.append(f"{now:.1f},{run:.0f},{cpus},{2 * cpus}Gi,{gpus or ''}")
    return read_trace("\n".join(lines), "pods")
