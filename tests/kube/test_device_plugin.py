"""Our device plugin and a real kubelet: pods get their devices, through sick ones, kills and restarts."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numafit.cluster.wire import device_plugin_pb2 as wire
from tests.kube import captured
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import KubeletNode
from tests.kube.mounts import entered
from tests.kube.processes import start, until

pytestmark = pytest.mark.real

ARCHIVE, CONFIG = captured.ARCHIVE, captured.CONFIG
FPGA = "example.com/fpga"
LINKED = [{"a": "f0", "b": "f2", "kind": "PIX"}, {"a": "f0", "b": "f1", "kind": "NODE"}]


class OwnPlugin:
    """The command itself, on the node that the kubelet is on; its devices stand in a file."""

    def __init__(self, node: KubeletNode) -> None:
        self.node = node
        self.file = node.folder / "devices.json"
        self.log = node.folder / "plugin.log"
        self.process: subprocess.Popen[bytes] | None = None

    def list(self, *sick: str) -> None:
        """f0, f1 and f2 on NUMA node 0, where f0 and f2 belong together; f3 on node 1."""
        devices: list[Json] = [
            {
                "id": f"f{index}",
                "numa": [index // 3],
                "envs": {"FPGAS": f"f{index}"},
                "healthy": f"f{index}" not in sick,
            }
            for index in range(4)
        ]
        content = {
            "format": "numafit/devices/v1",
            "resources": [{"name": FPGA, "devices": devices, "links": LINKED}],
        }
        self.file.write_text(json.dumps(content))

    def start(self) -> None:
        command = [sys.executable, "-m", "numafit", "device-plugin", str(self.file), "--interval", "0.2"]
        self.process = start(entered(self.node.outside.process.pid, self.node.folder / "plugin", command), self.log)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def node(kubelets: None, cluster: ControlPlane, short_folder: Path) -> Iterator[KubeletNode]:
    own = KubeletNode(cluster, short_folder / "own", "own-plugin", ARCHIVE, CONFIG)
    assert own.start()
    yield own
    own.close()


@pytest.fixture
def plugin(node: KubeletNode) -> Iterator[OwnPlugin]:
    own = OwnPlugin(node)
    own.list()
    own.start()
    yield own
    own.kill()


def pod(name: str, fpgas: int) -> Json:
    limits = {"cpu": "2", "memory": "64Mi", FPGA: str(fpgas)}
    container = {"name": "c", "image": "none:1", "imagePullPolicy": "Never", "resources": {"limits": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def phase(node: KubeletNode, name: str, wanted: str) -> Json:
    def found() -> Json | None:
        own = node.pods().get(name)
        return own if own and own["status"].get("phase") == wanted else None

    return until(f"{name} is {wanted}", 60, found)


def held(node: KubeletNode, uid: str) -> tuple[Any, dict[str, str]]:
    """Devices by NUMA node, and the environment that the plugin gave with them."""
    entries = node.state_files()["device_checkpoint"]["Data"]["PodDeviceEntries"]
    (entry,) = [each for each in entries if each["PodUID"] == uid]
    answer = wire.ContainerAllocateResponse.FromString(base64.b64decode(entry["AllocResp"]))
    return {node: sorted(ids) for node, ids in entry["DeviceIDs"].items()}, dict(answer.envs)


def listed(node: KubeletNode, count: int) -> None:
    until(f"{count} devices are listed", 60, lambda: node.allocatable().get(FPGA) == str(count))


def test_pods_of_a_real_kubelet_get_their_devices(node: KubeletNode, plugin: OwnPlugin) -> None:
    """One story, since a start takes its time: a set by links, a sick device, restarts of either side."""
    listed(node, 4)

    # two that belong together, where the kubelet alone would take any two of the NUMA node
    uid = node.add(pod("pair", 2))["metadata"]["uid"]
    phase(node, "pair", "Running")
    assert held(node, uid) == ({"0": ["f0", "f2"]}, {"FPGAS": "f0,f2"})
    cpus = node.state_files()["cpu_manager_state"]["entries"][uid]["c"]

    # a device falls ill: the last two are not of one NUMA node, and then there is only one
    node.add(pod("wide", 2))
    assert phase(node, "wide", "Failed")["status"]["reason"] == "TopologyAffinityError"
    plugin.list("f3")
    listed(node, 3)

    # the next kubelet finds the plugin again, and what was held is held
    node.stop()
    assert node.start()
    listed(node, 3)
    assert held(node, uid) == ({"0": ["f0", "f2"]}, {"FPGAS": "f0,f2"})
    assert node.state_files()["cpu_manager_state"]["entries"][uid]["c"] == cpus
    plugin.list()
    listed(node, 4)

    # killed and started again it is known again, to the same kubelet
    plugin.kill()
    listed(node, 0)
    plugin.start()
    listed(node, 4)
    each = [node.add(pod(name, 1))["metadata"]["uid"] for name in ("one", "two")]
    for name in ("one", "two"):
        phase(node, name, "Running")
    assert sorted(envs["FPGAS"] for _, envs in (held(node, one) for one in each)) == ["f1", "f3"]

    # told to stop it leaves nothing behind
    assert plugin.process is not None
    plugin.process.terminate()
    assert plugin.process.wait(10) == 0
    listed(node, 0)
    assert b"Traceback" not in plugin.log.read_bytes()
    node.remove(["pair", "wide", "one", "two"])
    until("they are gone", 60, lambda: node.gone(["pair", "wide", "one", "two"]))
