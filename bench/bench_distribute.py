"""distribute-cpus-across-numa: a small request, large ones, and the worst that a random search has found."""

from collections.abc import Callable, Iterator

from bench import Row
from bench.shapes import VERSION, Shape, machine_of
from numafit.bits import members
from numafit.machine.topology import CpuTopology, cpu_topology
from numafit.managers.cpu.assignment import take
from numafit.settings.options import CpuOptions
from numafit.settings.versions import behaviour_of

BUDGET = 10e-3

WORST = (
    # (CPUs of the machine, CPUs asked for, full-pcpus-only, free CPUs per NUMA node)
    (512, 258, True, (63, 62, 59, 56, 60, 61, 57, 58)),
    (256, 118, True, (29, 28, 27, 26, 24, 28, 26, 30)),
    (512, 306, True, (53, 44, 49, 51, 51, 53, 48, 57)),
    (512, 167, False, (34, 32, 44, 32, 36, 31, 28, 34)),
    (512, 221, False, (42, 45, 40, 37, 38, 41, 47, 44)),
    (1024, 824, False, (56, 57, 57, 57, 57, 57, 56, 57, 60, 58, 55, 56, 59, 55, 61, 59)),
    (1024, 334, False, (41, 48, 47, 44, 45, 39, 40, 46, 47, 45, 46, 37, 42, 42, 44, 47)),
)
KUBELET_NODES = 8
"""With more NUMA nodes the kubelet would not end; there the budget does not hold either."""


def rows() -> Iterator[Row]:
    for nodes, cpus in ((2, 128), (4, 128), (8, 256), (8, 512)):
        topology = cpu_topology(machine_of(Shape(nodes, cpus)), behaviour_of(VERSION))
        for full in (False, True):
            free = _uneven(topology)
            label = "full-pcpus-only" if full else "single CPUs"
            for count in (8, free.bit_count() // 2 // 2 * 2, (free.bit_count() - nodes) // 2 * 2):
                name = f"distribute/{nodes}numa-{cpus}cpu/{label}/{count} of {free.bit_count()}"
                yield Row(name, _take(topology, free, count, full), BUDGET)
    for cpus, count, full, frees in WORST:
        topology = cpu_topology(machine_of(Shape(len(frees), cpus)), behaviour_of(VERSION))
        free = 0
        for node, number in enumerate(frees):
            free |= _some_cpus(topology.numa_cores[node], number)
        name = f"distribute/{len(frees)}numa-{cpus}cpu/worst, {count} of {sum(frees)}"
        run = _take(topology, free, count, full)
        yield Row(name + ", full-pcpus-only" * full, run, BUDGET if len(frees) <= KUBELET_NODES else None)


def _some_cpus(cores: tuple[int, ...], number: int) -> int:
    """Whole cores first, then one CPU of the next."""
    cpus = 0
    for core in cores:
        for cpu in members(core):
            if number > 0:
                cpus |= 1 << cpu
                number -= 1
    return cpus


def _uneven(topology: CpuTopology) -> int:
    """No two NUMA nodes have equally many free CPUs, so that nothing is as good as something looked at before."""
    free = topology.cpus
    for node, cores in topology.numa_cores.items():
        for core in cores[: node + 1]:
            free &= ~core
    return free


def _take(topology: CpuTopology, free: int, count: int, full: bool) -> Callable[[], object]:
    behaviour = behaviour_of(VERSION)
    options = CpuOptions(distribute_cpus_across_numa=True, full_pcpus_only=full)
    return lambda: take(topology, behaviour, options, free, count)
