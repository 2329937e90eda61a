"""The machines known by name."""

import pytest

from numafit.bits import cpuset_text, mask_of, members
from numafit.errors import InputError
from numafit.machine.catalogue.names import catalogue, machine_named
from numafit.machine.file.read import read_machine_file
from numafit.machine.file.write import machine_text
from numafit.machine.model import Machine

SHAPES = {
    "p100-28cpu": (28, 28, 2, 2, 3),
    "gpu8-128cpu": (128, 64, 2, 2, 8),
    "dgx-a100": (256, 128, 2, 8, 20),
    "dgx-h100": (224, 112, 2, 2, 18),
    "hgx-a100-4numa": (96, 48, 2, 8, 4),
    "grace-hopper": (72, 72, 1, 9, 1),
    "gb200": (144, 144, 2, 34, 10),
    "epyc-nps1": (256, 128, 2, 2, 0),
    "epyc-nps4": (256, 128, 2, 8, 0),
    "epyc-l3-numa": (256, 128, 2, 16, 0),
    "xeon-snc4": (224, 112, 2, 8, 0),
    "laptop": (8, 4, 1, 1, 0),
    "hybrid-desktop": (24, 16, 1, 1, 0),
}
"""CPUs, cores, sockets, NUMA nodes, devices."""


def cpus_of(machine: Machine, numa: int) -> str:
    return cpuset_text(mask_of(cpu.id for cpu in machine.cpus if cpu.numa == numa))


def links_of(machine: Machine) -> dict[tuple[str, str], str]:
    labels = {device.id: device.label for device in machine.devices}
    return {(labels[link.a], labels[link.b]): link.kind for link in machine.links}


def test_each_machine_has_its_line() -> None:
    """The table below and the catalogue name the same machines."""
    assert list(catalogue()) == list(SHAPES)
    assert all(catalogue().values())


@pytest.mark.parametrize("name", SHAPES)
def test_a_machine_has_the_published_numbers(name: str) -> None:
    """CPUs, cores, sockets, NUMA nodes and devices; and it survives the machine file."""
    machine = machine_named(name)
    cores = {(cpu.numa, cpu.socket, cpu.core) for cpu in machine.cpus}
    sockets = {cpu.socket for cpu in machine.cpus}
    nodes = len(machine.numa_nodes)
    assert SHAPES[name] == (len(machine.cpus), len(cores), len(sockets), nodes, len(machine.devices))
    assert machine.sockets == len(sockets)
    assert machine.name == name
    assert {cpu.numa for cpu in machine.cpus} <= {node.id for node in machine.numa_nodes}
    assert {node.distances and len(node.distances) for node in machine.numa_nodes} <= {nodes, None}
    assert read_machine_file(machine_text(machine, "yaml"), name) == machine


def test_the_p100_box_is_the_one_of_the_report() -> None:
    """28 CPUs without SMT; GPU0 on NUMA node 0, GPU1 and GPU2 on 1, which reach each other within the node."""
    machine = machine_named("p100-28cpu")
    assert (cpus_of(machine, 0), cpus_of(machine, 1)) == ("0-13", "14-27")
    assert [(device.label, device.id, device.numa) for device in machine.devices] == [
        ("GPU0", "GPU-77a702db-e37f-3a74-d46d-c5713f66058c", (0,)),
        ("GPU1", "GPU-9b341c59-f96b-ba85-c137-78c3652fea65", (1,)),
        ("GPU2", "GPU-c1e9f249-b37b-81c2-a8d9-ba5ca0294841", (1,)),
    ]
    assert links_of(machine) == {("GPU0", "GPU1"): "SYS", ("GPU0", "GPU2"): "SYS", ("GPU1", "GPU2"): "NODE"}


def test_the_eight_gpu_box_is_the_one_of_the_report() -> None:
    """Siblings n and n+64; pairs of GPUs on a switch, NODE within a NUMA node, SYS between the two."""
    machine = machine_named("gpu8-128cpu")
    assert (cpus_of(machine, 0), cpus_of(machine, 1)) == ("0-31,64-95", "32-63,96-127")
    siblings = {cpu.id for cpu in machine.cpus if (cpu.socket, cpu.core) == (1, 3)}
    assert siblings == {35, 99}
    kinds = links_of(machine)
    assert len(kinds) == 28
    for a in range(8):
        for b in range(a + 1, 8):
            kind = "PIX" if a // 2 == b // 2 else "NODE" if a // 4 == b // 4 else "SYS"
            assert kinds[f"GPU{a}", f"GPU{b}"] == kind
    assert [device.numa for device in machine.devices] == [(0,)] * 4 + [(1,)] * 4


def test_gb200_has_memory_of_gpus_as_numa_nodes() -> None:
    """Eight NUMA nodes per GPU, the first with its memory; the kubelet's order of nodes is that of their names.

    Distances as `numactl -H` prints them there: 11 among the nodes of one GPU, 40 to those of another."""
    machine = machine_named("gb200")
    owned = {node.id: node.device for node in machine.numa_nodes if node.device and node.memory}
    assert owned == {2: "GPU0", 10: "GPU1", 18: "GPU2", 26: "GPU3"}
    assert [node.id for node in machine.numa_nodes][:4] == [0, 1, 10, 11]
    rows = {node.id: node.distances or () for node in machine.numa_nodes}
    assert {node.memory for node in machine.numa_nodes if node.id in owned} == {184 << 30}
    assert rows[0] == (10, 40) + (80,) * 16 + (120,) * 16
    assert rows[2] == (80, 120, 10) + (11,) * 7 + (40,) * 24
    assert rows[33] == (120, 80) + (40,) * 24 + (11,) * 7 + (10,)
    assert all(rows[a][b] == rows[b][a] for a in rows for b in rows)


def test_a_single_grace_hopper_has_the_distances_of_its_kind() -> None:
    """80 from the CPUs to each node of the GPU, 255 among those."""
    rows = {node.id: node.distances for node in machine_named("grace-hopper").numa_nodes}
    assert (rows[0], rows[1]) == ((10,) + (80,) * 8, (80, 10) + (255,) * 7)


def test_what_no_page_told_is_listed_as_assumed() -> None:
    """Other numbers have their source in a comment of the catalogue, or are called a guess there."""
    assumed = {name: machine_named(name).assumed for name in SHAPES}
    assert {name: words for name, words in assumed.items() if words} == {
        "p100-28cpu": ("core", "socket", "memory", "distances"),
        "gpu8-128cpu": ("core", "socket", "memory", "distances"),
        "dgx-h100": ("distances",),
        "epyc-l3-numa": ("memory", "distances"),
        "laptop": ("core", "memory"),
    }


@pytest.mark.parametrize("name", SHAPES)
def test_the_distances_of_a_machine_are_known(name: str) -> None:
    """Without them the kubelet would not start with `prefer-closest-numa-nodes`, as it does on the real machine."""
    rows = {node.id: node.distances or () for node in machine_named(name).numa_nodes}
    assert all(len(row) == len(rows) and row[id] == 10 for id, row in rows.items())
    assert all(rows[a][b] == rows[b][a] for a in rows for b in rows)


def test_uncore_caches_follow_the_bios_setting() -> None:
    """EPYC 7763 has 16 L3 caches; they are uncore caches unless each is a NUMA node of its own."""
    counts = {name: {cpu.uncore_cache for cpu in machine_named(name).cpus} for name in ("epyc-nps1", "epyc-nps4")}
    assert counts == {"epyc-nps1": set(range(16)), "epyc-nps4": set(range(16))}
    assert {cpu.uncore_cache for cpu in machine_named("epyc-l3-numa").cpus} == {None}
    # one L3 cache over the four NUMA nodes of a socket is not any node's own
    assert {(cpu.socket, cpu.uncore_cache) for cpu in machine_named("xeon-snc4").cpus} == {(0, 0), (1, 1)}


def test_hybrid_cores_are_told_apart() -> None:
    """Two threads on each of eight performance cores, one on each of eight efficiency cores."""
    machine = machine_named("hybrid-desktop")
    fast = mask_of(cpu.id for cpu in machine.cpus if cpu.kind == "performance")
    assert list(members(fast)) == list(range(16))


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    """One sentence."""
    with pytest.raises(InputError, match=r'called "dgx" \(known are p100-28cpu, '):
        machine_named("dgx")


@pytest.mark.parametrize(("name", "near"), [("dgx-a100", "PXB"), ("dgx-h100", "PIX")])
def test_a_network_card_beside_a_gpu_lies_on_its_numa_node(name: str, near: str) -> None:
    """As `nvidia-smi topo -m` of such machines tells; each GPU has one at least."""
    machine = machine_named(name)
    places = {device.id: device.numa for device in machine.devices}
    pairs = [(link.a, link.b) for link in machine.links if link.kind == near]
    assert {gpu for gpu, _ in pairs} == {device.id for device in machine.devices if device.kind == "gpu"}
    assert all(places[gpu] == places[nic] for gpu, nic in pairs)
