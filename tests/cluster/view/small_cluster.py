"""A small cluster on a played API server: nodes with reports, pods, and lists that may not be read."""

import json
from collections.abc import Sequence
from typing import Any

from numafit.cluster.topology.model import PATH
from numafit.decision.stage import Stage
from tests.cluster.api_server import ApiServer, Reply, refusal
from tests.cluster.live.cluster_objects import node_object, pod_object, topology_object
from tests.cluster.topology.nodes import guaranteed, stage_on, with_pods_on

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
OWN_PODS = "/api/v1/namespaces/team/pods"
MACHINE = "gpu8-128cpu"
"""128 CPUs and 8 GPUs on two NUMA nodes."""

Json = dict[str, Any]


def denied(what: str) -> Reply:
    return refusal(403, f'{what} is forbidden: User "jane" cannot list resource "{what}"')


def stage(*pods: tuple[str, int, int], more: str = "") -> Stage:
    """(UID, CPUs, GPUs) of those that sit there."""
    return with_pods_on(stage_on(MACHINE, more=more), *(guaranteed(uid, cpus, "1Gi", gpus) for uid, cpus, gpus in pods))


def allocatable(own: Stage) -> dict[str, str]:
    return {name: str(amount) for name, amount in own.allocatable.items()} | {"ephemeral-storage": "100Gi"}


class SmallCluster:
    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.nodes: dict[str, Json] = {}
        self.topologies: dict[str, Json] = {}
        self.pods: list[Json] = []

    def node(self, name: str, own: Stage | None, labels: dict[str, str] | None = None, **spec: Any) -> None:
        """None: nobody tells how it stands."""
        found = node_object(name, **spec)
        found["metadata"]["labels"] |= labels or {}
        if own is not None:
            found["status"]["allocatable"] = allocatable(own)
            found["status"]["nodeInfo"]["kubeletVersion"] = str(own.node.settings.version)
            self.topologies[name] = topology_object(name, own)
        self.nodes[name] = found

    def pod(self, name: str, cpus: int = 2, gpus: int = 0, node: str = "", **more: Any) -> Json:
        found = pod_object(name, cpus, gpus, node, **more)
        self.pods.append(found)
        return found

    def serve(self) -> None:
        replies = self.server.replies
        for path, items in (
            (NODES, list(self.nodes.values())),
            (PATH, list(self.topologies.values())),
            (PODS, self.pods),
            (OWN_PODS, self.pods),
        ):
            replies[path] = Reply(body=listing(items))
        for name, item in self.topologies.items():
            replies[f"{PATH}/{name}"] = Reply(body=json.dumps(item).encode())
        for name, item in self.nodes.items():
            replies[f"{NODES}/{name}"] = Reply(body=json.dumps(item).encode())

    def deny(self, *paths: str) -> None:
        for path in paths:
            self.server.replies[path] = denied(path.rpartition("/")[2])


def listing(items: Sequence[Json]) -> bytes:
    return json.dumps({"kind": "List", "metadata": {"resourceVersion": "7"}, "items": list(items)}).encode()


def usual(server: ApiServer) -> SmallCluster:
    """Three nodes: one with a pod that holds all GPUs of a NUMA node, one empty, one that tells nothing; a pod that
    waits and one that was rejected."""
    cluster = SmallCluster(server)
    cluster.node("gpu-1", stage(("train", 8, 4)))
    cluster.node("gpu-2", stage())
    cluster.node("dark", None)
    cluster.pod("train", 8, 4, "gpu-1", phase="Running")
    cluster.pod("huge", 500)
    cluster.pod("turned", 8, 5, "gpu-1", phase="Failed", reason="TopologyAffinityError", message="no locality")
    cluster.serve()
    return cluster
