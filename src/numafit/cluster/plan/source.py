"""Nodes and pods out of the objects of a cluster, whoever listed them: kubectl into a file, or we from its server.

A node whose agent publishes a NodeTopology is taken as that tells it; of the others the capacity is known, and the rest
assumed.
"""

import msgspec

from numafit.cluster.plan.exact import ExactNodes, exact_nodes
from numafit.cluster.plan.planned import PlannedNodes
from numafit.cluster.sim.dump import PlacedObjects, dumped_objects, node_table, nothing_there, pod_trace
from numafit.cluster.sim.table import NodeAssumptions, NodeTable, assumption_notes, counted_notes, groups_of_table
from numafit.cluster.topology.model import KIND
from numafit.fleet.simulation.trace import PodTrace


class ClusterObjects(msgspec.Struct, frozen=True):
    """As they were listed; those of each kind with their places."""

    source: str
    nodes: PlacedObjects = ()
    topologies: PlacedObjects = ()
    pods: PlacedObjects = ()


def objects_in(text: str, source: str) -> ClusterObjects:
    """Of a list that kubectl printed."""
    kinds = (tuple(dumped_objects(text, source, kind)) for kind in ("Node", KIND, "Pod"))
    return ClusterObjects(source, *kinds)


def nodes_in(objects: ClusterObjects, assumed: NodeAssumptions) -> PlannedNodes:
    """Raises InputError where no node can be read."""
    exact = exact_nodes(objects.topologies)
    table = node_table(objects.nodes)
    left = _without(table, exact)
    skipped = (*exact.skipped, *table.skipped)
    kinds = (*exact.kinds, *groups_of_table(left, assumed))
    if not kinds:
        raise nothing_there(skipped, "node", objects.source)
    many = sum(map(len, left.rows.values()))
    untold = f"of the {many} without a {KIND}" if exact.kinds else ""
    notes = (*assumption_notes(assumed, untold), *counted_notes(left.rows)) if many else ()
    return PlannedNodes(kinds, notes, skipped)


def _without(table: NodeTable, exact: ExactNodes) -> NodeTable:
    rows = {row: tuple(name for name in names if name not in exact.names) for row, names in table.rows.items()}
    return NodeTable({row: names for row, names in rows.items() if names})


def pods_in(objects: ClusterObjects, owner: str) -> PodTrace:
    """Raises InputError where no pod can be read."""
    trace = pod_trace(objects.pods, owner)
    if not trace.pods:
        raise nothing_there(trace.skipped, "pod", objects.source)
    return trace
