"""The matrix of `nvidia-smi topo -m`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.model import Device, Link, Machine, NumaNode
from numafit.machine.read.nvidia_smi import read_nvidia_topo
from tests.machine.read.readers import capture, damaged, fixture, reads_or_refuses


def gpu(label: str, cpus: int, driver_numa: int | None) -> Device:
    return Device(resource="nvidia.com/gpu", id=label, kind="gpu", label=label, cpus=cpus, driver_numa=driver_numa)


P100 = Machine(
    devices=(gpu("GPU0", 0x3FFF, 0), gpu("GPU1", 0xFFFC000, 1), gpu("GPU2", 0xFFFC000, 1)),
    links=(Link("GPU0", "GPU1", "SYS"), Link("GPU0", "GPU2", "SYS"), Link("GPU1", "GPU2", "NODE")),
)


def test_a_pasted_matrix_is_read() -> None:
    """Blanks instead of tabs, as in a blog. What the driver says of NUMA is not what the plugin tells the kubelet."""
    machine = read_nvidia_topo(fixture("nvidia-topo-p100.txt"))
    assert machine == P100
    assert [device.numa for device in machine.devices] == [None, None, None]


@pytest.mark.parametrize("code", ["\x1b[4m", "[4m"])
def test_the_underline_of_the_head_does_not_count(code: str) -> None:
    """The tool underlines its head line even in a pipe; pasting may lose the escape character."""
    text = fixture("nvidia-topo-p100.txt").decode()
    assert read_nvidia_topo(text.replace("GPU0", f"{code}GPU0", 1)) == P100


def test_network_cards_have_rows_and_a_legend() -> None:
    """Driver 535, with tabs: rows of NICs have empty cells, their names stand in a legend below."""
    assert read_nvidia_topo(fixture("nvidia-topo-nics.txt")) == Machine(
        devices=(
            gpu("GPU0", (1 << 56) - 1 | ((1 << 56) - 1) << 112, 0),
            gpu("GPU1", ((1 << 56) - 1) << 56 | ((1 << 56) - 1) << 168, 1),
            Device(resource="", id="mlx5_0", kind="nic", label="NIC0"),
            Device(resource="", id="mlx5_bond_0", kind="nic", label="NIC1"),
        ),
        links=(
            Link("GPU0", "GPU1", "NV18"),
            Link("GPU0", "mlx5_0", "PIX"),
            Link("GPU0", "mlx5_bond_0", "SYS"),
            Link("GPU1", "mlx5_0", "SYS"),
            Link("GPU1", "mlx5_bond_0", "PIX"),
            Link("mlx5_0", "mlx5_bond_0", "SYS"),
        ),
    )


def test_old_drivers_name_network_cards_in_the_matrix() -> None:
    """Driver 384: a column `mlx5_0`, SOC instead of SYS, and no NUMA column."""
    text = "\tGPU0\tmlx5_0\tCPU Affinity\nGPU0\t X \tSOC\t0-3\nmlx5_0\tSOC\t X \t\n"
    assert read_nvidia_topo(text) == Machine(
        devices=(gpu("GPU0", 0xF, None), Device(resource="", id="mlx5_0", kind="nic", label="NIC0")),
        links=(Link("GPU0", "mlx5_0", "SYS"),),
    )


def test_the_memory_of_a_gpu_may_be_a_numa_node() -> None:
    """Grace Hopper: the column GPU NUMA ID names it."""
    text = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-71\t0\t\t1\n"
    assert read_nvidia_topo(text).numa_nodes == (NumaNode(id=1, device="GPU0"),)


def test_unknown_affinities_and_ways_stay_unknown() -> None:
    """A virtual machine: N/A in every column. Two NUMA nodes are no single one either."""
    head = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
    text = head + "GPU0\t X \tN/A\t\tN/A\t\tN/A\nGPU1\tN/A\t X \t0-7\t0-1\n"
    assert read_nvidia_topo(text) == Machine(devices=(gpu("GPU0", 0, None), gpu("GPU1", 0xFF, None)))


def test_cells_that_ran_together_are_told_apart() -> None:
    """Wide matrices lose the blank between two full cells when they are pasted."""
    text = "  GPU0 NIC0 NIC1 CPU Affinity\nGPU0 X NODEPIX 0-3\nNIC0 NODE X SYS\nNIC1 PIXSYS X\n"
    links = [(link.a, link.b, link.kind) for link in read_nvidia_topo(text).links]
    assert links == [("GPU0", "NIC0", "NODE"), ("GPU0", "NIC1", "PIX"), ("NIC0", "NIC1", "SYS")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a file: no line with the column names GPU0, GPU1, … in it"),
        ("\tGPU0\tGPU1\nGPU0\tX\tSYS\n", "a file: the row of GPU1 is missing"),
        ("\tGPU0\tGPU1\nGPU0\tX\tOK\n", 'a file:2: "OK" is not a kind of link'),
        ("\tGPU0\tGPU1\nGPU0\tX\n", "a file:2: 1 links in a row for 2 devices"),
        ("\tGPU0\tGPU0\nGPU0\tX\tX\n", "a file:1: a device has two columns"),
        ("\tGPU0\tCPU Affinity\nGPU0\tX\t0-\n", 'a file:2: "0-" is not a list of ids'),
    ],
)
def test_a_matrix_with_gaps_is_refused(text: str, message: str) -> None:
    """A wrong link is worse than none; the matrix of `topo -p2p` (OK, NS) is another one."""
    with pytest.raises(InputError) as error:
        read_nvidia_topo(text, "a file")
    assert str(error.value).startswith(message)


@given(damaged("nvidia-topo-p100.txt", "nvidia-topo-nics.txt"))
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Never a traceback."""
    reads_or_refuses(read_nvidia_topo, data)


@given(st.data(), st.integers(1, 6), st.sampled_from(["\t", "    "]))
def test_every_matrix_reads_back(data: st.DataObject, size: int, padding: str) -> None:
    """Each pair has one link, the lower GPU first."""
    kinds = st.sampled_from(["PIX", "PXB", "PHB", "NODE", "SYS", "NV1", "NV18"])
    chosen = {(a, b): data.draw(kinds) for a in range(size) for b in range(a + 1, size)}
    rows = ["", *(f"GPU{i}" for i in range(size))]
    lines = [padding.join([*rows, "CPU Affinity"])]
    for a in range(size):
        cells = [" X " if a == b else chosen[min(a, b), max(a, b)] for b in range(size)]
        lines.append(padding.join([f"GPU{a}", *cells, "0-3"]))
    machine = read_nvidia_topo("\n".join(lines))
    assert machine.links == tuple(Link(f"GPU{a}", f"GPU{b}", kind) for (a, b), kind in chosen.items())


def test_the_h200_of_a_virtual_machine_is_near_all_cpus() -> None:
    """Driver 580: NUMA 0 in the matrix while /sys says -1; only the first goes into what the driver says."""
    machine = read_nvidia_topo(capture("h200-vm", "nvidia-smi-topo-m.txt"))
    assert machine == Machine(devices=(gpu("GPU0", 0xFFFF, 0),))
