"""Answers of podresources, saved as JSON."""

import json

import pytest
from hypothesis import given

from numafit.errors import InputError
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.machine.read.podresources import read_podresources
from tests.machine.read.readers import CAPTURES, damaged, fixture, reads_or_refuses


def test_allocatable_resources_are_read_with_stand_ins() -> None:
    """Kubelet 1.36, names in camel case, numbers as texts. No topology and an empty one differ; an omitted ID is 0."""
    assert read_podresources(fixture("podresources-camel.json")) == Machine(
        cpus=tuple(Cpu(id=cpu, core=cpu, socket=0, numa=0) for cpu in (1, 2, 3)),
        numa_nodes=(NumaNode(id=0, memory=1 << 30), NumaNode(id=1, hugepages={2 << 20: 4})),
        devices=(
            Device(resource="example.com/key", id="k0", numa=()),
            Device(resource="example.com/nic", id="n0", numa=None),
            Device(resource="example.com/nic", id="n1", numa=None),
            Device(resource="nvidia.com/gpu", id="GPU-a", numa=(0,)),
            Device(resource="nvidia.com/gpu", id="GPU-b", numa=(1,)),
        ),
        assumed=("core", "cpus", "hugepages", "memory", "numa", "socket", "uncore_cache"),
    )


def test_what_pods_hold_does_not_count_twice() -> None:
    """List beside GetAllocatableResources: the same devices and CPUs again, and memory that is part of the whole."""
    memory = [{"memory_type": "memory", "size": 5, "topology": {"nodes": [{}]}}]
    resources = {"devices": [{"resource_name": "r", "device_ids": ["d"]}], "cpu_ids": [4], "memory": memory}
    pods = {"pod_resources": [{"name": "p", "namespace": "n", "containers": [{"name": "c", **resources}]}]}
    both = read_podresources(json.dumps({"allocatable": resources, "list": pods}))
    assert both == read_podresources(json.dumps(resources))
    assert both.numa_nodes == (NumaNode(id=0, memory=5),)
    assert read_podresources(json.dumps(pods)).devices == both.devices


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "a file: not an answer of podresources: Expected `object`, got `array`"),
        ({}, "a file: it names no devices, CPUs or memory"),
        ({"cpu_ids": [-1]}, "a file: there is no CPU -1"),
        ({"cpu_ids": [1 << 40]}, "a file: there is no CPU 1099511627776"),
        (
            {"memory": [{"memory_type": "hugepages-0", "size": 1, "topology": {"nodes": [{}]}}]},
            'a file: "0" is not a hugepage size',
        ),
        ({"memory": [{"memory_type": "memory", "size": -1}]}, "a file: -1 is not an amount of memory"),
    ],
)
def test_other_json_is_refused(value: object, message: str) -> None:
    """One sentence that says what is wrong."""
    with pytest.raises(InputError) as error:
        read_podresources(json.dumps(value), "a file")
    assert str(error.value).startswith(message)


@given(damaged("podresources-camel.json"))
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Never a traceback."""
    reads_or_refuses(read_podresources, data)


def test_the_answer_of_a_real_kubelet_is_read() -> None:
    """Kubelet 1.36.4 on a machine of 16 CPUs, CPU 0 reserved; plugins with devices on both NUMA nodes."""
    path = CAPTURES.parent / "kubelet-runs" / "2n-restricted-dev" / "podresources.json"
    if not path.exists():
        pytest.skip("no runs of a real kubelet beside this repository")
    machine = read_podresources(path.read_bytes())
    assert sorted(cpu.id for cpu in machine.cpus) == list(range(1, 16))
    assert [(device.id, device.numa) for device in machine.devices] == [
        ("g0", (0,)),
        ("g1", (0,)),
        ("g2", (1,)),
        ("g3", (1,)),
        ("n0", (1,)),
    ]
    assert [node.memory for node in machine.numa_nodes] == [1876004864, 1976696832]


def test_a_device_of_several_numa_nodes_is_listed_once_for_each() -> None:
    """A real kubelet 1.36.4 with such a device answers so."""
    devices = [
        {"resource_name": "r", "device_ids": ["d"], "topology": {"nodes": [{"ID": node}]}} for node in ("1", "0", "1")
    ]
    assert read_podresources(json.dumps({"devices": devices})).devices == (Device(resource="r", id="d", numa=(0, 1)),)
