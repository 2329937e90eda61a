"""NODES and TRACE of commands that play pods in time: from files, or from the cluster that `cluster:` stands for."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from msgspec.structs import replace

from numafit.cli.files import read_text
from numafit.cli.options.live import ClusterOptions, new_client
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.simulated import planned_nodes
from numafit.cluster.plan.planned import PlannedNodes
from numafit.cluster.plan.source import ClusterObjects, nodes_in, objects_in, pods_in
from numafit.cluster.sim.dump import looks_like_dump
from numafit.cluster.sim.table import NUMA_ASSUMED, NUMA_NODES, NodeAssumptions
from numafit.errors import InputError
from numafit.fleet.simulation.controllers import CONTROLLERS, USUAL
from numafit.fleet.simulation.trace import GPU, PodTrace, read_trace
from numafit.fleet.what_if.shapes import reshaped, whole_cpus
from numafit.settings.read.loader import ConfigFile

F = TypeVar("F", bound=Callable[..., Any])

CLUSTER = "cluster:"
"""Stands for the cluster itself, where a file could be named."""


class Sources(NamedTuple):
    nodes: Path
    trace: Path
    speed: float
    most: int | None
    whole_cpus: bool
    owner: str | None
    numa: int | None
    kubelet: Path | None
    cluster: ClusterOptions


class ReadSources(NamedTuple):
    nodes: PlannedNodes
    trace: PodTrace


def source_options(command: F) -> F:
    """Adds NODES, TRACE and what says how they are read, and hands all of it to the command as `sources: Sources`."""

    @wraps(command)
    def wrapped(context: str | None, kubeconfig: Path | None, **rest: Any) -> Any:
        own = {name: rest.pop(name) for name in Sources._fields if name != "cluster"}
        return command(sources=Sources(**own, cluster=ClusterOptions(context, kubeconfig)), **rest)

    decorated: Any = wrapped
    for decorator in reversed(_OPTIONS):
        decorated = decorator(decorated)
    return decorated  # type: ignore[no-any-return]


_OPTIONS = (
    click.argument("nodes", type=click.Path(path_type=Path)),
    click.argument("trace", type=click.Path(path_type=Path)),
    click.option("--speed", type=float, default=1.0, metavar="TIMES", help="Pods arrive so many times as fast."),
    click.option("--most", type=click.IntRange(1), metavar="N", help="Only the first N pods."),
    click.option("--whole-cpus", is_flag=True, help="Round CPUs up, so that each pod gets CPUs for itself."),
    click.option(
        "--owner",
        type=OneOf(list(CONTROLLERS)),
        help=f"Of pods of which TRACE does not tell it; default {USUAL}, in Alibaba's trace by their class.",
    ),
    click.option(
        "--numa",
        type=click.IntRange(1, 16),
        help=f"NUMA nodes of each node whose machine NODES does not tell; default {NUMA_NODES}.",
    ),
    click.option(
        "--kubelet", type=click.Path(path_type=Path), help="Configuration of each node of which NODES tells none."
    ),
    click.option("--kubeconfig", type=click.Path(path_type=Path), help=f"With {CLUSTER} another one than kubectl's."),
    click.option("--context", metavar="NAME", help=f"With {CLUSTER} a context of the kubeconfig."),
)


def read_sources(sources: Sources) -> ReadSources:
    """Raises InputError for what is wrong with them."""
    if not 0 < sources.speed < float("inf"):
        raise InputError(f"{sources.speed:g} is no number of times", source="--speed", cure="more than 0")
    config = None if sources.kubelet is None else ConfigFile(str(sources.kubelet), read_text(sources.kubelet))
    assumed = NodeAssumptions(sources.numa or NUMA_NODES, config)
    live = _live_objects(sources)
    planned = nodes_in(live, assumed) if _is_cluster(sources.nodes) else planned_nodes(sources.nodes, assumed)
    _check_assumed(sources, planned)
    devices = [own.resource for group, _ in planned.kinds for own in group.machine.devices if own.resource]
    trace = _trace(sources, live, devices[0] if devices else GPU)
    trace = trace if sources.most is None else trace.first(sources.most)
    return ReadSources(planned, trace.faster(sources.speed))


def _check_assumed(sources: Sources, planned: PlannedNodes) -> None:
    if any(note.code == NUMA_ASSUMED for note in planned.notes):
        return
    for name, value in (("--numa", sources.numa), ("--kubelet", sources.kubelet)):
        if value is not None:
            said = "would change nothing: NODES tells machine and kubelet of each node"
            raise InputError(said, source=name, cure="what-if changes them with --change")


def _is_cluster(path: Path) -> bool:
    return str(path) == CLUSTER


def _live_objects(sources: Sources) -> ClusterObjects:
    nodes, pods = _is_cluster(sources.nodes), _is_cluster(sources.trace)
    if not nodes and not pods:
        for name, value in zip(("--context", "--kubeconfig"), sources.cluster, strict=True):
            if value is not None:
                raise InputError(f"goes with {CLUSTER} for NODES or TRACE only", source=name)
        return ClusterObjects(CLUSTER)
    with new_client(sources.cluster) as client:
        # Loaded with the client, on which it stands.
        from numafit.cluster.plan.live import read_objects

        return read_objects(client, client.access.cluster.server, nodes=nodes, pods=pods)


def _trace(sources: Sources, live: ClusterObjects, gpu: str) -> PodTrace:
    path = sources.trace
    text = "" if _is_cluster(path) else read_text(path)
    if _is_cluster(path) or looks_like_dump(text):
        trace = pods_in(live if _is_cluster(path) else objects_in(text, str(path)), sources.owner or USUAL)
        return replace(trace, pods=reshaped(trace.pods, whole_cpus)) if sources.whole_cpus else trace
    return read_trace(text, str(path), gpu=gpu, whole_cpus=sources.whole_cpus, owner=sources.owner)


def none_fits(sources: Sources) -> InputError:
    said, cure = "none of its pods fits an empty node", "do both use the same devices?"
    return InputError(said, source=str(sources.trace), cure=cure)
