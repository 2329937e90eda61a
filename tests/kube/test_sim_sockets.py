"""A simulated kubelet and a real one with the same machine, configuration, plugins and pods answer alike."""

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from numafit.ledger.files.allocate_response import decode_response
from tests.kube.api import Json
from tests.kube.build import OLDER, RELEASE, missing_for_kubelets
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import KubeletNode
from tests.kube.live import SHARED
from tests.kube.processes import until
from tests.kube.simulated import SimulatedNode

pytestmark = pytest.mark.real

ARCHIVE = SHARED / "captures" / "numa2smt" / "sys.tgz"
CONFIG = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "single-numa-node",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "256Mi"}}],
}
GPU, NIC, KEY, LOCK = "lab.io/gpu", "lab.io/nic", "lab.io/key", "lab.io/lock"
PLUGINS = {GPU: ("g0@0", "g1@1"), NIC: ("n0@0+1",), KEY: ("k0", "k1"), LOCK: ("l0@1",)}
"""One by one, one on both nodes, and some without a place. Of none there is a choice: a kubelet makes it by chance."""
SLOWLY = 0.1
"""Seconds between requests: both refuse the eleventh of many at once."""


class Pair(NamedTuple):
    real: KubeletNode
    simulated: SimulatedNode

    def each_plugin(self, resource: str, *devices: str) -> None:
        self.real.list_devices(resource, devices)
        self.simulated.outside.list_devices(resource, devices)

    def add(self, name: str, *containers: Json, **spec: Any) -> str:
        """It is decided alike; its UID."""
        content = {"containers": list(containers), **spec}
        made = self.real.add({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": content})

        def decided() -> Json | None:
            status = self.real.pods()[name]["status"]
            return status if status.get("phase") in ("Running", "Failed") else None

        status = until(f"{name} is decided", 30, decided)
        mine = self.simulated.order(add=made)
        told = {key: status.get(key) or "" for key in ("phase", "reason", "message")}
        assert mine == told
        return str(made["metadata"]["uid"])

    def remove(self, name: str, uid: str) -> None:
        self.real.remove([name])
        until(f"{name} is gone", 30, lambda: self.real.gone([name]))
        self.simulated.order(remove=uid)

    def compare(self, *names: str) -> Json:
        """What both answer: to a client made of Kubernetes' own modules, and to ours."""

        def alike() -> Json | None:
            real, mine = (_sorted(own.pod_resources()) for own in (self.real.outside, self.simulated.outside))
            return real if real == mine else None

        try:
            found: Json = until("both list the same", 10, alike, SLOWLY)
        except TimeoutError:
            assert _sorted(self.simulated.outside.pod_resources()) == _sorted(self.real.outside.pod_resources())
            raise
        sockets = (self.real._lib / "pod-resources" / "kubelet.sock", self.simulated.socket)
        for call, name in (("list", ""), ("allocatable", ""), *(("get", name) for name in (*names, "nobody"))):
            time.sleep(SLOWLY)
            real, mine = (_sorted(self.simulated.order(ask=call, at=str(at), name=name)) for at in sockets)
            assert mine == real, (call, name)
        real = self.real.state_files()["device_checkpoint"]
        mine = self.simulated.order(files=True)["kubelet_internal_checkpoint"]
        assert _checkpoint(mine) == _checkpoint(real)
        return found


def _sorted(value: Any) -> Any:
    """A kubelet takes what it tells out of maps. `Any`: JSON."""
    if isinstance(value, dict):
        return {key: _sorted(own) for key, own in value.items()}
    if isinstance(value, list):
        return sorted((_sorted(own) for own in value), key=json.dumps)
    return value


def _checkpoint(content: Json) -> Json:
    """Without its checksum, which goes by the order; answers of plugins name devices in the order they were asked."""
    data = content["Data"]
    entries = []
    for entry in data["PodDeviceEntries"] or ():
        answer = decode_response(base64.b64decode(entry["AllocResp"]))
        envs = {name: sorted(value.split(",")) for name, value in answer.envs.items()}
        entries.append({**entry, "AllocResp": {"envs": envs, "rest": repr(answer.mounts + answer.devices)}})
    return {"entries": _sorted(entries), "registered": _sorted(data["RegisteredDevices"])}


@pytest.fixture(params=(RELEASE, OLDER))
def pair(kubelets: None, cluster: ControlPlane, short_folder: Path, request: pytest.FixtureRequest) -> Iterator[Pair]:
    release = request.param
    if lacking := missing_for_kubelets(release):
        pytest.skip(lacking)
    if not ARCHIVE.exists():
        pytest.skip("the captured machines are not there")
    name = f"alike{release.replace('.', '-')}"
    real = KubeletNode(cluster, short_folder / f"r{release}", name, ARCHIVE, CONFIG, release)
    simulated = SimulatedNode(
        short_folder / f"s{release}",
        real.folder / "machine",
        ARCHIVE,
        real.base,
        release,
        cluster.binaries,
    )
    try:
        real.plugins.update(PLUGINS)
        assert real.start()
        for resource, devices in PLUGINS.items():
            simulated.outside.start_plugin(resource, devices)
        yield Pair(real, simulated)
    finally:
        simulated.close()
        real.close()


def container(name: str, cpu: str = "2", memory: str = "64Mi", **more: Any) -> Json:
    """Of `limits` those with a slash are devices; all else stands beside its resources."""
    limits = {"cpu": cpu, "memory": memory, **more.pop("devices", {})}
    return {"name": name, "image": "none:1", "imagePullPolicy": "Never", "resources": {"limits": limits}, **more}


def test_their_sockets_answer_alike(pair: Pair) -> None:
    """One story, since a start takes its time."""
    pair.compare()
    pair.add("one", container("c", devices={GPU: "1", NIC: "1"}))
    found = pair.compare("one")
    assert found["pods"]
    pair.add(
        "many",
        container("c", devices={GPU: "1"}),
        container("plain", cpu="300m"),
        initContainers=[
            container("first", command=["exit-0"], devices={LOCK: "1"}),
            container("side", cpu="1", restartPolicy="Always"),
        ],
    )
    pair.compare("one", "many")
    pair.add("keys", container("c", cpu="500m", devices={KEY: "2"}))
    pair.add("wide", container("c", cpu="9"))
    pair.add("late", container("c", cpu="1", devices={KEY: "1"}))
    pair.add("small", {**container("c"), "resources": {"requests": {"cpu": "100m"}}})
    uid = pair.add("huge", container("c", cpu="1", memory="512Mi"))
    pair.compare("one", "many", "keys", "wide", "small", "huge")

    pair.remove("huge", uid)
    pair.compare("one", "huge", "keys")
    pair.each_plugin(GPU, "!g0@0", "g1@1", "g2@1")
    pair.compare("one", "many")
    for own in (pair.real.outside, pair.simulated.outside):
        own.stop_plugin(KEY)
    pair.compare("keys")
