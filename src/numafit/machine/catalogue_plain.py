"""Machines of the catalogue without accelerators. Amounts of memory are nominal; what is not published is left out.

Where a comment names a maker's datasheet or product page, that is where the number is published; it was not read there
for this file. Distances were read in the pages named.
"""

from msgspec.structs import replace

from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.shape import Shape, machine_of_shape

GI, MI = 1 << 30, 1 << 20

# AMD EPYC 7763: 64 cores, SMT, 8 complexes of 8 cores with 32 MB of L3 cache each, 8 memory channels (AMD's datasheet
# of the EPYC 7003 series). "Nodes per socket" (NPS1, NPS4) and "L3 cache as NUMA domain" are settings of its BIOS.
# The memory is that of 16 modules of 32 GB. Distances 10, 12 and 32: what `numactl --hardware` prints on two-socket
# EPYC machines in the user documentation of computing centres (NPS4: CSCS, PDC; NPS1: 10 and 32).
_EPYC_7763 = "AMD EPYC 7763 64-Core Processor"


def epyc_nps1(name: str) -> Machine:
    shape = Shape(sockets=2, cores=64, threads=2, memory=(256 * GI,) * 2, distances=(10, 32, 32))
    return machine_of_shape(replace(shape, l3_cores=8, l3_size=32 * MI), name=name, model=_EPYC_7763)


def epyc_nps4(name: str) -> Machine:
    shape = Shape(sockets=2, numa=4, cores=16, threads=2, memory=(64 * GI,) * 8, distances=(10, 12, 32))
    return machine_of_shape(replace(shape, l3_cores=8, l3_size=32 * MI), name=name, model=_EPYC_7763)


def epyc_l3_as_numa(name: str) -> Machine:
    """No uncore caches remain for the kubelet: each cache is exactly one NUMA node. Its distances are not published."""
    shape = Shape(sockets=2, numa=8, cores=8, threads=2, memory=(32 * GI,) * 16, distances=())
    return machine_of_shape(replace(shape, l3_cores=8, l3_size=32 * MI), name=name, model=_EPYC_7763)


def xeon_snc4(name: str) -> Machine:
    # Intel Xeon Platinum 8480+: 56 cores, SMT, 105 MB of L3 cache, 8 memory channels (ark.intel.com); with SNC4 the
    # cache is still reported as shared by the whole socket, so it spans four NUMA nodes. The memory is that of 16
    # modules of 32 GB. Distances 10, 12 and 21: `numactl --hardware` on such machines.
    shape = Shape(sockets=2, numa=4, cores=14, threads=2, memory=(64 * GI,) * 8, distances=(10, 12, 21))
    return machine_of_shape(
        replace(shape, l3_cores=56, l3_size=105 * MI), name=name, model="Intel(R) Xeon(R) Platinum 8480+"
    )


def laptop(name: str) -> Machine:
    # Intel Core i7-8565U: 4 cores, 8 threads, 8 MB of cache, up to 64 GB (ark.intel.com); 16 GB here.
    shape = Shape(cores=4, threads=2, memory=(16 * GI,), l3_cores=4, l3_size=8 * MI)
    return machine_of_shape(shape, name=name, model="Intel(R) Core(TM) i7-8565U CPU @ 1.80GHz")


def hybrid_desktop(name: str) -> Machine:
    # Intel Core i9-12900K: 8 performance cores with 2 threads, 8 efficiency cores with 1, 30 MB of L3 cache, up to
    # 128 GB (ark.intel.com); 32 GB here. Linux numbers the threads of a performance core next to each other, and
    # counts core ids of these in steps of 4 (an efficiency core takes one number, a cluster of them four).
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
