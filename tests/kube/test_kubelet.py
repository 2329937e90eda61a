"""A real kubelet on a captured machine, joined to a real control plane."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.api import Json
from tests.kube.captured import ARCHIVE, CONFIG
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import KubeletNode
from tests.kube.processes import until

pytestmark = pytest.mark.real

GPU = "lab.io/gpu"


@pytest.fixture
def node(kubelets: None, cluster: ControlPlane, short_folder: Path) -> Iterator[KubeletNode]:
    """Each test has one of its own."""
    number = len(list(short_folder.glob("k*")))
    own = KubeletNode(cluster, short_folder / f"k{number}", f"captured{number}", ARCHIVE, CONFIG)
    own.plugins[GPU] = ("g0@0", "g1@1")
    assert own.start()
    yield own
    own.close()


def pod(name: str, **amounts: str) -> Json:
    limits = {resource.replace("gpu", GPU): amount for resource, amount in amounts.items()}
    container = {"name": "c", "image": "none:1", "imagePullPolicy": "Never", "resources": {"limits": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def phase(node: KubeletNode, name: str, wanted: str) -> Json:
    def found() -> Json | None:
        own = node.pods().get(name)
        return own if own and own["status"].get("phase") == wanted else None

    return until(f"{name} is {wanted}", 60, found)


def test_it_decides_and_survives_what_happens_to_it(node: KubeletNode) -> None:
    """One story, since a start takes its time: admission, refusal, restart, reboot, plugins, resize, capacity."""
    until("its devices are listed", 60, lambda: node.allocatable().get(GPU) == "2")
    assert node.allocatable()["cpu"] == "15"

    # admitted, with CPUs and a device of one NUMA node
    uid = node.add(pod("a", cpu="2", memory="64Mi", gpu="1"))["metadata"]["uid"]
    phase(node, "a", "Running")
    files = node.state_files()
    held = files["cpu_manager_state"]["entries"][uid]["c"]
    (own,) = [each for each in node.outside.containers() if each.pod == "a"]
    assert (own.cpus, own.state) == (held, "RUNNING")
    assert files["device_checkpoint"]["Data"]["PodDeviceEntries"][0]["PodUID"] == uid

    # refused
    node.add(pod("wide", cpu="9", memory="64Mi"))
    status = phase(node, "wide", "Failed")["status"]
    assert status["reason"] == "TopologyAffinityError"

    # a restart changes nothing, a reboot starts the container again on what it held
    node.stop()
    assert node.start()
    assert node.outside.containers() == [own]
    node.stop()
    node.reboot()
    assert node.start()
    until("it runs again", 60, lambda: [each for each in node.outside.containers() if each.state == "RUNNING"])
    assert node.state_files()["cpu_manager_state"]["entries"][uid]["c"] == held

    # a container that ends is started again
    node.outside.exit("a", "c")
    until("it is started again", 60, lambda: [each for each in node.outside.containers() if each.state == "RUNNING"])

    # a device fails, a plugin ends
    node.list_devices(GPU, ["g0@0", "!g1@1"])
    until("one device is left", 60, lambda: node.allocatable().get(GPU) == "1")
    node.stop_plugin(GPU)
    until("no device is left", 60, lambda: node.allocatable().get(GPU) == "0")

    # resize, and a resource of nobody's
    assert node.resize("a", "c", {"limits": {"cpu": "3"}, "requests": {"cpu": "3"}}).status_code == 200
    until(
        "it is infeasible",
        60,
        lambda: [
            each
            for each in node.pods()["a"]["status"]["conditions"]
            if (each["type"], each.get("reason")) == ("PodResizePending", "Infeasible")
        ],
    )
    node.list_capacity("nobody.io/thing", 3)
    until("it is listed", 60, lambda: node.allocatable().get("nobody.io/thing") == "3")

    # another configuration: one that does not start over this state
    node.stop()
    assert not node.start({"cpuManagerPolicy": "none"})
    assert b"configured policy" in node.read_log()[-20000:]
    assert node.start({"topologyManagerPolicy": "none"})

    node.remove(["a", "wide"])
    until("they are gone", 60, lambda: node.gone(["a", "wide"]))


def test_one_that_starts_again_decides_with_the_shares_of_those_who_have_gone(node: KubeletNode) -> None:
    """Its files still have them: where one that runs admits the next pod, this one rejects it. Eight CPUs are those of
    a whole NUMA node."""
    for name, restarts in (("kept", False), ("again", True)):
        first = pod(f"{name}-first", cpu="8", memory="64Mi")
        first["spec"]["restartPolicy"] = "Never"
        node.add(first)
        phase(node, f"{name}-first", "Running")
        node.outside.exit(f"{name}-first", "c", 0)
        phase(node, f"{name}-first", "Succeeded")
        if restarts:
            node.stop()
        node.add(pod(f"{name}-next", cpu="8", memory="64Mi"))
        if restarts:
            assert node.start()
            assert phase(node, f"{name}-next", "Failed")["status"]["reason"] == "TopologyAffinityError"
        else:
            phase(node, f"{name}-next", "Running")
            node.remove([f"{name}-next"])
            until("it is gone", 60, lambda: node.gone(["kept-next"]))
