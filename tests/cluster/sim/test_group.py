"""Kubelets out of groups, and over the state files of a simulation before."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace

from numafit.cluster.sim.file import SimulatedGroup
from numafit.cluster.sim.group import SimulatedNode, simulated_nodes, storage_left
from numafit.cluster.sim.node_object import NodeMark
from numafit.errors import InputError
from numafit.machine.sketch.line import read_sketch
from numafit.quantity import parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.read.loader import ConfigFile
from numafit.settings.versions import DEFAULT_VERSION
from tests.cluster.sim.nodes import GPU, SKETCH, STRICT, bound, pod, uid


def group(config: dict[str, Any] | None = None, **more: Any) -> SimulatedGroup:
    text = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", **(config or STRICT)}
    file = ConfigFile("kubelet.json", json.encode(text).decode())
    mark = NodeMark({"pool": "a"}, storage=parse_quantity("10Gi"))
    found = SimulatedGroup("gpu", 3, read_sketch(SKETCH), file, DEFAULT_VERSION, mark)
    return replace(found, **more)


def nodes(own: SimulatedGroup, state: Path | None = None) -> list[SimulatedNode]:
    return list(simulated_nodes([own], state))


def test_nodes_of_a_group_share_all_that_is_equal() -> None:
    first, second, _ = (node.kubelet for node in nodes(group()))
    assert (first.name, second.name) == ("gpu-0", "gpu-1")
    assert first.situation.ledger is second.situation.ledger
    assert first.situation.node.cpu is second.situation.node.cpu
    assert first.host_ip != second.host_ip
    assert first.situation.node.facts.labels is not None
    assert first.situation.node.facts.labels["kubernetes.io/hostname"] == "gpu-0"


def test_a_kubelet_that_would_not_start_is_refused_in_its_words() -> None:
    with pytest.raises(InputError, match=r"the kubelet of gpu does not start: .*reserved"):
        nodes(group({"cpuManagerPolicy": "static"}))


def test_a_field_of_the_kubelet_that_no_release_knows_is_refused() -> None:
    """As by all commands: a kubelet ignores it, and whoever wrote it meant another."""
    with pytest.raises(InputError) as refused:
        nodes(group({**STRICT, "cpuManagerPolcy": "static"}))
    assert str(refused.value) == (
        "kubelet.json: cpuManagerPolcy: the kubelet v1.36.4 does not know this field and would ignore it"
        " (remove it or correct its name)"
    )


@pytest.mark.parametrize(
    ("period", "seconds"),
    [({}, 10.0), ({"cpuManagerReconcilePeriod": "0s"}, 10.0), ({"cpuManagerReconcilePeriod": "1.5s"}, 1.5)],
)
def test_the_cpu_manager_looks_as_often_as_its_configuration_says(period: dict[str, str], seconds: float) -> None:
    node = nodes(group({**STRICT, **period}))[0].kubelet
    own = bound(pod("a", cpu="2"))
    node.add([own], 100.0)
    node.advance(101.0)
    node.forget(own.pod.uid, 102.0)
    assert node.due == 102.0 + seconds


def test_what_was_held_is_held_again(tmp_path: Path) -> None:
    first = nodes(group(), tmp_path)[1]
    assert first.state is not None
    first.kubelet.add([bound(pod("a", cpu="2", gpu="1"))], 100.0)
    first.state.write(first.kubelet.situation)
    second = nodes(group(), tmp_path)[1].kubelet
    assert second.situation.ledger.cpu.entries == first.kubelet.situation.ledger.cpu.entries
    assert second.situation.ledger.device.held[uid("a")]["c"][GPU].ids == {"GPU0"}
    assert not second.situation.ledger.active
    assert sorted(path.name for path in (tmp_path / "gpu-1").rglob("*") if path.is_file()) == [
        "cpu_manager_state",
        "kubelet_internal_checkpoint",
        "memory_manager_state",
    ]


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    node = nodes(group(), tmp_path)[0]
    assert node.state is not None
    node.state.write(node.kubelet.situation)
    memory = tmp_path / "gpu-0" / "memory_manager_state"
    memory.unlink()
    node.kubelet.add([bound(pod("a", cpu="2"))], 100.0)
    node.state.write(node.kubelet.situation)
    assert not memory.exists()
    assert uid("a") in (tmp_path / "gpu-0" / "cpu_manager_state").read_text()


def test_a_state_that_cannot_be_taken_up_is_refused_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "gpu-0").mkdir()
    (tmp_path / "gpu-0" / "cpu_manager_state").write_text("{")
    with pytest.raises(InputError, match=r"gpu-0 over .* does not start"):
        nodes(group(), tmp_path)


def test_with_sockets_nothing_is_registered_before_a_plugin_comes() -> None:
    node = nodes(group(sockets=True))[0]
    assert node.sockets
    assert GPU not in node.kubelet.situation.node_allocatable


def test_the_disk_is_shared_out_as_a_kubelet_does() -> None:
    """As seen of 1.36.4: of 1 GiB with 1 % kept free 1063004406 bytes are left."""
    config = KubeletConfig(eviction_hard={"nodefs.available": "1%"})
    assert str(storage_left(config, parse_quantity("1Gi"), DEFAULT_VERSION)) == "1063004406"
    config = KubeletConfig(eviction_hard={"nodefs.available": "1Gi"}, kube_reserved={"ephemeral-storage": "2Gi"})
    assert storage_left(config, parse_quantity("10Gi"), DEFAULT_VERSION) == parse_quantity("7Gi")
    assert storage_left(config, parse_quantity("1Gi"), DEFAULT_VERSION).is_zero
