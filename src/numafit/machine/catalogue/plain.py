"""Machines of the catalogue without accelerators. Amounts of memory are nominal.

Each comment names pages that were read. What none of them told is called a guess, and listed under `assumed` where that
has a word for it.
"""

from msgspec.structs import replace

from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.shape import Shape, machine_of_shape

GI, MI = 1 << 30, 1 << 20

# Two EPYC 7763 of 64 cores: 32 MB of L3 cache per 8 cores (hwloc, tests/hwloc/x86/AMD-19h-Zen3-2xEpyc-7763.xml), 128
# CPUs per socket with SMT (LIKWID's issue 623), 512 GB of memory (NERSC, "Node Types at NERSC"). "Nodes per socket"
# and "L3 cache as NUMA domain" are settings of the BIOS (Mete Balci, "AMD EPYC 7313P and Supermicro H12SSL NUMA
# Topology").
_EPYC_7763 = "AMD EPYC 7763 64-Core Processor"


def epyc_nps1(name: str) -> Machine:
    # CPU numbers and distances: `numactl --hardware` on two processors of this series in SUSE, "Optimizing Linux for
    # AMD EPYC 7003 Series Processors with SUSE Linux Enterprise 15 SP2".
    shape = Shape(sockets=2, cores=64, threads=2, memory=(256 * GI,) * 2, distances=(10, 32, 32))
    return machine_of_shape(replace(shape, l3_cores=8, l3_size=32 * MI), name=name, model=_EPYC_7763)


def epyc_nps4(name: str) -> Machine:
    # CPU numbers, 64 GB per NUMA node and distances: `lscpu` and `numactl -H` in AMD, "Affinity part 2 - System
    # topology and controlling affinity" (ROCm/rocm-blogs), on two processors of 64 cores of which 8 share an L3 cache.
    shape = Shape(sockets=2, numa=4, cores=16, threads=2, memory=(64 * GI,) * 8, distances=(10, 12, 32))
    return machine_of_shape(replace(shape, l3_cores=8, l3_size=32 * MI), name=name, model=_EPYC_7763)


def epyc_l3_as_numa(name: str) -> Machine:
    """No uncore caches remain for the kubelet: each cache is exactly one NUMA node."""
    # No page with sixteen nodes was found: equal shares of the memory and the distances of NPS4 are guesses.
    shape = Shape(sockets=2, numa=8, cores=8, threads=2, memory=(32 * GI,) * 16, distances=(10, 12, 32))
    machine = machine_of_shape(replace(shape, l3_cores=8, l3_size=32 * MI), name=name, model=_EPYC_7763)
    return replace(machine, assumed=("memory", "distances"))


def xeon_snc4(name: str) -> Machine:
    # 56 cores, 105 MB of L3 cache, 64 GB per NUMA node and distances: `lscpu` and `numactl` on two 8480+ without SMT
    # (grantcurell/projects, Understand and Run LINPACK/equipment.txt). With SMT, CPU numbers and one cache that spans
    # the four NUMA nodes of a socket: `lscpu` and `lstopo` on two processors of this size in Gramine's pull request
    # 530, which does not name them.
    shape = Shape(sockets=2, numa=4, cores=14, threads=2, memory=(64 * GI,) * 8, distances=(10, 12, 21))
    return machine_of_shape(
        replace(shape, l3_cores=56, l3_size=105 * MI), name=name, model="Intel(R) Xeon(R) Platinum 8480+"
    )


def laptop(name: str) -> Machine:
    # 4 cores, 8 threads, 8 MB of cache: /proc/cpuinfo of an XPS 13 in num_cpus' pull request 86. CPU n shares a core
    # with n + 4: so numbered is the laptop in num_cpus' issue 95. 16 GB of memory is a guess.
    shape = Shape(cores=4, threads=2, memory=(16 * GI,), l3_cores=4, l3_size=8 * MI)
    machine = machine_of_shape(shape, name=name, model="Intel(R) Core(TM) i7-8565U CPU @ 1.80GHz")
    return replace(machine, assumed=("core", "memory"))


def hybrid_desktop(name: str) -> Machine:
    # 8 performance cores with 2 threads, 8 efficiency cores, 30 MB of L3 cache, tried with 32 GB of memory: Gizbot,
    # "12th Gen Intel Core i9-12900K Review". Core ids are APIC ids without the bit of the thread: those of the i9
    # are in CpuTopologyRebuild's issue 6. Threads of a core are neighbours, efficiency cores come last: so in hwloc's
    # tests/hwloc/x86/Intel-RaptorLake-Corei7-1370P.xml, with core ids made the same way.
    fast = [Cpu(id=id, core=id // 2 * 4, socket=0, numa=0, kind="performance") for id in range(16)]
    slow = [Cpu(id=id, core=id + 16, socket=0, numa=0, kind="efficiency") for id in range(16, 24)]
    cpus = sorted(fast + slow, key=lambda cpu: str(cpu.id))
    return Machine(
        cpus=tuple(cpus),
        numa_nodes=(NumaNode(0, 32 * GI, distances=(10,)),),
        sockets=1,
        caches=(Cache(3, "unified", 30 * MI, (1 << 24) - 1, 0),),
        name=name,
        model="12th Gen Intel(R) Core(TM) i9-12900K",
    )
