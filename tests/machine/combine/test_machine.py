"""Several sources of one machine."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.machine.catalogue.names import catalogue, machine_named
from numafit.machine.combine.machine import CombinedMachine, combine
from numafit.machine.file.read import read_machine_file
from numafit.machine.file.write import machine_text
from numafit.machine.model import Cache, Cpu, Device, Link, Machine, NumaNode
from numafit.machine.read.recognise import source_of
from numafit.machine.read.sysfs.archive import archive_tree
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.machine.sketch.line import read_sketch
from numafit.machine.source import KINDS, Disagreement, Source
from tests.machine.read.readers import MACHINES, capture
from tests.machine.strategies import any_machines

TEXTS = ("numactl-hardware.txt", "lscpu.txt", "lscpu-p.txt", "lstopo.xml")
GPU = "nvidia.com/gpu"
BUS = "0000:00:06.0"
UUID = "GPU-77a702db-e37f-3a74-d46d-c5713f66058c"

SYS_GPU = Device(GPU, BUS, kind="gpu", label="GPU0", bus=BUS, pci_class=0x030200, name="GH100 [H200]")
TOPO_GPU = Device(GPU, "GPU0", kind="gpu", label="GPU0", cpus=0xFFFF, driver_numa=0)
BOX = read_sketch("2 sockets x 4 cores x 2 threads, 8Gi per numa")


def sys(machine: Machine) -> Source:
    return Source("/sys", machine, "sysfs")


def topo(*devices: Device, links: tuple[Link, ...] = ()) -> Source:
    return Source("topo.txt", Machine(devices=devices, links=links), "nvidia-topo")


def read(box: str, file: str) -> Source:
    return source_of(capture(box, file), file)


@settings(max_examples=30, deadline=None)
@given(any_machines())
def test_one_machine_file_stays_as_it_is(machine: Machine) -> None:
    """There is nothing to fill and nobody to contradict, except that the driver may differ from the plugin."""
    combined = combine([Source("box", machine, "machine file")]).machine
    assert replace(combined, assumed=machine.assumed) == machine
    assert combined.assumed[: len(machine.assumed)] == machine.assumed


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(any_machines(), st.sampled_from(KINDS)), min_size=2, max_size=3))
def test_whatever_is_combined_has_each_cpu_once_and_can_be_saved(told: list[tuple[Machine, str]]) -> None:
    """Sources of different machines contradict each other everywhere; the result is still a machine."""
    machine = combine([Source(str(number), machine, kind) for number, (machine, kind) in enumerate(told)]).machine
    ids = [cpu.id for cpu in machine.cpus]
    assert len(ids) == len(set(ids))
    assert read_machine_file(machine_text(machine, "yaml"), "box") == machine


@pytest.mark.parametrize("name", catalogue())
def test_a_machine_agrees_with_itself(name: str) -> None:
    """Whoever else tells the same, nothing changes."""
    machine = machine_named(name)
    both = combine([Source("cadvisor.json", machine, "cadvisor"), Source("lstopo.xml", machine, "hwloc")])
    assert both == CombinedMachine(machine)


@pytest.mark.parametrize("box", MACHINES)
def test_all_sources_of_a_captured_box_give_the_same_machine(box: str) -> None:
    """/sys, numactl, lscpu and hwloc agree on each box; the kernel of `epyc2` numbers one L3 cache per CPU."""
    tree = archive_tree(capture(box, "sys.tgz"), "sys.tgz")
    machine = read_sysfs(tree, "sys.tgz")
    combined = combine([*(read(box, file) for file in TEXTS), Source("sys.tgz", machine, "sysfs")])
    assert combined.machine == machine
    assert [found.what for found in combined.disagreements] == (["L3 caches"] if box == "epyc2" else [])


def test_the_h200_of_a_virtual_machine_has_no_numa_node_for_the_kubelet() -> None:
    """`numa_node` is -1 in /sys, the driver says 0: both are shown, and the plugin's view counts."""
    topo_text = capture("h200-vm", "nvidia-smi-topo-m.txt")
    combined = combine([source_of(topo_text, "topo.txt"), sys(Machine(devices=(SYS_GPU,)))])
    assert combined.machine.devices == (
        Device(
            GPU,
            BUS,
            None,
            kind="gpu",
            label="GPU0",
            bus=BUS,
            pci_class=0x030200,
            name="GH100 [H200]",
            cpus=0xFFFF,
            driver_numa=0,
        ),
    )
    assert combined.disagreements == (
        Disagreement(
            "NUMA node of GPU0",
            (("/sys", "unknown (numa_node is -1)"), ("topo.txt", "0 (the driver)")),
            "unknown (numa_node is -1)",
            "the device plugin reads numa_node in /sys, not the driver",
        ),
    )


def test_the_driver_stands_in_where_nobody_else_tells() -> None:
    """With nothing but `nvidia-smi topo` its NUMA node is the best guess, and marked as one."""
    machine = combine([topo(TOPO_GPU)]).machine
    assert machine.devices[0].numa == (0,)
    assert machine.assumed == ("device_numa",)


def test_a_saved_machine_keeps_an_unknown_numa_node() -> None:
    """A machine file that names only the driver's node was written so on purpose: nothing is filled in."""
    combined = combine([Source("box.yaml", Machine(devices=(TOPO_GPU,)), "machine file")])
    assert combined.machine.devices == (TOPO_GPU,)
    assert [found.what for found in combined.disagreements] == ["NUMA node of GPU0"]


def test_uuid_bus_and_label_lead_to_one_device() -> None:
    """`nvidia-smi -L` knows UUID and label, /sys bus and label, podresources the UUID alone."""
    sources = [
        topo(TOPO_GPU),
        Source("gpus.txt", Machine(devices=(Device(GPU, UUID, kind="gpu", label="GPU0", name="H200"),)), "nvidia-list"),
        sys(Machine(devices=(replace(SYS_GPU, numa=(0,)),))),
        Source("pods.json", Machine(devices=(Device(GPU, UUID, (0,)),)), "podresources"),
    ]
    combined = combine(sources)
    (device,) = combined.machine.devices
    assert (device.id, device.bus, device.label, device.name, device.numa) == (UUID, BUS, "GPU0", "H200", (0,))
    assert combined.disagreements == ()


def test_devices_that_differ_in_bus_are_two() -> None:
    """The same label is no proof against two PCI addresses."""
    other = Device(GPU, "0000:af:00.0", (1,), kind="gpu", label="GPU0", bus="0000:af:00.0")
    combined = combine([sys(Machine(devices=(SYS_GPU,))), Source("lspci.txt", Machine(devices=(other,)), "lspci")])
    assert [device.bus for device in combined.machine.devices] == [BUS, "0000:af:00.0"]


def test_a_device_that_the_kubelet_does_not_list_is_not_offered() -> None:
    """Otherwise a GPU known by its UUID here and by its bus there would count twice."""
    kubelet = Source("pods.json", Machine(devices=(Device(GPU, UUID, (0,)),)), "podresources")
    combined = combine([sys(Machine(devices=(SYS_GPU,))), kubelet])
    assert [(device.id, device.resource) for device in combined.machine.devices] == [(UUID, GPU), (BUS, "")]
    assert [found.what for found in combined.disagreements] == ["device GPU0"]


def test_nvlink_is_no_contradiction_to_the_way_over_pci() -> None:
    """`topo -m` shows NVLink where /sys shows switches; two ways over PCI would contradict each other."""
    gpus = tuple(
        Device(GPU, f"0000:0{n}:00.0", (0,), kind="gpu", label=f"GPU{n}", bus=f"0000:0{n}:00.0") for n in (1, 2, 3)
    )
    near = tuple(Device(GPU, f"GPU{n}", kind="gpu", label=f"GPU{n}") for n in (1, 2, 3))
    ids = [gpu.id for gpu in gpus]
    by_sys = Machine(devices=gpus, links=(Link(ids[0], ids[1], "PIX"), Link(ids[0], ids[2], "NODE")))
    combined = combine([sys(by_sys), topo(*near, links=(Link("GPU1", "GPU2", "NV4"), Link("GPU1", "GPU3", "SYS")))])
    assert combined.machine.links == (Link(ids[0], ids[1], "NV4"), Link(ids[0], ids[2], "SYS"))
    assert [(found.what, found.values) for found in combined.disagreements] == [
        ("link of GPU1 and GPU3", (("topo.txt", "SYS"), ("/sys", "NODE")))
    ]


def test_what_the_kubelet_sees_counts_before_other_tools() -> None:
    """cAdvisor, then /sys, hwloc, lscpu, numactl, in whatever order they are given."""
    small = read_sketch("2 sockets x 4 cores x 2 threads, 4Gi per numa")
    combined = combine([Source("numa.txt", BOX, "numactl"), Source("ca.json", small, "cadvisor"), sys(BOX)])
    assert combined.machine == small
    assert combined.disagreements[0] == Disagreement(
        "memory of NUMA node 0",
        (("ca.json", "4Gi"), ("/sys", "8Gi"), ("numa.txt", "8Gi")),
        "4Gi",
        "it is what the kubelet sees",
    )


def test_another_sibling_is_a_contradiction_and_another_core_number_is_not() -> None:
    """Tools count cores in their own ways; which CPUs share one is what matters."""
    renumbered = Machine(cpus=tuple(replace(cpu, core=cpu.core + 50) for cpu in BOX.cpus), numa_nodes=BOX.numa_nodes)
    assert combine([sys(BOX), Source("lscpu.txt", renumbered, "lscpu")]).disagreements == ()
    near = read_sketch("2 sockets x 4 cores x 2 threads, 8Gi per numa, smt near")
    found = combine([sys(BOX), Source("lscpu.txt", near, "lscpu")]).disagreements
    assert found[0].what == "which CPUs share a core with CPU 0 (and 15 more)"
    assert found[0].values == (("/sys", "0,8"), ("lscpu.txt", "0-1"))


def test_a_stand_in_gives_way_without_a_word() -> None:
    """numactl does not know cores and sockets; lscpu does."""
    guess = Machine(
        cpus=tuple(Cpu(cpu.id, cpu.id, cpu.numa, cpu.numa) for cpu in BOX.cpus),
        numa_nodes=BOX.numa_nodes,
        assumed=("core", "socket", "uncore_cache"),
    )
    told = Machine(cpus=BOX.cpus, numa_nodes=(NumaNode(0), NumaNode(1)), sockets=2)
    combined = combine([Source("numa.txt", guess, "numactl"), Source("cpus.txt", told, "lscpu")])
    assert combined == CombinedMachine(replace(BOX, assumed=("uncore_cache", "hugepages")))


def test_an_offline_cpu_is_there_but_not_online() -> None:
    """The kubelet does not see CPU 15; a tool that shows it online is contradicted."""
    cpus = tuple(replace(cpu, online=cpu.id != 15) for cpu in BOX.cpus)
    found = combine([sys(replace(BOX, cpus=cpus)), Source("n.txt", BOX, "numactl")]).disagreements
    assert [(one.what, one.taken) for one in found] == [("which CPUs are online", "0-14")]


def test_a_numa_node_that_the_kubelet_does_not_list_is_left_out() -> None:
    """What /sys does not show does not exist for the kubelet."""
    more = Machine(numa_nodes=(NumaNode(9, device="GPU0"),), devices=(TOPO_GPU,))
    combined = combine([sys(BOX), Source("topo.txt", more, "nvidia-topo")])
    assert combined.machine.numa_nodes == BOX.numa_nodes
    assert combined.disagreements[0].values == (("/sys", "it is not there"), ("topo.txt", "it is there"))


def test_the_owner_of_a_memory_node_follows_the_device() -> None:
    """The driver calls the GPU by its label, /sys by its bus; the node belongs to the one device they mean."""
    nodes = (NumaNode(0, 1 << 30), NumaNode(1, 1 << 30))
    driver = Machine(numa_nodes=(NumaNode(1, device="GPU0"),), devices=(TOPO_GPU,))
    combined = combine([sys(Machine(numa_nodes=nodes, devices=(SYS_GPU,))), Source("topo.txt", driver, "nvidia-topo")])
    assert combined.machine.numa_nodes[1].device == BUS


def test_sizes_of_caches_are_filled_from_whoever_knows_them() -> None:
    """`lscpu -p` knows which CPUs share a cache, hwloc also how large it is."""
    sized = Machine(caches=(Cache(3, "unified", 1 << 20, 0xF, 0),))
    bare = Machine(caches=(Cache(3, "unified", 0, 0xF, 0),))
    assert combine([Source("a", bare, "hwloc"), Source("b", sized, "lscpu")]).machine.caches == sized.caches
    other = Machine(caches=(Cache(3, "unified", 0, 0x3, 0), Cache(3, "unified", 0, 0xC, 1)))
    found = combine([Source("a", sized, "hwloc"), Source("b", other, "lscpu")]).disagreements
    assert [(one.what, one.values) for one in found] == [("L3 caches", (("a", "1: 0-3"), ("b", "2: 0-1 2-3")))]


def test_a_kind_without_a_rank_is_refused() -> None:
    """A reader whose kind was forgotten in `KINDS` would else be believed before what a person wrote."""
    with pytest.raises(ValueError, match="not in tuple"):
        combine([Source("box", BOX, "dmidecode"), sys(BOX)])


def test_links_over_pci_stand_in_where_nobody_tells_of_links() -> None:
    """Two GPUs behind one switch; whether they have NVLinks is not known, and said so."""
    gpus = tuple(
        Device(GPU, f"0000:0{n}:00.0", (0,), kind="gpu", label=f"GPU{n}", bus=f"0000:0{n}:00.0", switch="0000:00:01.0")
        for n in (1, 2)
    )
    machine = combine([sys(Machine(devices=gpus))]).machine
    assert machine.links == (Link(gpus[0].id, gpus[1].id, "PIX"),)
    assert machine.assumed == ("links",)
    written = Source("box.yaml", Machine(devices=gpus), "machine file")
    assert combine([written]).machine == written.machine


def test_no_source_gives_an_empty_machine() -> None:
    """Not an error: the caller knows what it asked for."""
    assert combine([]) == CombinedMachine(Machine())


def test_a_pci_class_of_zero_is_a_class() -> None:
    """Found by random machines: 0 was taken for unknown."""
    machine = Machine(devices=(Device("", "old", pci_class=0),))
    assert combine([Source("box", machine, "machine file")]).machine == machine
