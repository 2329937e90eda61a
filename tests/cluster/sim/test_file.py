"""The file of nodes: groups, and one sentence with the place for each mistake."""

from pathlib import Path

import pytest

from numafit.cluster.sim.file import Readers, SimulatedGroup, read_groups
from numafit.errors import InputError
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Machine
from numafit.quantity import parse_quantity
from numafit.settings.facts import Taint


def machine(spec: str) -> Machine:
    try:
        return machine_named(spec)
    except KeyError:
        raise InputError("is not there", source=spec) from None


READERS = Readers(machine, Path.read_text)


def read(text: str, source: str = "nodes.yaml") -> tuple[SimulatedGroup, ...]:
    return read_groups(text, source, READERS)


def test_a_group_has_as_many_nodes_as_it_says() -> None:
    many, one = read("nodes: [{name: gpu, count: 3, machine: dgx-h100}, {name: box, machine: dgx-h100}]")
    assert many.names == ("gpu-0", "gpu-1", "gpu-2")
    assert one.names == ("box",)
    assert str(one.version) == "v1.36.4"
    assert one.mark.storage == parse_quantity("100Gi")


def test_all_fields_are_read(tmp_path: Path) -> None:
    (tmp_path / "kubelet.yaml").write_text("kind: KubeletConfiguration\n")
    text = """
format: numafit/nodes/v1
nodes:
- name: gpu
  machine: dgx-h100
  devices: ["example.com/fpga=f0@0"]
  release: "1.30"
  kubelet: kubelet.yaml
  labels: {pool: a, example.com/x: ""}
  taints: [{key: k, value: v, effect: NoSchedule}]
  storage: 1Ti
  sockets: true
  startSeconds: 2
"""
    (group,) = read(text, str(tmp_path / "nodes.yaml"))
    assert group.config is not None
    assert group.config.text == "kind: KubeletConfiguration\n"
    assert group.machine.devices[-1].id == "f0"
    assert group.mark.labels == {"pool": "a", "example.com/x": ""}
    assert group.mark.taints == (Taint("k", "v", "NoSchedule"),)
    assert (group.sockets, group.start_seconds, group.version.minor) == (True, 2.0, 30)


def test_a_configuration_may_stand_in_the_file() -> None:
    (group,) = read("nodes: [{name: a, machine: dgx-h100, kubelet: {cpuManagerPolicy: static}}]")
    assert group.config is not None
    assert '"cpuManagerPolicy": "static"' in group.config.text
    assert '"kind": "KubeletConfiguration"' in group.config.text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "nodes.yaml:1:1: nodes: no group of nodes is listed"),
        ("format: x\nnodes: []", 'format: "x" is not a format of this file'),
        ("nodes: [{machine: dgx-h100}]", 'the field "name" is missing'),
        ("nodes: [{name: a}]", 'the field "machine" is missing'),
        ("nodes: [{name: A_, machine: dgx-h100}]", "nodes[0].name:"),
        ("nodes:\n- name: a\n  machine: dgx-h100\n  count: 0", "nodes.yaml:4:10: nodes[0].count: 0 is out of range"),
        ("nodes:\n- name: a\n  machine: dgx-h100\n  count: -1", "-1 is out of range (1 to 5000)"),
        ("nodes:\n- name: a\n  machine: dgx-h100\n  count: 9000", "(1 to 5000; more are played by several processes)"),
        ("nodes:\n- name: a\n  machine: dgx-h100\n  count: two", "count: a whole number is needed here (1 to 5000)"),
        ("nodes:\n- name: a\n  machine: dgx-h100\n  releas: v1", "did you mean release?"),
        ("nodes:\n- name: a\n  machine: dgx-h100\n  release: 1.30", "a text is needed here, not 1.3"),
        ("nodes:\n- name: a\n  machine: dgx-h100\n  release: '1.99'", "kubelet 1.99 is not covered"),
        ("nodes:\n- name: a\n  machine: nowhere", "nodes.yaml:3:12: nodes[0].machine:"),
        ("nodes: [{name: a, machine: dgx-h100, kubelet: 3}]", "a file or a configuration is needed here"),
        ("nodes: [{name: a, machine: dgx-h100, labels: {x: 1}}]", "put it in quotes"),
        ("nodes: [{name: a, machine: dgx-h100, labels: {'a b': x}}]", "is no label"),
        ("nodes: [{name: a, machine: dgx-h100, taints: [{key: a, effect: Never}]}]", "one of NoSchedule"),
        ("nodes: [{name: a, machine: dgx-h100, devices: [gpu]}]", "is not RESOURCE=ID@NUMA"),
        ("nodes: [{name: a, machine: dgx-h100, storage: much}]", "is not a quantity"),
        ("nodes: [{name: a, machine: dgx-h100, startSeconds: -1}]", "a number of seconds is needed here"),
        ("nodes: [{name: a, count: 2, machine: dgx-h100}, {name: a-1, machine: dgx-h100}]", 'the name "a-1"'),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        read(text)
    assert sentence in str(error.value)


def test_a_cure_is_told_once() -> None:
    with pytest.raises(InputError) as refused:
        read("nodes:\n- name: a\n  machine: dgx-h100\n  release: latest")
    assert str(refused.value) == (
        'nodes.yaml:4:12: nodes[0].release: "latest" is not a kubelet version (write it like 1.36 or v1.27.3)'
    )


def test_who_plays_no_kubelets_in_time_may_have_more_nodes_and_hears_of_no_processes() -> None:
    many = "nodes: [{name: a, count: 9000, machine: dgx-h100}]"
    (group,) = read_groups(many, "n", READERS, 10_000, more="")
    assert len(group.names) == 9000
    two = "nodes: [{name: a, count: 4000, machine: dgx-h100}, {name: b, count: 4000, machine: dgx-h100}]"
    for text in (many, two):
        with pytest.raises(InputError) as error:
            read_groups(text, "n", READERS, 4002, more="")
        assert "process" not in str(error.value)
    with pytest.raises(InputError, match=r"more than 5000 nodes \(more are played by several processes\)"):
        read(two)
