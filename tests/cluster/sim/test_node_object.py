"""The Node of a simulated kubelet."""

from numafit.cluster.sim.node_object import SIMULATED, NodeMark, capacity, new_node, node_status
from numafit.decision.history.event import ForgetPlugin, ListDevices, StopPlugin
from numafit.machine.model import Device
from numafit.quantity import parse_quantity
from numafit.settings.facts import Taint
from tests.cluster.sim.nodes import GPU, kubelet

MARK = NodeMark({"pool": "a"}, (Taint("k", "", "NoSchedule"),), parse_quantity("10Gi"))


def test_a_node_has_capacity_and_allocatable_as_its_kubelet_computes_them() -> None:
    node = new_node(kubelet(), MARK, 100.0)
    assert node["metadata"]["labels"][SIMULATED] == "true"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "n1"
    assert node["metadata"]["labels"]["pool"] == "a"
    assert node["spec"] == {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    status = node["status"]
    assert status["capacity"] == {
        "cpu": "16",
        "memory": "32Gi",
        "ephemeral-storage": "10Gi",
        "pods": "110",
        GPU: "2",
    }
    assert (status["allocatable"]["cpu"], status["allocatable"][GPU]) == ("15", "2")
    assert status["nodeInfo"]["kubeletVersion"] == "v1.36.4"
    assert [own["status"] for own in status["conditions"]] == ["False", "False", "False", "True"]
    assert "RestartAllContainersOnContainerExits" in status["declaredFeatures"]


def test_an_older_kubelet_declares_nothing_and_a_release_without_a_patch_gets_one() -> None:
    status = node_status(kubelet(release="1.30"), MARK, 100.0)
    assert "declaredFeatures" not in status
    assert status["nodeInfo"]["kubeletVersion"] == "v1.30.0"


def test_devices_follow_their_plugin() -> None:
    """A sick device is capacity, and not allocatable; of a plugin that ended neither is left."""
    node = kubelet()
    node.happen(ListDevices(GPU, (Device(GPU, "GPU0", (0,)), Device(GPU, "GPU1", (1,), healthy=False))), 100.0)
    assert (str(capacity(node.situation, MARK)[GPU]), str(node.situation.node_allocatable[GPU])) == ("2", "1")
    node.happen(StopPlugin(GPU), 101.0)
    assert (str(capacity(node.situation, MARK)[GPU]), str(node.situation.node_allocatable[GPU])) == ("0", "0")
    node.happen(ForgetPlugin(GPU), 102.0)
    assert node_status(node, MARK, 103.0)["allocatable"][GPU] == "0"
