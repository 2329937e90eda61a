"""Whole cores: exclusive CPUs come with all threads of their cores, so that two jobs never share one.

Around the engine's answer, which knows nothing of it: free threads of cores that another lease has a part of are not
offered, the number is rounded up to whole cores, and what was taken of a core is taken whole. A thread that the caller
may not use or that is kept back counts as not there: who has only such cores gets what he may have of them.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.place import Placed, place
from numafit.host.pool import pool_of, split_cores
from numafit.host.request import JobRequest

SPLIT = "(cores)"
"""Stands for the holder of threads whose core is not whole any more."""
SPREAD = "spread-cores"


class WholeCores(msgspec.Struct, frozen=True):
    """What can be had in whole cores."""

    free: int
    split: int
    cores: tuple[int, ...]
    size: int
    """Threads of a core; 1 where cores differ in it: nothing is rounded then, only taken whole."""
    leases: tuple[Lease, ...]
    """Those that are held, and one for what is not offered."""

    def whole(self, cpus: int) -> int:
        """These CPUs with the free threads of their cores."""
        for core in self.cores:
            if core & cpus:
                cpus |= core & self.free
        return cpus

    def rounded(self, count: int) -> int:
        return -(-count // self.size) * self.size


def in_whole_cores(host: Host, request: JobRequest) -> bool:
    """Who spreads his CPUs over cores wants one thread of each."""
    if not request.cpus or request.threads or request.like_kubelet or SPREAD in request.prefer:
        return False
    return any(core & (core - 1) for core in host.cores)


def free_cores(host: Host, leases: Sequence[Lease], request: JobRequest) -> WholeCores:
    """Of single CPUs, where the request is not for whole cores."""
    free = pool_of(host, leases) & host.usable_cpus & ~host.reserved_cpus
    if not in_whole_cores(host, request):
        return WholeCores(free, 0, (), 1, tuple(leases))
    online = host.online
    cores = tuple(core & online for core in host.cores if core & online)
    sizes = {core.bit_count() for core in cores}
    split = split_cores(host, leases) & free
    holder = (Lease(SPLIT, "", 0, "", 0.0, exclusive=split),) if split else ()
    return WholeCores(free & ~split, split, cores, min(sizes) if len(sizes) == 1 else 1, (*leases, *holder))


def place_whole(host: Host, cores: WholeCores, request: JobRequest) -> Placed:
    """Where whole cores do not make the number, because the caller may use only a part of some, the rest will do."""
    if not cores.cores:
        return place(host, cores.leases, request)
    wanted = cores.rounded(request.cpus)
    placed = None
    if request.cpus < wanted <= cores.free.bit_count():
        placed = place(host, cores.leases, replace(request, cpus=wanted))
    if placed is None or not placed.admitted:
        placed = place(host, cores.leases, request)
    exclusive = cores.whole(placed.exclusive)
    return replace(placed, request=request, exclusive=exclusive, asked=" in whole cores", split=cores.split.bit_count())
