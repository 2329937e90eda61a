"""The NodeTopology of simulated nodes: what it says, when it is written, and that it decides as the kubelet does."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.node.publish import ANNOTATION
from numafit.cluster.sim import topologies
from numafit.cluster.sim.fleet import SimulatedFleet
from numafit.cluster.sim.group import SimulatedNode
from numafit.cluster.sim.kubelet import SimulatedKubelet
from numafit.cluster.sim.node_object import SIMULATED
from numafit.cluster.sim.topologies import MANAGER, TopologyWriter
from numafit.cluster.topology.model import API_VERSION, KIND, PATH, NodeTopology
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.restore import stage_of
from numafit.cluster.topology.write import MachinePart, machine_part
from numafit.decision.decide import decide
from numafit.decision.history.event import ListDevices, Reconcile, StopPlugin
from numafit.decision.node import Node
from numafit.errors import ApiServerError, InputError
from numafit.ledger.ledger import DeviceLedger
from numafit.workload.pod import Pod
from tests.cluster.sim.fake_api import FakeApi
from tests.cluster.sim.nodes import GPU, bound, pod, uid
from tests.cluster.sim.test_fleet import NODES, played, served, settled
from tests.cluster.sim.test_group import group, nodes
from tests.cluster.topology.test_restore import told

UID = "uid-of-the-node"


def node_object(name: str, node_uid: str = UID, **annotations: str) -> dict[str, Any]:
    meta = {"name": name, "uid": node_uid, "resourceVersion": "3", "labels": {SIMULATED: "true"}}
    return {"metadata": {**meta, "annotations": annotations}, "spec": {}}


class TopologyApi(FakeApi):
    """It knows the nodes, keeps what was applied, and tells of it."""

    def __init__(self) -> None:
        super().__init__()
        self.lists[NODES] = [node_object(f"gpu-{number}") for number in range(3)]
        self.applied: list[NodeTopology] = []
        self.managers: set[str] = set()
        self.owners: list[Any] = []
        self.undefined = False

    async def _asked(
        self, method: str, path: str, parameters: Mapping[str, str], content: bytes = b"", kind: str = ""
    ) -> bytes:
        if path == PATH and self.undefined:
            raise ApiServerError("there is nothing of that kind", status=404)
        answer = await super()._asked(method, path, parameters, content, kind)
        if path.startswith(f"{PATH}/"):
            item = json.loads(content)
            self.applied.append(read_topology(content))
            self.managers.add(parameters["fieldManager"])
            self.owners.append(item["metadata"]["ownerReferences"])
            self.tell_topology("MODIFIED", item)
        return answer

    def tell_topology(self, kind: str, item: Any) -> None:
        item = {**item, "metadata": {**item["metadata"], "uid": "t", "resourceVersion": str(len(self.asked))}}
        self.topologies_told.put_nowait(json.dumps({"type": kind, "object": item}).encode())

    def of(self, name: str) -> list[NodeTopology]:
        return [own for own in self.applied if own.name == name]

    def annotated(self, name: str) -> list[str]:
        patches = [own.content["metadata"] for own in self.asked if own.path == f"{NODES}/{name}"]
        return [own["annotations"][ANNOTATION] for own in patches if "annotations" in own]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topologies, "PACE_SECONDS", 0.05)
    monkeypatch.setattr(topologies, "DEFINED_SECONDS", 0.0)


async def rested(fleet: SimulatedFleet, api: FakeApi) -> None:
    await settled(fleet, api)
    await asyncio.sleep(0.1)
    await settled(fleet, api)


def test_each_node_is_published_with_its_node_as_owner_and_the_node_is_told() -> None:
    api = TopologyApi()

    async def act(fleet: SimulatedFleet) -> None:
        await rested(fleet, api)

    assert played(api, act, topology=True) == []
    assert sorted(own.name for own in api.applied) == ["gpu-0", "gpu-1", "gpu-2"]
    assert api.owners[0] == [{"apiVersion": "v1", "kind": "Node", "name": api.applied[0].name, "uid": UID}]
    assert api.managers == {MANAGER}
    (digest,) = {own.status.digest for own in api.applied}
    assert [api.annotated(f"gpu-{number}") for number in range(3)] == [[digest]] * 3


def test_a_node_that_is_not_to_be_published_is_not() -> None:
    api = TopologyApi()
    api.undefined = True

    async def act(fleet: SimulatedFleet) -> None:
        await rested(fleet, api)

    assert played(api, act) == []
    assert api.applied == []


def test_the_object_follows_pods_that_come_and_go() -> None:
    api = TopologyApi()

    async def act(fleet: SimulatedFleet) -> None:
        api.tell("ADDED", served("a", "2"))
        await rested(fleet, api)
        api.tell("ADDED", served("b", "3"))
        api.tell("ADDED", served("wide", "9"))
        await rested(fleet, api)
        api.tell("DELETED", served("a", "2"))
        await rested(fleet, api)

    played(api, act, topology=True)
    found = [[(own.name, own.gone) for own in each.status.holders] for each in api.of("gpu-0")]
    assert found[:3] == [[], [("default/a", False)], [("default/a", False), ("default/b", False)]]
    assert found[-1] == [("default/b", False), ("", True)]
    assert len(api.of("gpu-1")) == 1
    assert api.annotated("gpu-0") == [own.status.digest for own in api.of("gpu-0")]


def test_only_the_newest_state_is_written_where_much_happens() -> None:
    api = TopologyApi()

    async def act(fleet: SimulatedFleet) -> None:
        for number in range(6):
            api.tell("ADDED", served(f"p{number}", "1"))
        await rested(fleet, api)

    played(api, act, topology=True)
    assert len(api.of("gpu-0")) <= 4
    assert len(api.of("gpu-0")[-1].status.holders) == 6


@pytest.mark.parametrize("change", ["deleted", "written", "annotation"])
def test_what_somebody_deletes_or_changes_is_written_again(change: str) -> None:
    api = TopologyApi()

    async def act(fleet: SimulatedFleet) -> None:
        await rested(fleet, api)
        item = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "gpu-1"}, "status": {"digest": "other"}}
        if change == "annotation":
            event = {"type": "MODIFIED", "object": node_object("gpu-1")}
            event["object"]["metadata"]["resourceVersion"] = "77"  # type: ignore[index]
            api.nodes_told.put_nowait(json.dumps(event).encode())
        else:
            api.tell_topology("DELETED" if change == "deleted" else "MODIFIED", item)
        await rested(fleet, api)

    played(api, act, topology=True)
    assert [len(api.of(f"gpu-{number}")) for number in range(3)] == [1, 1 + (change != "annotation"), 1]
    assert [len(api.annotated(f"gpu-{number}")) for number in range(3)] == [1, 1 + (change == "annotation"), 1]


def test_nothing_is_written_for_a_node_that_is_gone_until_it_is_back() -> None:
    api = TopologyApi()

    def tell(kind: str, node_uid: str, version: str) -> None:
        item = node_object("gpu-1", node_uid)
        item["metadata"]["resourceVersion"] = version
        api.nodes_told.put_nowait(json.dumps({"type": kind, "object": item}).encode())

    async def act(fleet: SimulatedFleet) -> None:
        await rested(fleet, api)
        tell("DELETED", UID, "8")
        await asyncio.sleep(0.05)
        api.tell_topology("DELETED", {"metadata": {"name": "gpu-1"}})
        await rested(fleet, api)
        assert len(api.of("gpu-1")) == 1
        tell("ADDED", "another", "9")
        await rested(fleet, api)

    played(api, act, topology=True)
    assert len(api.of("gpu-1")) == 2
    assert api.owners[-1][0]["uid"] == "another"


def test_a_server_that_fails_is_told_of_once_and_tried_again() -> None:
    api = TopologyApi()

    async def act(fleet: SimulatedFleet) -> None:
        await rested(fleet, api)
        api.failures.append((f"{PATH}/gpu-0", 500))
        api.tell("ADDED", served("a", "2"))
        while len(api.of("gpu-0")) < 2:
            await asyncio.sleep(0.02)
        await rested(fleet, api)

    assert played(api, act, topology=True) == [
        "the state of gpu-0 cannot be published: no",
        "the states of nodes are published again",
    ]


def test_without_the_definition_it_does_not_begin_and_says_what_to_do() -> None:
    api = TopologyApi()
    api.undefined = True

    async def act(fleet: SimulatedFleet) -> None:
        pass

    with pytest.raises(InputError, match="does not know the kind NodeTopology") as refused:
        played(api, act, topology=True)
    assert refused.value.cure == "numafit kubelet-sim --definition | kubectl apply -f -"
    assert api.paths("POST") == []


def published(node: SimulatedNode) -> NodeTopology:
    text = TopologyWriter(FakeApi(), (node,), ApiHealth(), lambda _: None).text(node)
    content = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "n"}, "status": text.status}
    return read_topology(msgspec.json.encode(content))


def check_same(node: SimulatedNode, asked: Pod) -> None:
    """A decision on the object is the one of the simulated kubelet."""
    situation = node.kubelet.situation
    stage = stage_of(published(node), situation.ledger.active, situation.node.facts)
    own = decide(situation.node, situation.ledger, asked, situation.offered, others=situation.load)
    theirs = stage.decide(stage.ledger, asked)
    assert told(own) == told(theirs)
    assert own.ledger.cpu.entries == theirs.ledger.cpu.entries
    assert own.ledger.memory.nodes == theirs.ledger.memory.nodes
    assert own.ledger.device.allocated == theirs.ledger.device.allocated


def listed(kubelet: SimulatedKubelet, sick: int) -> ListDevices:
    devices = [own for own in kubelet.situation.node.machine.devices if own.resource == GPU]
    return ListDevices(GPU, tuple(replace(own, healthy=number != sick) for number, own in enumerate(devices)))


CONFIGS = st.sampled_from(
    [
        {"topologyManagerPolicy": "single-numa-node", "kubeReserved": {"cpu": "1"}},
        {"topologyManagerPolicy": "restricted", "topologyManagerScope": "pod", "reservedSystemCPUs": "0,8"},
        {
            "topologyManagerPolicy": "best-effort",
            "reservedSystemCPUs": "0",
            "systemReserved": {"memory": "1Gi"},
            "evictionHard": {"memory.available": "1Gi"},
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "2Gi"}}],
        },
    ]
)
ASKED = st.tuples(st.sampled_from(["500m", "1", "2", "3", "5"]), st.sampled_from(["0", "0", "1", "2"]))
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "add", "add", "remove", "reconcile", "sick", "stop"]), ASKED, st.integers(0, 9)),
    max_size=12,
)


def asked_pod(name: str, asked: tuple[str, str]) -> Pod:
    cpu, gpus = asked
    return pod(name, cpu=cpu, memory="1Gi") if gpus == "0" else pod(name, cpu=cpu, memory="1Gi", gpu=gpus)


@settings(max_examples=120, deadline=None)
@given(CONFIGS, STEPS, ASKED)
def test_a_decision_on_the_object_is_that_of_the_simulated_kubelet(
    config: dict[str, Any], steps: list[tuple[str, tuple[str, str], int]], asked: tuple[str, str]
) -> None:
    """After pods that came and went, were refused, and devices that fell ill or whose plugin ended."""
    node = nodes(group({"cpuManagerPolicy": "static", **config}, topology=True))[0]
    kubelet = node.kubelet
    for number, (what, amounts, which) in enumerate(steps):
        if what == "add":
            kubelet.add([bound(asked_pod(f"p{number}", amounts))], 100.0 + number)
        elif what == "remove":
            kubelet.forget(uid(f"p{which}"), 100.0 + number)
        elif what == "reconcile":
            kubelet.happen(Reconcile(), 100.0 + number)
        elif what == "sick":
            kubelet.happen(listed(kubelet, which % 3), 100.0 + number)
        elif kubelet.situation.ledger.device.connected:
            kubelet.happen(StopPlugin(GPU), 100.0 + number)
    check_same(node, asked_pod("next", asked))


def test_the_machine_is_described_once_for_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(node: Node, ledger: DeviceLedger) -> MachinePart:
        made.append(1)
        return machine_part(node, ledger)

    monkeypatch.setattr(topologies, "machine_part", counted)
    api = TopologyApi()

    async def act(fleet: SimulatedFleet) -> None:
        for number in range(3):
            api.tell("ADDED", served(f"a{number}", "2", node=f"gpu-{number}"))
        await rested(fleet, api)

    played(api, act, topology=True)
    assert len(api.applied) == 6
    assert len(made) == 1
