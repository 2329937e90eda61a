"""The drawing for a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.amounts import size_text
from numafit.bits import mask_of
from numafit.machine.catalogue.names import catalogue, machine_named
from numafit.machine.model import Cache, Cpu, Device, Machine, NumaNode
from numafit.show.draw.overlay import Overlay
from numafit.show.draw.plan import distances_text, plan_of
from numafit.show.draw.terminal import draw_text
from tests.machine.shapes import regular
from tests.machine.strategies import any_machines
from tests.show.draw.boxes import few, large, pairs_box


def frame_lines(text: str) -> list[str]:
    return [line.strip("│ ") for line in text.splitlines() if line.startswith("│")]


@few
@given(machine=any_machines(), width=st.integers(30, 200), ascii_only=st.booleans())
def test_every_machine_is_drawn_within_the_width(machine: Machine, width: int, ascii_only: bool) -> None:
    """Whatever is known or missing; below 40 columns the drawing stays 40 wide."""
    lines = draw_text(machine, width, ascii_only=ascii_only).splitlines()
    assert max(map(len, lines)) <= max(width, 40)
    assert not ascii_only or all(line.isascii() for line in lines)


@few
@given(machine=any_machines())
def test_frames_are_closed(machine: Machine) -> None:
    """Each line that opens with an edge ends with one, so that no name breaks a frame."""
    for line in draw_text(machine).splitlines():
        if line[:1] in "┌│└" and line:
            assert line[-1] == {"┌": "┐", "│": "│", "└": "┘"}[line[0]]


@pytest.mark.parametrize("name", list(catalogue()))
def test_the_catalogue_fits_in_80_columns(name: str) -> None:
    """Also 34 NUMA nodes and 256 CPUs: on no more than 60 lines."""
    lines = draw_text(machine_named(name), 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 60


def test_a_small_machine_shows_each_core() -> None:
    """A core is a bracket with its CPUs in it."""
    assert frame_lines(draw_text(regular(2, 2, 4, 2)))[1] == "[0 4] [1 5]"


def test_equal_cores_of_a_large_machine_become_one_run() -> None:
    """The numbering that all cores share is said once, below the drawing."""
    text = draw_text(regular(2, 2, 64, 2))
    assert "cores 32-63 = CPUs 32-63,96-127" in frame_lines(text)
    assert text.splitlines()[-1] == "key: the CPUs of a core are n, n+64"


def test_cores_that_are_numbered_differently_are_runs_of_their_own() -> None:
    """A hybrid processor: two threads on some cores, one on others."""
    fast = [Cpu(cpu, cpu // 2, 0, 0, kind="performance") for cpu in range(16)]
    slow = [Cpu(cpu, cpu, 0, 0, kind="efficiency") for cpu in range(16, 24)]
    lines = frame_lines(draw_text(Machine((*fast, *slow), (NumaNode(0),))))
    assert lines[1:3] == ["performance cores 0-7 = CPUs 0-15 (n, n+1)", "efficiency cores 16-23 = CPUs 16-23"]


def test_every_second_cpu_is_written_short() -> None:
    """Servers that deal CPUs out to the sockets in turn."""
    cpus = tuple(Cpu(cpu, cpu // 2, cpu % 2, cpu % 2) for cpu in range(32))
    assert "cores 0-15 = CPUs 1-31:2" in frame_lines(draw_text(Machine(cpus, (NumaNode(0), NumaNode(1)))))


def test_many_equal_caches_are_counted() -> None:
    """1,024 CPUs: 16 L3 caches in a node are one line, not sixteen."""
    assert frame_lines(draw_text(large()))[1:3] == ["16 x L3 32Mi of 8 cores", "cores 0-127 = CPUs 0-127,512-639"]


def test_a_cache_listed_once_per_cpu_is_one_cache() -> None:
    """Some virtual machines give the one L3 another number for each CPU (capture `epyc2`)."""
    caches = tuple(Cache(3, "unified", 16 << 20, mask_of(range(4)), number) for number in range(4))
    text = draw_text(Machine(tuple(Cpu(i, i, 0, 0) for i in range(4)), (NumaNode(0),), caches=caches))
    assert text.count("L3 16Mi") == 2  # in the list of caches and in the head of the node


def test_devices_of_one_switch_stand_in_brackets() -> None:
    """By PIX links, as `nvidia-smi topo` tells them."""
    assert "[GPU4 GPU5] [GPU6 GPU7]" in frame_lines(draw_text(pairs_box()))


def test_a_numa_node_over_two_sockets_joins_them() -> None:
    """One NUMA node, two sockets: the frame holds both, and each run of cores names its own."""
    sockets = Machine(tuple(Cpu(i, i % 16, i // 16, 0) for i in range(32)), (NumaNode(0),))
    lines = draw_text(sockets).splitlines()
    assert lines[2].startswith("┌─ Sockets 0-1 ")
    assert frame_lines("\n".join(lines))[1:3] == [
        "socket 0: cores 0-15 = CPUs 0-15",
        "socket 1: cores 0-15 = CPUs 16-31",
    ]


def test_nodes_without_cpus_are_listed_in_runs() -> None:
    """The memory of a GPU is a NUMA node; the empty ones beside it are one line."""
    gpu = Device("nvidia.com/gpu", "g", (0,), kind="gpu", label="GPU0")
    empty = tuple(NumaNode(i, device="g") for i in range(2, 9))
    machine = Machine((Cpu(0, 0, 0, 0),), (NumaNode(0), NumaNode(1, 96 << 30, device="g"), *empty), (gpu,))
    lines = frame_lines(draw_text(machine))
    assert lines[-2:] == ["NUMA 1: 96Gi, memory of GPU0", "NUMA 2-8: no memory, belongs to GPU0"]


def test_what_the_driver_says_is_shown_where_the_kubelet_knows_no_node() -> None:
    """An H200 in a virtual machine: -1 in /sys, NUMA 0 from nvidia-smi."""
    gpu = Device("nvidia.com/gpu", "g", None, kind="gpu", label="GPU0", driver_numa=0)
    assert frame_lines(draw_text(Machine(devices=(gpu,)))) == ["GPU0 (the driver says NUMA 0)"]


def test_owners_are_listed_in_their_node() -> None:
    """The overlay says who sits where."""
    overlay = Overlay({0: "pod-a", 1: "pod-a"}, {"gpu-5": "pod-b"})
    lines = frame_lines(draw_text(pairs_box(), overlay=overlay))
    assert [line for line in lines if line.startswith("•")] == ["• pod-a: CPUs 0", "• pod-a: CPUs 1", "• pod-b: GPU5"]


def test_offline_cpus_are_listed_not_drawn() -> None:
    """They hold no work, and their place in the machine may be unknown."""
    cpus = (Cpu(0, 0, 0, 0), Cpu(1, -1, -1, -1, online=False))
    text = draw_text(Machine(cpus, (NumaNode(0),)))
    assert "offline: CPUs 1\n" in text
    assert "Socket -1" not in text


def test_distances_are_told_by_relation() -> None:
    """Rows count the nodes by ascending id, also where the kubelet's order of nodes differs (10 before 2)."""
    nodes = [NumaNode(i, 1, distances=tuple(10 if i == j else 20 + i + j for j in range(11))) for i in range(11)]
    nodes.sort(key=lambda node: str(node.id))
    machine = Machine(tuple(Cpu(i, i, i // 6, i) for i in range(11)), tuple(nodes))
    assert distances_text(machine, plan_of(machine)) == "10 local, 21 to 39 same socket, 26 to 35 other socket"


def test_memory_of_nodes_that_is_not_that_of_the_machine_is_told() -> None:
    """Seen in a virtual machine that fills its memory as it is used: 9 GiB in the frame, 126 GiB on top."""
    machine = replace(machine_named("laptop"), memory=1 << 40)
    node = size_text(machine.numa_nodes[0].memory)
    told = f"not sure: NUMA node 0 has {node} of memory, and MemTotal tells 1Ti in all"
    assert told in draw_text(machine).splitlines()
