"""An extender over a small cluster, asked as a scheduler asks it."""

import json
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from numafit.cluster.extender.counts import ExtenderCounts
from numafit.cluster.extender.extender import Extender, ExtenderOptions
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveChange, LiveFleet
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.topology.read import read_topology
from tests.cluster.live.cluster_objects import kept, lenient_stage, node, topology_object
from tests.cluster.topology.nodes import with_pods_on


class AskedExtender:
    """Nodes n1, n2, … with eight GPUs each, two of four joined on each NUMA node; nobody is there."""

    def __init__(self, nodes: int = 2, *, ready: bool = True, **options: Any) -> None:
        self.time = 100.0
        self.live = LiveFleet(cast(KubeApi, SimpleNamespace()), ApiHealth())
        self.counts = ExtenderCounts()
        self.extender = Extender(
            self.live, lambda pod: "plain" not in pod.name, ExtenderOptions(**options), self.counts, self.clock
        )
        self.names = [f"n{index + 1}" for index in range(nodes)]
        for name in self.names:
            self.live.book.node_told(node(name))
            self.report(name)
        if ready:
            self.live.synced.set()

    def clock(self) -> float:
        return self.time

    def report(self, name: str, *pods: ClusterPod) -> None:
        stage = with_pods_on(lenient_stage(), *(own.pod for own in pods))
        book = self.live.book
        book.reported(name, book.read(read_topology(msgspec.json.encode(topology_object(name, stage)))))
        self.extender._heard(LiveChange("node", name))

    def bind(self, value: dict[str, Any], name: str) -> ClusterPod:
        bound = json.loads(json.dumps(value))
        bound["spec"]["nodeName"] = name
        pod = self.live.book.pod_told(kept(bound))
        self.extender._heard(LiveChange("pod", pod.uid, pod))
        return pod

    def gone(self, uid: str) -> None:
        pod = self.live.book.pod_gone(uid, self.time)
        self.extender._heard(LiveChange("gone", uid, pod))

    def filter(self, pod: dict[str, Any], *names: str) -> dict[str, Any]:
        args = {"Pod": pod, "Nodes": None, "NodeNames": list(names or self.names)}
        answer: dict[str, Any] = json.loads(self.extender.filter(json.dumps(args).encode()))
        return answer

    def offered(self, pod: dict[str, Any], *names: str) -> list[str]:
        found: list[str] = self.filter(pod, *names)["NodeNames"]
        return found

    def outcomes(self) -> dict[str, int]:
        return {str(name): count for name, count in self.counts.filtered.items()}
