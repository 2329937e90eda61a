"""Agents whose reports are older than their nodes: a pod runs that the report does not have, or one is in it that the
cluster does not have any more.

The lists of a view are not of one moment, and an agent may take a second. So a node that seems to have an old report is
looked at once more, some seconds later: only what is the same then is told.
"""

import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

from numafit.cluster.kube.client import Client
from numafit.cluster.kube.objects import PODS
from numafit.cluster.live.fleet import LIVING
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.topology.model import PATH, NodeTopology
from numafit.cluster.topology.read import read_topology
from numafit.cluster.view.reading import items_of, listed
from numafit.cluster.view.seen import ClusterView
from numafit.errors import ApiServerError, InputError

SECONDS = 3.0
"""Between two looks: three times what an agent needs."""
MOST_AGAIN = 32
"""Nodes that are looked at again."""
ASKED_AT_ONCE = 8


def stale_nodes(view: ClusterView, client: Client, seconds: float = SECONDS) -> tuple[str, ...]:
    """By name."""
    suspects = sorted(_suspects(view))
    if not suspects:
        return ()
    time.sleep(seconds)
    looked = suspects[:MOST_AGAIN]
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        again = list(pool.map(lambda name: _still(view, client, name), looked))
    return tuple(name for name, still in zip(looked, again, strict=True) if still)


def _suspects(view: ClusterView) -> Iterator[str]:
    for name, topology in view.topologies.items():
        if name in view.book.nodes and differs(topology, view.book.bound_to(name)):
            yield name


def differs(topology: NodeTopology, pods: Collection[ClusterPod]) -> bool:
    """`pods`: those that are bound to the node and have not ended."""
    told = {holder.uid for holder in topology.status.holders if not holder.gone}
    running = {pod.uid for pod in pods if pod.phase == "Running"}
    return bool(running - told) or bool(told - {pod.uid for pod in pods})


def _still(view: ClusterView, client: Client, name: str) -> bool:
    """The same report, and what was odd is so still."""
    selector = {"fieldSelector": f"{LIVING['fieldSelector']},spec.nodeName={name}"}
    try:
        pages = listed(client, PODS, selector)
        topology = read_topology(client.get(f"{PATH}/{name}"))
    except (ApiServerError, InputError):
        return False
    if isinstance(pages, ApiServerError) or topology.status.digest != view.topologies[name].status.digest:
        return False
    pods = [pod for item in items_of(client, pages) if (pod := view.read_pod(item)) is not None]
    return differs(topology, pods)
