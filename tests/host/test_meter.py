"""How busy a machine is, from the kernel's own files."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.host.gpu.busy import GpuBusy
from numafit.host.meter import HugepagesUse, MachineUse, MemoryUse, Meter, cpu_times, loads
from numafit.machine.model import Device, Machine, NumaNode
from numafit.machine.read.sysfs.tree import FolderTree
from tests.host.test_usage import NODE, NODE_USAGE

KIB, MIB = 1 << 10, 1 << 20
STAT = """cpu  300 0 100 1600 0 0 0 0 0 0
cpu0 {} 0 50 {} 10 1 2 3 5 0
cpu12 100 0 50 850 0 0 0 0 0 0
intr 12 34
"""


def test_a_cpu_is_busy_but_for_idling_and_waiting_for_disks() -> None:
    """Time of guests stands in two columns: it is counted once."""
    assert cpu_times(STAT.format(100, 850)) == {0: (156, 1016), 12: (150, 1000)}


def test_load_is_what_was_counted_between_two_readings() -> None:
    before, after = cpu_times(STAT.format(100, 850)), cpu_times(STAT.format(130, 860))
    assert loads(before, after) == {0: 0.75, 12: 0.0}
    assert loads({}, after) == {}


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=2, max_size=2))
def test_a_load_lies_between_nothing_and_all(times: list[tuple[int, int]]) -> None:
    """Counters of a CPU that went offline begin again, and idle time of some kernels goes backwards."""
    assert 0 <= loads({0: times[0]}, {0: times[1]})[0] <= 1


def machine_in(folder: Path, **extra: int) -> Machine:
    node = folder / "sys/devices/system/node/node1"
    pages = node / "hugepages/hugepages-2048kB"
    pages.mkdir(parents=True)
    (node / "meminfo").write_text(NODE)
    (pages / "nr_hugepages").write_text("1024\n")
    (pages / "free_hugepages").write_text("1000\n")
    (folder / "proc").mkdir()
    (folder / "proc/stat").write_text(STAT.format(100, 850))
    gpu = Device("nvidia.com/gpu", "GPU-0", kind="gpu", bus="0000:3b:00.0")
    return Machine(numa_nodes=(NumaNode(0, 1 << 30), NumaNode(1, 1 << 30), NumaNode(2)), devices=(gpu,))


def test_a_reading_tells_of_cpus_memory_huge_pages_and_gpus(tmp_path: Path) -> None:
    """A NUMA node that the kernel does not tell of is missing; the first reading knows nothing of the CPUs."""
    busy = GpuBusy(0.5, 1, 2)
    meter = Meter(machine_in(tmp_path), FolderTree(tmp_path), lambda: {"0000:3b:00.0": busy, "GPU-other": busy})
    first = meter.read()
    (tmp_path / "proc/stat").write_text(STAT.format(130, 860))
    memory = MemoryUse(
        24684100 * KIB, NODE_USAGE.free, NODE_USAGE.cache, {2 * MIB: HugepagesUse(2048 * MIB, 2000 * MIB)}
    )
    assert first == MachineUse({}, {1: memory}, {"GPU-0": busy})
    assert meter.read() == MachineUse({0: 0.75, 12: 0.0}, {1: memory}, {"GPU-0": busy})
    assert memory.used + memory.free + memory.cache + 2048 * MIB == memory.total


def test_no_driver_is_a_normal_case(tmp_path: Path) -> None:
    def missing() -> dict[str, GpuBusy]:
        raise InputError("NVML does not start")

    assert Meter(machine_in(tmp_path), FolderTree(tmp_path), missing).read().gpus == {}


def test_this_very_machine_tells() -> None:
    """On a kernel with several NUMA nodes or one."""
    use = Meter(Machine(numa_nodes=(NumaNode(0, 1),))).read()
    assert 0 < use.nodes[0].used < use.nodes[0].total
