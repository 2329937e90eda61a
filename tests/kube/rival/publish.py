"""NodeResourceTopology objects of simulated nodes, made from their NodeTopology objects whenever those change.

So the plugin gets what the exporter of its own project would tell it, and sooner: that one looks at a node every few
seconds.
"""

import asyncio
import threading
from pathlib import Path

import msgspec

from numafit.cluster.kube.access import access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import NODES
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.live.fleet import SentTopology
from numafit.cluster.live.nodes import SentNode
from numafit.cluster.node.learn import KnownNode
from numafit.cluster.node.resource_topology import API_VERSION, PATH, resource_topology
from numafit.cluster.topology import model
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.restore import stage_of
from numafit.settings.node_object import NodeObject
from tests.kube.agent import PLACES
from tests.kube.api import Api
from tests.kube.processes import until

PAUSE = 0.2
"""Seconds between two looks at what has changed."""
MANAGER = "rival"


def define_resource_topologies(api: Api) -> None:
    """As others define them, but for what they check."""
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    group, _, version = API_VERSION.partition("/")
    own = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": open_schema}}
    names = {"kind": "NodeResourceTopology", "plural": "noderesourcetopologies", "singular": "noderesourcetopology"}
    approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1870"}
    content = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}", "annotations": approved},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [own]},
    }
    path = PLACES["CustomResourceDefinition"]
    if api.get(f"{path}/{names['plural']}.{group}") is None:
        api.post(path, content)
    until("the definition is served", 30, lambda: api.ask("GET", PATH).is_success)


class ResourceTopologies(threading.Thread):
    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(daemon=True)
        self.kubeconfig = kubeconfig
        self.ready = threading.Event()
        """All that was reported when it began is written."""
        self.written = 0
        self.failed: list[str] = []
        self._changed: dict[str, bytes] = {}
        self._end = threading.Event()

    def run(self) -> None:
        asyncio.run(self._follow())

    async def _follow(self) -> None:
        async with KubeApi(access(self.kubeconfig, None)) as api:
            health = ApiHealth()
            nodes = Reflector(api, NODES, SentNode, lambda _: None, health=health)
            reports = Reflector(api, model.PATH, SentTopology, self._told, health=health)
            tasks = [asyncio.create_task(own.run()) for own in (nodes, reports)]
            await asyncio.gather(nodes.synced.wait(), reports.synced.wait())
            while not self._end.is_set():
                changed, self._changed = self._changed, {}
                for name, report in changed.items():
                    node = nodes.items.get(name)
                    if node is not None:
                        await self._write(api, report, node.metadata.uid)
                self.ready.set()
                await asyncio.sleep(PAUSE)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        # Connections with TLS need some turns of the loop to close.
        await asyncio.sleep(PAUSE)

    def _told(self, change: ObjectChange[SentTopology]) -> None:
        if change.after is not None:
            self._changed[change.key] = msgspec.json.encode(change.after)

    async def _write(self, api: KubeApi, report: bytes, uid: str) -> None:
        try:
            topology = read_topology(report)
            name = topology.name
            node = KnownNode(NodeObject(name, topology.status.release), uid, {})
            there = [holder.name.partition("/") for holder in topology.status.holders if not holder.gone]
            pods = [(space, own) for space, _, own in there]
            content = resource_topology(name, stage_of(topology), node, pods)
            await api.apply(f"{PATH}/{name}", content, MANAGER, force=True)
            self.written += 1
        except Exception as error:
            # Whoever counts looks at them: a rival that was told nothing would be judged for it.
            self.failed.append(repr(error))

    def check(self) -> None:
        if self.failed:
            raise AssertionError(f"the rival is not told how nodes stand: {self.failed[0]}")

    def stop(self) -> None:
        self._end.set()
        self.join(10)
