"""Nodes that nothing stands behind: the objects alone, as many as wanted, with a NodeTopology each.

The controller manager is stopped first: it would find that their kubelets are silent. No pod on them ever starts.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import yaml

from numafit.cluster.kube.access import access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.topology.model import PATH
from numafit.cluster.topology.write import topology_of
from numafit.cluster.up.programs import CONTROLLER_MANAGER
from tests.cluster.topology.nodes import guaranteed, stage_on, with_pods_on
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until

MACHINE = "gpu8-128cpu"
STATES = (25, 20)
"""One node has up to so many pods with one CPU, and with two: 500 states."""
AT_ONCE = 50


def stop_controllers(cluster: ControlPlane) -> None:
    """There is nothing that has to be put in order."""
    process = cluster.processes.pop(CONTROLLER_MANAGER)
    process.kill()
    process.wait()


def define_topologies(cluster: ControlPlane) -> None:
    text = (Path(__file__).parents[2] / "src/numafit/cluster/topology/nodetopologies.yaml").read_text()
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for own in yaml.safe_load_all(text):
        if cluster.api.get(f"{definitions}/{own['metadata']['name']}") is None:
            cluster.api.post(definitions, own)
    until("the definition is served", 30, lambda: cluster.api.ask("GET", PATH).is_success)


def node_object(name: str) -> Json:
    amounts = {"cpu": "126", "memory": "1000Gi", "pods": "250", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "8"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Bare", "message": "it is an object"}],
            "nodeInfo": {"kubeletVersion": "v1.36.4"},
        },
    }


def _stands(number: int) -> Iterator[Json]:
    """The status of a NodeTopology for each node, in as many states as there can be."""
    known: dict[int, Json] = {}
    for index in range(number):
        state = index % (STATES[0] * STATES[1])
        if state not in known:
            ones, twos = state % STATES[0], state // STATES[0]
            pods = [guaranteed(f"a{state}-{own}") for own in range(ones)]
            pods += [guaranteed(f"b{state}-{own}", 2) for own in range(twos)]
            found: Json = msgspec.to_builtins(topology_of("x", with_pods_on(stage_on(MACHINE), *pods)))
            known[state] = found
        yield known[state]


def make_nodes(cluster: ControlPlane, first: int, number: int, *, topologies: bool = True) -> None:
    """From `bare-FIRST` on."""

    async def one(api: KubeApi, index: int, topology: Json) -> None:
        name = f"bare-{index}"
        await api.create("/api/v1/nodes", msgspec.json.encode(node_object(name)))
        # Until a controller has seen the kubelet the API server lets nobody come.
        await api.patch(f"/api/v1/nodes/{name}", b'{"spec": {"taints": null}}')
        if topologies:
            own = {**topology, "metadata": {"name": name}}
            await api.create(PATH, msgspec.json.encode(own))

    async def all_of_them() -> None:
        async with KubeApi(access(cluster.kubeconfig, None), connections=AT_ONCE) as api:
            begun: list[asyncio.Task[None]] = []
            for index, topology in enumerate(_stands(first + number)):
                if index >= first:
                    begun.append(asyncio.create_task(one(api, index, topology)))
                if len(begun) >= AT_ONCE * 4:
                    await asyncio.gather(*begun)
                    begun.clear()
            await asyncio.gather(*begun)

    asyncio.run(all_of_them())
