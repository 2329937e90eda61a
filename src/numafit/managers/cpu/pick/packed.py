"""Best fit: whole NUMA nodes and sockets, then caches, then cores, then single CPUs (kubelet 1.22 and later).

Everything is sorted by the number of free CPUs, ties by id, inside the order of what stands above it. Only what has a
free CPU appears. What lies in two parents appears twice, as in the kubelet.

Each step makes its list once, from what is free when the step begins, and then walks it. A thing that stands in the
list twice is therefore taken twice: the set does not grow, but the number still wanted drops again. Whole things are
taken with all their CPUs, also with those that were not free; that happens where a core or socket is larger than the
machine's average, which is what the kubelet compares the free CPUs with.
"""

from collections.abc import Iterable, Mapping

from numafit.machine.topology import CpuTopology, Part
from numafit.managers.cpu.pick.errors import FAILED, PickError, not_enough
from numafit.settings.versions import Behaviour

Cores = tuple[int, ...]
"""The CPU sets of some cores, by ascending core id."""


def _by_free(sets: Mapping[int, int], free: int) -> list[int]:
    ranked = [((free & cpus).bit_count(), key) for key, cpus in sets.items() if free & cpus]
    ranked.sort()
    return [key for _, key in ranked]


def _parts_by_free(parts: Iterable[Part], free: int) -> list[int]:
    """By free CPUs in the whole part; a part counts as present if it has a free CPU inside the parent."""
    ranked = [((free & part.cpus).bit_count(), part.id) for part in parts if free & part.shared]
    ranked.sort()
    return [key for _, key in ranked]


def numa_order(topology: CpuTopology, free: int) -> list[int]:
    if topology.numa_first:
        return _by_free(topology.numa_nodes, free)
    inside = topology.socket_numa_nodes
    return [numa for socket in _by_free(topology.sockets, free) for numa in _parts_by_free(inside[socket], free)]


def socket_order(topology: CpuTopology, behaviour: Behaviour, free: int) -> list[int]:
    if behaviour.cpu_sort == "sockets" or not topology.numa_first:
        return _by_free(topology.sockets, free)
    inside = topology.numa_sockets
    return [socket for numa in _by_free(topology.numa_nodes, free) for socket in _parts_by_free(inside[numa], free)]


def uncore_order(topology: CpuTopology, free: int) -> list[int]:
    inside = topology.numa_uncore_caches
    return [uncore for numa in numa_order(topology, free) for uncore in _parts_by_free(inside[numa], free)]


def core_groups(topology: CpuTopology, behaviour: Behaviour, free: int) -> list[Cores]:
    """The cores of each socket or NUMA node, whichever stands directly above cores; the groups in their order.

    Inside a group the kubelet sorts by free CPUs, ties by core id; that is left to the caller, who seldom needs all of
    it.
    """
    if behaviour.cpu_sort == "sockets" or topology.numa_first:
        return [topology.socket_cores[socket] for socket in socket_order(topology, behaviour, free)]
    return [topology.numa_cores[numa] for numa in numa_order(topology, free)]


Taken = tuple[int, int]
"""The CPUs a step took, and how many are wanted after it."""


def lowest(cpus: int, count: int) -> int:
    """The `count` lowest members; all if there are fewer."""
    if count >= cpus.bit_count():
        return cpus
    width = cpus.bit_length()
    low, high = 0, width
    while low < high:
        middle = (low + high) >> 1
        if (cpus & ((1 << middle) - 1)).bit_count() < count:
            low = middle + 1
        else:
            high = middle
    return cpus & ((1 << low) - 1)


def packed(
    topology: CpuTopology,
    behaviour: Behaviour,
    free: int,
    count: int,
    *,
    spread: bool = False,
    uncore: bool = False,
) -> int:
    """`spread`: no whole cores, and single CPUs by number instead of by core. `uncore`: keep to few uncore caches."""
    if count < 1:
        return 0
    left = free & topology.cpus
    if count > left.bit_count():
        raise not_enough(behaviour, count, free)
    result, need = 0, count

    if behaviour.cpu_sort == "sockets":
        steps = [_full_sockets]
    elif topology.numa_first:
        steps = [_full_numa_nodes, _full_sockets]
    else:
        steps = [_full_sockets, _full_numa_nodes]
    if uncore:
        steps.append(_uncore_caches)
    steps += [_cpus_by_number] if spread else [_full_cores, _cpus_by_core]
    for step in steps:
        taken, need = step(topology, behaviour, left, need)
        result |= taken
        if need < 1:
            return result
        left &= ~taken
    raise PickError(FAILED)


def _full_numa_nodes(topology: CpuTopology, behaviour: Behaviour, free: int, need: int) -> Taken:
    taken = 0
    if need < topology.smallest_numa_node:
        return taken, need
    for numa in numa_order(topology, free):
        cpus = topology.numa_nodes[numa]
        if free & cpus == cpus and need >= cpus.bit_count():
            taken |= cpus
            need -= cpus.bit_count()
    return taken, need


def _full_sockets(topology: CpuTopology, behaviour: Behaviour, free: int, need: int) -> Taken:
    taken = 0
    if need < topology.smallest_socket:
        return taken, need
    for socket in socket_order(topology, behaviour, free):
        cpus = topology.sockets[socket]
        if (free & cpus).bit_count() == topology.cpus_per_socket and need >= cpus.bit_count():
            taken |= cpus
            need -= cpus.bit_count()
    return taken, need


def _uncore_caches(topology: CpuTopology, behaviour: Behaviour, free: int, need: int) -> Taken:
    taken = 0
    order = uncore_order(topology, free)
    # The kubelet looks for whole caches again at each turn of the walk below, but a second look never finds more.
    if need >= topology.cpus_per_uncore:
        for uncore in order:
            cpus = topology.uncore_caches[uncore]
            if free & cpus == cpus and need >= cpus.bit_count():
                taken |= cpus
                need -= cpus.bit_count()
        if need < 1:
            return taken, need
        free &= ~taken
    for uncore in order:
        if (free & topology.uncore_caches[uncore]).bit_count() < need:
            continue
        part = _part_of_uncore(topology.uncore_cores[uncore], topology.cpus_per_core, behaviour, free, need)
        if part.bit_count() == need:
            return taken | part, 0
    return taken, need


def _part_of_uncore(cores: Cores, per_core: int, behaviour: Behaviour, free: int, need: int) -> int:
    """The free CPUs of as many cores as the request seems to need; they serve only if their number is right."""
    wanted = (need + per_core - 1) // per_core if behaviour.uncore_odd else need // per_core
    part = 0
    for core in cores:
        if wanted < 1:
            break
        if free & core:
            part |= free & core
            wanted -= 1
    # the kubelet asks for "odd", also where a core has four threads
    if behaviour.uncore_odd and need % 2 and per_core > 1 and part.bit_count() > need:
        part ^= 1 << (part.bit_length() - 1)
    return part


def _full_cores(topology: CpuTopology, behaviour: Behaviour, free: int, need: int) -> Taken:
    taken, size = 0, topology.core_size
    groups = core_groups(topology, behaviour, free)
    if size:
        if need < size:
            return taken, need
        for group in groups:
            for core in group:
                if free & core == core:
                    taken |= core
                    need -= size
                    if need < size:
                        return taken, need
        return taken, need
    for group in groups:
        for core in group:
            if (free & core).bit_count() == topology.cpus_per_core and need >= core.bit_count():
                taken |= core
                need -= core.bit_count()
    return taken, need


def _cpus_by_core(topology: CpuTopology, behaviour: Behaviour, free: int, need: int) -> Taken:
    taken = 0
    for group in core_groups(topology, behaviour, free):
        parts = [free & core for core in group if free & core]
        parts.sort(key=int.bit_count)  # stable: ties stay by core id
        for part in parts:
            size = part.bit_count()
            if size >= need:
                return taken | lowest(part, need), 0
            taken |= part
            need -= size
    return taken, need


def _cpus_by_number(topology: CpuTopology, behaviour: Behaviour, free: int, need: int) -> Taken:
    taken = 0
    for socket in socket_order(topology, behaviour, free):
        part = free & topology.sockets[socket]
        size = part.bit_count()
        if size >= need:
            return taken | lowest(part, need), 0
        taken |= part
        need -= size
    return taken, need
