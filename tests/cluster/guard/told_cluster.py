"""A small cluster as the guard sees it: nodes that have reported, and nodes that have not."""

from numafit.cluster.live.book import FleetBook
from numafit.cluster.topology.read import read_topology
from numafit.decision.stage import Stage
from numafit.show.json import json_text
from tests.cluster.live.cluster_objects import node, topology_object


def book(*names: str, untold: tuple[str, ...] = (), stage: Stage | None = None) -> FleetBook:
    own = FleetBook()
    for name in (*names, *untold):
        own.node_told(node(name))
    for name in names:
        own.reported(name, own.read(read_topology(json_text(topology_object(name, stage)).encode())))
    return own
