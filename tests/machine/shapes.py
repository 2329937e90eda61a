"""Machines for tests, by shape."""

from hypothesis import strategies as st

from numafit.bits import mask_of
from numafit.machine.model import Cpu, Machine, NumaNode


def regular(numa_nodes: int, sockets: int, cores: int, threads: int = 1, *, adjacent: bool = False) -> Machine:
    """`cores` in the whole machine. Siblings are c and c + cores, or neighbours if `adjacent`."""
    per_node = cores // numa_nodes
    cpus = [
        Cpu(
            id=core * threads + thread if adjacent else core + thread * cores,
            core=core,
            numa=core // per_node,
            socket=core // per_node * sockets // numa_nodes,
        )
        for thread in range(threads)
        for core in range(cores)
    ]
    return Machine(cpus=tuple(cpus), numa_nodes=tuple(NumaNode(id=i) for i in range(numa_nodes)))


def of_cores(*cores: tuple[int, int, int, tuple[int, ...]]) -> Machine:
    """Each core as (NUMA node, socket, uncore cache, threads)."""
    cpus = [
        Cpu(id=thread, core=number, numa=numa, socket=socket, uncore_cache=uncore)
        for number, (numa, socket, uncore, threads) in enumerate(cores)
        for thread in threads
    ]
    nodes = sorted({cpu.numa for cpu in cpus})
    return Machine(cpus=tuple(cpus), numa_nodes=tuple(NumaNode(id=i) for i in nodes))


@st.composite
def tidy_machines(draw: st.DrawFn) -> Machine:
    """Equal cores, equal NUMA nodes, each in one socket or holding two; CPUs numbered in any order."""
    sockets = draw(st.integers(1, 3))
    nodes = draw(st.sampled_from([1, sockets, 2 * sockets]))
    per_node = sockets * draw(st.integers(1, 3))
    threads = draw(st.sampled_from([1, 2, 4]))
    ids = draw(st.permutations(range(nodes * per_node * threads)))
    cores = []
    for core in range(nodes * per_node):
        numa = core // per_node
        socket = core % sockets if nodes < sockets else numa * sockets // nodes
        cores.append((numa, socket, core // 2, tuple(ids[core * threads : (core + 1) * threads])))
    return of_cores(*cores)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Up to 24 cores of one to three threads, scattered over NUMA nodes, sockets and caches as if by accident."""
    nodes, sockets = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=24))
    ids = draw(st.permutations(range(sum(sizes))))
    cores = []
    used = 0
    for size in sizes:
        place = draw(st.tuples(st.integers(0, nodes - 1), st.integers(0, sockets - 1), st.integers(0, 5)))
        cores.append((*place, tuple(ids[used : used + size])))
        used += size
    return of_cores(*cores)


@st.composite
def requests(draw: st.DrawFn, of: st.SearchStrategy[Machine]) -> tuple[Machine, int, int]:
    """A machine, the CPUs free on it, and a number that these can satisfy."""
    machine = draw(of)
    ids = sorted(cpu.id for cpu in machine.cpus)
    free = mask_of(set(ids) - draw(st.sets(st.sampled_from(ids))))
    return machine, free, draw(st.integers(0, free.bit_count()))
