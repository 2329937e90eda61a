"""A slice of a trace in fast time: the same nodes and the same pods for the control plane and for the model.

Nodes are taken evenly from the list, pods from its middle, one after the other as they came. Their arrivals are
squeezed into some seconds, and their runs by another factor, so that a given part of all GPUs is wanted on average.
Controllers keep their own time: their pauses are not squeezed, and the model plays the same seconds.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from numafit.cli.options.simulated import planned_nodes
from numafit.cluster.plan.planned import idle_states
from numafit.cluster.sim.table import NodeAssumptions, TableRow, read_node_table
from numafit.fleet.simulation.run import possible
from numafit.fleet.simulation.trace import GPU, TracePod, read_trace
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory
from tests.kube.api import Json

SHORTEST_RUN = 2.0
RELEASE = "v1.36.4"


class TraceSlice(msgspec.Struct, frozen=True):
    groups: tuple[Json, ...]
    """As in a file of kubelet-sim."""
    states: dict[str, NodeState]
    """The same nodes with nobody on them."""
    pods: tuple[TracePod, ...]
    seconds: float
    """From the first arrival to the last."""

    @property
    def gpus(self) -> int:
        return sum(len(state.ledger.device.healthy.get(GPU, ())) for state in self.states.values())


def cut(
    nodes: Path, pods: Path, folder: Path, *, many_nodes: int, many_pods: int, seconds: float, load: float, policy: str
) -> TraceSlice:
    """`load`: the part of all GPUs that is wanted on average. `folder`: where the file of nodes is written. Pods that
    fit no empty node are left out, as by the model."""
    table = read_node_table(nodes.read_text(), str(nodes))
    named = sorted((name, row) for row, names in table.rows.items() for name in names)
    step = len(named) // many_nodes
    groups = tuple(_groups([row for _, row in named[::step][:many_nodes]], policy))
    file = folder / "nodes.json"
    file.write_bytes(msgspec.json.encode({"format": "numafit/nodes/v1", "nodes": groups}))
    states = idle_states(planned_nodes(file, NodeAssumptions()))
    kinds = tuple({state.key: state for state in states.values()}.values())
    trace = read_trace(pods.read_text(), str(pods), whole_cpus=True)
    fitting = tuple(possible(kinds, trace.pods, VerdictMemory()))
    first = (len(fitting) - many_pods) // 2
    found = TraceSlice(groups, states, fitting[first : first + many_pods], seconds)
    return replace(found, pods=tuple(_squeezed(found, load)))


def _groups(rows: Sequence[TableRow], policy: str) -> Iterator[Json]:
    for number, row in enumerate(dict.fromkeys(rows)):
        numa = 2 if row.cpus % 2 == 0 else 1
        threads = 2 if row.cpus // numa % 2 == 0 else 1
        cores = row.cpus // numa // threads
        devices = [
            f"{resource}=" + ",".join(f"gpu{own}@{own * numa // count}" for own in range(count))
            for resource, count in row.devices
        ]
        config = {
            "cpuManagerPolicy": "static",
            "topologyManagerPolicy": policy,
            # The first core.
            "reservedSystemCPUs": ",".join(str(thread * row.cpus // threads) for thread in range(threads)),
            # A node tells what is free again when its CPU manager has looked; ten seconds are long in fast time.
            "cpuManagerReconcilePeriod": "1s",
        }
        yield {
            "name": f"kind{number}",
            "count": rows.count(row),
            "machine": f"sketch:{numa} sockets x {cores} cores x {threads} threads, {row.memory // numa}Mi per numa",
            **({"devices": devices} if devices else {}),
            "release": RELEASE,
            "kubelet": config,
            "startSeconds": 0,
        }


def _squeezed(own: TraceSlice, load: float) -> Iterator[TracePod]:
    first, last = own.pods[0].arrival, own.pods[-1].arrival
    runs = [pod.run or 0.0 for pod in own.pods]
    gpus = [_gpus(pod) for pod in own.pods]

    def wanted(factor: float) -> float:
        seconds = sum(many * _run(run * factor, own.seconds) for many, run in zip(gpus, runs, strict=True))
        return seconds / (own.gpus * own.seconds)

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if wanted(middle) < load else (low, middle)
    for number, (pod, run) in enumerate(zip(own.pods, runs, strict=True)):
        arrival = (pod.arrival - first) * own.seconds / max(last - first, 1.0)
        named = replace(pod.pod, name=f"p{number}", uid=f"p{number}")
        yield replace(pod, arrival=round(arrival, 3), run=round(_run(run * high, own.seconds), 3), pod=named)


def _run(seconds: float, most: float) -> float:
    return min(max(seconds, SHORTEST_RUN), most)


def _gpus(pod: TracePod) -> int:
    amount = pod.pod.containers[0].requests.get(GPU)
    return amount.value() if amount is not None else 0
