"""Which CPUs the kubelet takes out of a free set: one door to the assignment algorithms of all releases.

Up to 1.21 sockets, cores, CPUs (`pick.unordered`); since 1.22 best fit (`pick.packed`); on request even shares
over NUMA nodes (`distribute`).
"""

from collections.abc import Iterator, Sequence

from numafit.machine.topology import CpuTopology
from numafit.managers.cpu.pick.packed import packed
from numafit.settings.options import CpuOptions
from numafit.settings.versions import Behaviour


def take(
    topology: CpuTopology,
    behaviour: Behaviour,
    options: CpuOptions,
    free: int,
    count: int,
    *,
    start_order: Sequence[int] | None = None,
) -> int:
    """`count` CPUs out of `free`. Raises PickError in the kubelet's words.

    The result can hold CPUs outside `free`, and then more of them than asked for, on machines with cores or sockets of
    different sizes; and fewer where a socket spans NUMA nodes: the kubelet counts like that. `start_order` matters up
    to 1.21 only: the sockets as Go's random map order gives them, ascending unless told.
    """
    # Only old releases and one option need these algorithms, and a command starts quicker without them.
    if behaviour.cpu_sort == "sockets-unordered":
        from numafit.managers.cpu.pick.unordered import take_unordered

        return take_unordered(topology, behaviour, free, count, start_order)
    if options.distribute_cpus_across_numa:
        from numafit.managers.cpu.distribute.shares import Distribution, distributed

        share = Distribution(
            count=count,
            group=topology.cpus_per_core if options.full_pcpus_only else 1,
            spread=options.distribute_cpus_across_cores,
            by_socket=options.align_by_socket and behaviour.distribute_by_socket,
        )
        return distributed(topology, behaviour, share, free)
    return packed(
        topology,
        behaviour,
        free,
        count,
        spread=options.distribute_cpus_across_cores,
        uncore=options.prefer_align_cpus_by_uncorecache,
    )


def take_outcomes(
    topology: CpuTopology, behaviour: Behaviour, options: CpuOptions, free: int, count: int
) -> Iterator[int]:
    """All distinct results that the kubelet may come to, the one `take` gives first. Several only up to 1.21."""
    if behaviour.cpu_sort == "sockets-unordered":
        from numafit.managers.cpu.pick.unordered import outcomes_unordered

        yield from outcomes_unordered(topology, behaviour, free, count)
    else:
        yield take(topology, behaviour, options, free, count)
