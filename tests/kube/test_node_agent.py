"""Our agent beside a real kubelet, with the rights of its own service account and no more."""

import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from numafit.bits import cpuset_text, parse_cpuset
from numafit.cluster.kube.rights import role
from numafit.cluster.node.manifest import NAME, agent_rules
from numafit.cluster.topology.model import PATH, PodHolding
from numafit.cluster.topology.read import read_topology
from numafit.cluster.up.programs import API_SERVER
from tests.kube.agent import NAMESPACE, PLACES, Agent, account_kubeconfig, agent_account
from tests.kube.api import MERGE, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import KubeletNode
from tests.kube.live import SHARED
from tests.kube.processes import stop, until
from tests.kube.rival.publish import define_resource_topologies

pytestmark = pytest.mark.real

ARCHIVE = SHARED / "captures" / "numa2smt" / "sys.tgz"
CONFIG = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "single-numa-node",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "256Mi"}}],
}
GPU = "example.com/gpu"
NUMBERS = count()
RESOURCE_TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
ANNOTATION = "topology.numafit.io/state"


@pytest.fixture(scope="module")
def account(kubelets_built: None, cluster: ControlPlane, short_folder: Path) -> Path:
    return agent_account(cluster, short_folder / "agent.conf")


@pytest.fixture(scope="module")
def kubelets_built() -> None:
    from tests.kube.build import missing_for_kubelets

    if lacking := missing_for_kubelets():
        pytest.skip(lacking)
    if not ARCHIVE.exists():
        pytest.skip("the captured machines are not there")


def elsewhere(cluster: ControlPlane, path: Path) -> Path:
    """With the token of a pod on another node, which is not there: nobody runs it."""
    content = {"serviceAccountName": NAME, "nodeName": "elsewhere", "containers": [{"name": "c", "image": "none:1"}]}
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    made = cluster.api.post(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "far"}, "spec": content})
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "far", "uid": made["metadata"]["uid"]}
    return account_kubeconfig(cluster, path, boundObjectRef=bound)


@pytest.fixture
def node(account: Path, cluster: ControlPlane, short_folder: Path) -> Iterator[KubeletNode]:
    name = f"agented-{next(NUMBERS)}"
    own = KubeletNode(cluster, short_folder / name, name, ARCHIVE, CONFIG)
    own.plugins[GPU] = ("g0@0", "g1@1", "g2@1")
    assert own.start()
    yield own
    own.close()


@pytest.fixture
def agent(node: KubeletNode, account: Path) -> Iterator[Agent]:
    own = Agent(node, account)
    own.start()
    yield own
    own.kill()


def pod(name: str, cpu: str = "2", gpus: int = 0, *, guaranteed: bool = True) -> Json:
    limits = {"cpu": cpu, "memory": "64Mi", **({GPU: str(gpus)} if gpus else {})}
    resources: Json = {"limits": limits} if guaranteed else {"requests": {"cpu": cpu}}
    container = {"name": "c", "image": "none:1", "imagePullPolicy": "Never", "resources": resources}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def phase(node: KubeletNode, name: str, wanted: str) -> Json:
    def found() -> Json | None:
        own = node.pods().get(name)
        return own if own and own["status"].get("phase") == wanted else None

    return until(f"{name} is {wanted}", 60, found)


def published(node: KubeletNode) -> Any:
    """`Any`: a NodeTopology, or None; read as a scheduler would."""
    found = node.api.get(f"{PATH}/{node.name}")
    return None if found is None else read_topology(json.dumps(found).encode()).status


def held(own: PodHolding) -> tuple[Any, ...]:
    named = sorted(own.containers, key=lambda each: each.name)
    return tuple((each.name, each.cpus, dict(each.devices)) for each in named)


def in_files(node: KubeletNode) -> dict[str, tuple[Any, ...]]:
    """UID -> (container, CPUs, devices), straight from the kubelet's files."""
    files = node.state_files()
    cpus = (files["cpu_manager_state"] or {}).get("entries") or {}
    found: dict[str, dict[str, tuple[str | None, dict[str, tuple[str, ...]]]]] = {}
    for uid, containers in cpus.items():
        found[uid] = {name: (cpuset_text(parse_cpuset(own)), {}) for name, own in containers.items()}
    for entry in (files["device_checkpoint"] or {"Data": {}})["Data"].get("PodDeviceEntries") or ():
        ids = tuple(sorted({each for some in entry["DeviceIDs"].values() for each in some}))
        own = found.setdefault(entry["PodUID"], {}).setdefault(entry["ContainerName"], (None, {}))
        own[1][entry["ResourceName"]] = ids
    return {uid: tuple((name, *own) for name, own in sorted(each.items())) for uid, each in found.items()}


def equals_files(node: KubeletNode) -> bool:
    status = published(node)
    if status is None:
        return False
    told = {own.uid: held(own) for own in status.holders if own.containers}
    told = {uid: tuple(each for each in own if each[1] or each[2]) for uid, own in told.items()}
    told = {uid: own for uid, own in told.items() if own}
    pool = (node.state_files()["cpu_manager_state"] or {}).get("defaultCpuSet")
    here = ((node.node() or {}).get("metadata") or {}).get("annotations", {}).get(ANNOTATION)
    return told == in_files(node) and status.shared_pool == pool and here == status.digest


def up_to_date(node: KubeletNode) -> None:
    until("what is published is what the state files say", 60, lambda: equals_files(node), 0.05)


def compared(agent: Agent, equal: int) -> None:
    until(f"{equal} decisions are equal", 60, lambda: agent.decisions().get("equal") == equal)
    assert agent.decisions()["differs"] == 0, agent.log.read_text()


def restart_api_server(cluster: ControlPlane) -> None:
    process = cluster.processes[API_SERVER]
    process.kill()
    process.wait()
    time.sleep(3)
    cluster.start_again(API_SERVER)

    def ready() -> bool:
        try:
            return cluster.api.ask("GET", "/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    until("the API server is ready", 60, ready)


def test_a_real_kubelet_is_published_and_decides_as_expected(
    cluster: ControlPlane, node: KubeletNode, agent: Agent
) -> None:
    """One story, since a start takes its time: pods come, go and are refused; each of three programs is killed."""
    up_to_date(node)
    status = published(node)
    assert (status.release, status.notes) == ("v1.36.4", ())
    assert status.kubelet["cpuManagerPolicy"] == "static"
    owners = (node.api.get(f"{PATH}/{node.name}") or {})["metadata"]["ownerReferences"]
    assert [(own["kind"], own["name"]) for own in owners] == [("Node", node.name)]

    # pods that hold something, one that holds nothing, and one that no NUMA node has place for
    for each in (pod("one", gpus=1), pod("shared", "1", guaranteed=False), pod("two", gpus=2)):
        node.add(each)
        phase(node, each["metadata"]["name"], "Running")
        up_to_date(node)
    node.add(pod("wide", gpus=1, cpu="3"))
    assert phase(node, "wide", "Failed")["status"]["reason"] == "TopologyAffinityError"
    compared(agent, 4)
    names = {own.name for own in published(node).holders if not own.gone}
    assert names == {"default/one", "default/shared", "default/two"}

    # several at once, and one that goes
    for name in ("a", "b", "c"):
        node.add(pod(name, "1"))
    for name in ("a", "b", "c"):
        phase(node, name, "Running")
    node.remove(["one"])
    until("it is gone", 60, lambda: node.gone(["one"]))
    up_to_date(node)
    compared(agent, 7)

    # the kubelet is started again
    node.stop()
    assert node.start()
    up_to_date(node)
    node.add(pod("later", gpus=1))
    phase(node, "later", "Running")
    up_to_date(node)

    # somebody deletes the object
    node.api.delete(f"{PATH}/{node.name}")
    until("it is made again", 60, lambda: published(node) is not None)

    # the agent is killed, and what happens meanwhile is there when it is back
    agent.kill()
    node.remove(["two"])
    until("it is gone", 60, lambda: node.gone(["two"]))
    agent.start()
    up_to_date(node)

    # the API server is killed
    restart_api_server(cluster)
    for name in ("after", "once-more", "at-last"):
        before = sum(agent.decisions().values())
        node.add(pod(name, gpus=1))
        phase(node, name, "Running")
        up_to_date(node)
        until("it is compared, or said not to be", 60, partial(agent.has_decided, before))
        if agent.decisions()["equal"]:
            break
        # On a busy machine the watches come back at different moments, and what fell in between cannot be compared.
        node.remove([name])
        until("it is gone", 60, partial(node.gone, [name]))
    compared(agent, 1)
    assert agent.asked("/healthz") == "ok\n"
    assert b"Traceback" not in agent.log.read_bytes()
    assert not list(agent.recordings.glob("*")) if agent.recordings.exists() else True

    # told to stop it ends
    assert agent.process is not None
    stop(agent.process, 10)
    assert agent.process.returncode == 0
    node.remove(["shared", "wide", "a", "b", "c", "later", "after"])


def events_of(node: KubeletNode, reason: str) -> list[str]:
    found = node.api.get("/api/v1/namespaces/default/events") or {"items": []}
    own = [each for each in found["items"] if each["involvedObject"]["name"] == node.name]
    return [each["message"] for each in own if each["reason"] == reason]


def as_account(cluster: ControlPlane, config: Path, node: KubeletNode, content: Json) -> str:
    """What the API server says against a change of the Node by the agent's account; empty where it does it."""
    token = json.loads(config.read_text())["users"][0]["user"]["token"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": MERGE}
    context = ssl.create_default_context(cafile=str(cluster.authority.certificate))
    url = f"{cluster.server}/api/v1/nodes/{node.name}"
    answer = httpx.patch(url, json=content, headers=headers, verify=context, trust_env=False)
    return "" if answer.is_success else str(answer.json()["message"])


def test_what_differs_is_counted_told_and_recorded(
    cluster: ControlPlane, node: KubeletNode, account: Path, short_folder: Path
) -> None:
    """An agent with another configuration than the kubelet's expects something else of it. It also publishes a
    NodeResourceTopology, and leaves it alone when somebody else has written it."""
    define_resource_topologies(cluster.api)
    more = role(NAME, agent_rules(resource_topology=True))
    answer = cluster.api.ask("PUT", f"{PLACES['ClusterRole']}/{NAME}", more)
    assert answer.is_success, answer.text
    wrong = node.folder / "wrong.json"
    wrong.write_text(json.dumps({**node.base, "topologyManagerPolicy": "best-effort"}))
    agent = Agent(node, account, "--kubelet-config", str(wrong), "--resource-topology")
    agent.start()
    try:
        up_to_date(node)
        assert published(node).kubelet["topologyManagerPolicy"] == "best-effort"
        node.add(pod("one", gpus=1))
        phase(node, "one", "Running")
        compared(agent, 1)
        node.add(pod("wide", cpu="7"))
        phase(node, "wide", "Running")
        compared(agent, 2)
        node.add(pod("none", gpus=2, cpu="3"))
        assert phase(node, "none", "Failed")["status"]["reason"] == "TopologyAffinityError"
        until("a difference is counted", 60, lambda: agent.decisions().get("differs") == 1)
        until("it is told", 60, lambda: events_of(node, "DecisionDiffers"))
        (recording,) = agent.recordings.glob("*.jsonl")
        command = [sys.executable, "-m", "numafit", "replay", str(recording)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "admission default/none/admitted" in done.stdout

        found = until("it is there", 60, lambda: cluster.api.get(f"{RESOURCE_TOPOLOGIES}/{node.name}"))
        zones = {zone["name"]: zone for zone in found["zones"]}
        assert sorted(zones) == ["node-0", "node-1"]
        assert [cost["value"] for cost in zones["node-0"]["costs"]] == [10, 21]
        cpus = {
            name: int(own["available"])
            for name, zone in zones.items()
            for own in zone["resources"]
            if own["name"] == "cpu"
        }
        pool = parse_cpuset(node.state_files()["cpu_manager_state"]["defaultCpuSet"])
        assert sum(cpus.values()) <= pool.bit_count()
    finally:
        agent.kill()

    # with its rights nothing but one annotation of a Node can be changed
    def refused() -> str:
        return as_account(cluster, account, node, {"metadata": {"labels": {"mine": "yes"}}})

    until("the policy counts", 60, lambda: "annotation only" in refused(), 0.5)
    owner = {"apiVersion": "v1", "kind": "Node", "name": "nobody", "uid": "0"}
    for content in (
        {"spec": {"unschedulable": True}},
        {"metadata": {"annotations": {"mine": "yes"}}},
        {"metadata": {"annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": None}}},
        {"metadata": {"finalizers": ["example.com/never"]}},
        {"metadata": {"ownerReferences": [owner]}},
    ):
        assert "annotation only" in as_account(cluster, account, node, content)
    mine = {"metadata": {"annotations": {ANNOTATION: "mine"}}}
    assert as_account(cluster, account, node, mine) == ""
    # and with the token of an agent of another node not even that
    assert "its own node only" in as_account(cluster, elsewhere(cluster, short_folder / "elsewhere.conf"), node, mine)

    # asked from the kubelet itself, with no right but that to nodes/configz
    asking = Agent(node, account, "--kubelet-config", "configz", "--resource-topology")
    asking.recordings = node.folder / "other"
    path = f"{RESOURCE_TOPOLOGIES}/{node.name}"
    other = {**(cluster.api.get(path) or {}), "zones": []}
    assert cluster.api.ask("PUT", f"{path}?fieldManager=rte", other).is_success
    asking.start()
    try:
        until(
            "the settings are right", 60, lambda: published(node).kubelet["topologyManagerPolicy"] == "single-numa-node"
        )
        up_to_date(node)
        assert published(node).notes == ()
        (told,) = until("it is told", 60, lambda: events_of(node, "ResourceTopologyNotPublished"))
        assert told == f"NodeResourceTopology {node.name} is published by rte"
        assert (cluster.api.get(path) or {})["zones"] == []
        node.add(pod("late", "1"))
        phase(node, "late", "Running")
        compared(asking, 1)
    finally:
        asking.kill()
        node.remove(["one", "wide", "none", "late"])
