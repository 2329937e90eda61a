"""NodeResourceTopology objects."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.machine.catalogue.names import catalogue, machine_named
from numafit.machine.combine.machine import combine
from numafit.machine.convert.nrt import nrt_text
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.machine.notes import machine_notes
from numafit.machine.read.nrt import ASSUMED, read_nrt
from numafit.machine.source import FILE, NRT, Source
from tests.machine.read.readers import damaged, fixture, reads_or_refuses

GPU = "nvidia.com/gpu"


def test_zones_become_numa_nodes_with_made_up_cpus_and_devices() -> None:
    """v1alpha1, as `kubectl get` lists it: CPUs are numbered node by node, ids of devices by resource. One zone shows
    only how much memory pods may have."""
    assert read_nrt(fixture("nrt-v1alpha1.json")) == Machine(
        cpus=tuple(Cpu(id, id, int(id > 1), int(id > 1)) for id in range(6)),
        numa_nodes=(
            NumaNode(0, 4 << 30, {2 << 20: 2}, (10, 21)),
            NumaNode(1, 8 << 30, {}, (21, 10)),
        ),
        devices=(Device(GPU, "gpu-0", (0,)), Device(GPU, "gpu-1", (0,)), Device(GPU, "gpu-2", (1,))),
        name="worker-1",
        assumed=(*ASSUMED, "devices", "memory"),
    )


@pytest.mark.parametrize("name", catalogue())
def test_what_is_written_as_zones_comes_back(name: str) -> None:
    """All that a zone can hold: memory, huge pages, distances, the number of CPUs and of devices with one NUMA node."""
    machine = machine_named(name)
    found = read_nrt(nrt_text(machine))

    def zones(machine: Machine) -> dict[int, object]:
        return {
            node.id: (
                node.memory,
                node.hugepages,
                node.distances,
                sum(cpu.numa == node.id and cpu.online for cpu in machine.cpus),
                sorted(device.resource for device in machine.devices if device.resource and device.numa == (node.id,)),
            )
            for node in machine.numa_nodes
        }

    assert zones(found) == zones(machine)


def test_who_knows_cpus_and_devices_is_believed_instead() -> None:
    """A stand-in gives way without a word."""
    told = read_nrt(fixture("nrt-v1alpha1.json"))
    real = Machine(
        cpus=tuple(Cpu(id, id // 2, id % 2, id % 2) for id in range(6)),
        devices=(Device(GPU, "GPU-a", (0,)),),
    )
    combined = combine([Source("nrt", told, NRT), Source("box", real, FILE)])
    assert combined.disagreements == ()
    assert combined.machine.cpus == real.cpus
    assert combined.machine.devices == real.devices
    assert "devices" not in combined.machine.assumed


def test_how_many_cpus_a_numa_node_has_is_told_and_their_numbers_are_not() -> None:
    """Neither in the object alone nor behind `combine`, which adds what nobody tells."""
    told = read_nrt(fixture("nrt-v1alpha1.json"))
    for machine in (told, combine([Source("nrt", told, NRT)]).machine):
        assert {"cpu_ids", "core", "socket"} <= set(machine.assumed)
        assert not {"numa", "cpus"} & set(machine.assumed)
        texts = {note.code: note.text for note in machine_notes(machine)}
        assert "how many each NUMA node has" in texts["cpu-numbers-guessed"]
        assert "ids of all devices" in texts["device-ids-guessed"]
        assert "machine-assumed" not in texts


@pytest.mark.parametrize("field", ["capacity", "allocatable"])
def test_what_pods_may_have_is_not_taken_for_all_cpus(field: str) -> None:
    """Reserved CPUs are missing from `allocatable`."""
    zone = {"name": "node-0", "resources": [{"name": "cpu", field: "4"}, {"name": "hugepages-2Mi", field: "4Mi"}]}
    machine = read_nrt(json.dumps({"kind": "NodeResourceTopology", "zones": [zone]}))
    assert {"cpus", "hugepages"} & set(machine.assumed) == ({"cpus", "hugepages"} if field == "allocatable" else set())
    combined = combine([Source("nrt", machine, NRT)]).machine
    assert ("cpus" in combined.assumed) == (field == "allocatable")


def test_numbers_that_somebody_knows_end_the_guess_but_not_what_he_leaves_open() -> None:
    """numactl tells the CPUs of each NUMA node and nothing of cores."""
    told = read_nrt(fixture("nrt-v1alpha1.json"))
    real = Machine(cpus=tuple(Cpu(id, id, id % 2, id % 2) for id in range(6)), assumed=("core", "socket"))
    words = combine([Source("nrt", told, NRT), Source("numactl", real, "numactl")]).machine.assumed
    assert {"core", "socket"} <= set(words)
    assert not {"cpu_ids", "cpus", "numa"} & set(words)
    partial = replace(real, assumed=("cpus", "numa"))
    words = combine([Source("nrt", told, NRT), Source("pods", partial, "podresources")]).machine.assumed
    assert {"cpus", "numa"} <= set(words)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"zones": []}, "n: zones: it has no zone of the type Node (it comes from"),
        ({"zones": 3}, "a list is expected here"),
        ({"zones": [{"name": "numa0"}]}, 'zones[0].name: "numa0" does not name a NUMA node, such as node-0'),
        ({"zones": [{"name": "node-0"}, {"name": "node-0"}]}, "zones[1].name: the zone node-0 comes twice"),
        ({"zones": [{"name": "node-0", "resources": [{}]}]}, "zones[0].resources[0]: a resource needs a name"),
        (
            {"zones": [{"name": "node-0", "resources": [{"name": "cpu", "capacity": "x"}]}]},
            'zones[0].resources[0].capacity: "x" is not a quantity',
        ),
        (
            {"zones": [{"name": "node-0", "resources": [{"name": "cpu", "capacity": "1G"}]}]},
            "zones: more CPUs than any machine has",
        ),
        (
            {"zones": [{"name": "node-0", "resources": [{"name": "a/b", "capacity": "1G"}]}]},
            "zones: more devices of a/b than any machine has",
        ),
        (
            {"zones": [{"name": "node-0", "resources": [{"name": "hugepages-x", "capacity": "1"}]}]},
            'zones[0].resources[0].name: "hugepages-x" names no size of huge pages',
        ),
    ],
)
def test_a_bad_object_is_one_sentence_with_its_place(change: dict[str, object], message: str) -> None:
    """And with the command that prints a good one."""
    with pytest.raises(InputError) as refused:
        read_nrt(json.dumps({"kind": "NodeResourceTopology", **change}), "n")
    assert message.removeprefix("n: ") in str(refused.value)
    assert "noderesourcetopologies" in str(refused.value)


def test_one_object_is_needed() -> None:
    """Neither none nor several."""
    one = '{"kind": "NodeResourceTopology", "zones": []}'
    with pytest.raises(InputError, match="2 objects of the kind NodeResourceTopology, one is needed"):
        read_nrt(f'{{"kind": "List", "items": [{one}, {one}]}}', "n")
    with pytest.raises(InputError, match="there is no NodeResourceTopology in it"):
        read_nrt("{}", "n")


@settings(max_examples=60, deadline=None)
@given(damaged("nrt-v1alpha1.json") | st.binary(max_size=20))
def test_damaged_input_is_read_or_refused(data: bytes) -> None:
    """Never anything else."""
    reads_or_refuses(read_nrt, data)
