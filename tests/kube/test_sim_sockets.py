"""A simulated kubelet and a real one with the same machine, configuration, plugins and pods answer alike."""

import base64
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from numafit.ledger.files.allocate_response import decode_response
from tests.kube.api import Json
from tests.kube.build import OLDER, RELEASE, missing_for_kubelets
from tests.kube.captured import ARCHIVE, CONFIG
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import POD, KubeletNode
from tests.kube.pod_resources import asked
from tests.kube.processes import start, until
from tests.kube.simulated import SimulatedNode
from tests.kube.simulation import simulated

pytestmark = pytest.mark.real

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

        status = until(f"{name} is decided", 60, decided)
        mine = self.simulated.order(add=made)
        told = {key: status.get(key) or "" for key in ("phase", "reason", "message")}
        assert mine == told
        return str(made["metadata"]["uid"])

    def remove(self, name: str, uid: str) -> None:
        self.real.remove([name])
        until(f"{name} is gone", 60, lambda: self.real.gone([name]))
        self.simulated.order(remove=uid)

    def compare(self, *names: str) -> Json:
        """What both answer: to a client made of Kubernetes' own modules, and to ours."""

        def alike() -> Json | None:
            real, mine = (_sorted(own.pod_resources()) for own in (self.real.outside, self.simulated.outside))
            return real if real == mine else None

        try:
            found: Json = until("both list the same", 60, alike, SLOWLY)
        except TimeoutError:
            assert _sorted(self.simulated.outside.pod_resources()) == _sorted(self.real.outside.pod_resources())
            raise
        sockets = (self.real.lib / "pod-resources" / "kubelet.sock", self.simulated.socket)
        for call, name in (("list", ""), ("allocatable", ""), *(("get", name) for name in (*names, "nobody"))):
            for _ in range(50):
                time.sleep(SLOWLY)
                real, mine = (_sorted(self.simulated.order(ask=call, at=str(at), name=name)) for at in sockets)
                if real == mine:
                    # The CPU manager of the real one looks each second for what nobody holds any more.
                    break
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
    number = len(list(short_folder.iterdir()))
    real = KubeletNode(cluster, short_folder / f"r{number}", f"alike{number}", ARCHIVE, CONFIG, release)
    simulated = SimulatedNode(
        short_folder / f"s{number}",
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


SEED, EVENTS = 1, 10
"""NUMAFIT_SEED is another seed."""


def test_random_pods_are_shown_alike(pair: Pair) -> None:
    """They come and go; of devices there is never a choice, since that is left to chance in a kubelet."""
    random = Random(int(os.environ.get("NUMAFIT_SEED", SEED)))
    there: dict[str, str] = {}
    for number in range(EVENTS):
        if len(there) > 2 and random.random() < 0.35:
            name = random.choice(sorted(there))
            pair.remove(name, there.pop(name))
        else:
            name = f"p{number}"
            there[name] = pair.add(name, *(_random_container(random, f"c{i}") for i in range(random.choice((1, 1, 2)))))
        if random.random() < 0.2:
            pair.each_plugin(GPU, *random.choice((("g0@0", "!g1@1"), ("g0@0", "g1@1"), ("g1@1",))))
        pair.compare(*there)


def _random_container(random: Random, name: str) -> Json:
    counts = {GPU: random.choice((0, 0, 1, 2)), NIC: random.choice((0, 0, 0, 1)), KEY: random.choice((0, 0, 0, 2))}
    wanted = {resource: str(count) for resource, count in counts.items() if count}
    own = container(
        name, random.choice(("1", "2", "3", "500m")), random.choice(("64Mi", "200Mi", "900Mi")), devices=wanted
    )
    if random.random() < 0.2 and not wanted:
        own["resources"] = {"requests": {"cpu": "100m"}}
    return own


FPGA = "example.com/fpga"


def fpga_pod(name: str, node: str, count: int) -> Json:
    wanted = {FPGA: str(count)} if count else {}
    spec = {**POD, "containers": [container("c", devices=wanted)], "nodeName": node}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def devices(*sick: str) -> str:
    """f0 and f2 belong together; f3 is on the other NUMA node."""
    own = [
        {"id": f"f{i}", "numa": [i // 3], "envs": {"FPGAS": f"f{i}"}, "healthy": f"f{i}" not in sick} for i in range(4)
    ]
    links = [{"a": "f0", "b": "f2", "kind": "PIX"}, {"a": "f0", "b": "f1", "kind": "NODE"}]
    return json.dumps({"format": "numafit/devices/v1", "resources": [{"name": FPGA, "devices": own, "links": links}]})


def held_by(found: Json) -> dict[str, list[str]]:
    """Pod -> devices."""
    return {
        own["name"]: sorted(each for entry in own["containers"][0].get("devices", ()) for each in entry["deviceIds"])
        for own in found.get("podResources", ())
    }


def test_our_plugin_and_our_kubelet_find_each_other_again(cluster: ControlPlane, short_folder: Path) -> None:
    """`numafit device-plugin` on a node of `numafit kubelet-sim`: sets by links, a sick device, kills of either."""
    config = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "single-numa-node", "kubeReserved": {"cpu": "1"}}
    machine = "sketch:2 sockets x 4 cores x 2 threads, 16Gi per numa"
    groups = [{"name": "socketed", "machine": machine, "kubelet": config, "sockets": True}]
    folder = short_folder / "own"
    node = folder / "state" / "socketed"
    listed = folder / "devices.json"
    log = folder / "plugin.log"
    with simulated(cluster.kubeconfig, folder, groups) as sim:
        listed.write_text(devices())
        command = [sys.executable, "-m", "numafit", "device-plugin", str(listed), "--interval=0.2"]
        plugin = start([*command, f"--kubelet-dir={node}"], log)
        api = cluster.api

        def offers(count: int) -> None:
            def has() -> bool:
                own = api.get("/api/v1/nodes/socketed") or {}
                return bool(own.get("status", {}).get("allocatable", {}).get(FPGA) == str(count))

            until(f"{count} devices are offered", 60, has)

        def phase(name: str, wanted: str) -> Json:
            def found() -> Json | None:
                own = api.pods().get(name)
                return own if own and own["status"].get("phase") == wanted else None

            return until(f"{name} is {wanted}", 60, found)

        offers(4)
        api.post("/api/v1/namespaces/default/pods", fpga_pod("pair", "socketed", 2))
        phase("pair", "Running")
        resources = node / "pod-resources" / "kubelet.sock"
        assert held_by(asked("list", resources)) == {"pair": ["f0", "f2"]}
        api.post("/api/v1/namespaces/default/pods", fpga_pod("wide", "socketed", 2))
        assert phase("wide", "Failed")["status"]["reason"] == "TopologyAffinityError"
        listed.write_text(devices("f3"))
        offers(3)

        # killed and started again over its state it takes its place, and the plugin finds it
        sim.kill()
        sim.start()
        offers(3)
        assert held_by(asked("list", resources)) == {"pair": ["f0", "f2"]}
        checkpoint = json.loads((node / "device-plugins" / "kubelet_internal_checkpoint").read_text())
        assert [own["DeviceIDs"] for own in checkpoint["Data"]["PodDeviceEntries"]] == [{"0": ["f0", "f2"]}]

        # while the plugin hangs nothing is decided, not even when the simulation ends
        plugin.send_signal(signal.SIGSTOP)
        api.post("/api/v1/namespaces/default/pods", fpga_pod("patient", "socketed", 1))
        api.post("/api/v1/namespaces/default/pods", fpga_pod("behind", "socketed", 0))
        time.sleep(2)
        assert sim.stop() == 0
        assert [api.pods()[name]["status"].get("phase") for name in ("patient", "behind")] == ["Pending"] * 2
        plugin.send_signal(signal.SIGCONT)
        sim.start()
        phase("behind", "Running")
        assert phase("patient", "Failed")["status"]["reason"] == "UnexpectedAdmissionError"
        offers(3)

        # the plugin ends: nothing is offered, and what is held is held
        plugin.terminate()
        assert plugin.wait(10) == 0
        offers(0)
        api.post("/api/v1/namespaces/default/pods", fpga_pod("late", "socketed", 1))
        assert phase("late", "Failed")["status"]["reason"] == "TopologyAffinityError"
        assert held_by(asked("list", resources)) == {"pair": ["f0", "f2"], "behind": []}
        assert sim.stop() == 0
        assert not resources.exists()
        for text in (log.read_text(), sim.log.read_text()):
            assert "Traceback" not in text
        for name in ("pair", "wide", "patient", "behind", "late"):
            api.delete(f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")
        api.delete("/api/v1/nodes/socketed")
