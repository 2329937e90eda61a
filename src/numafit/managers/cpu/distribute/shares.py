"""distribute-cpus-across-numa (since 1.23): equally many CPUs from each of as few NUMA nodes as possible.

For a growing number of nodes the kubelet looks at all combinations, and keeps the one after which the free CPUs are
most evenly spread over the nodes. Each node of it gives an equal share in whole groups (a core, or one CPU); what is
left goes round a subset of the nodes, one group at a time. The search is in `node_choice`; here the CPUs are
taken.
"""

import msgspec

from numafit.machine.topology import CpuTopology
from numafit.managers.cpu.distribute.kubelet_walk import walk_nodes
from numafit.managers.cpu.distribute.node_choice import ChosenNodes, choose_nodes
from numafit.managers.cpu.pick.errors import PickError, PickHangs, not_enough
from numafit.managers.cpu.pick.packed import numa_order, packed
from numafit.settings.versions import Behaviour


class Distribution(msgspec.Struct, frozen=True):
    """What is to be shared out, and how."""

    count: int
    group: int
    """CPUs are given in groups of this size."""
    spread: bool = False
    by_socket: bool = False
    """align-by-socket counts (1.37): nodes of one socket are preferred to better balance."""


def distributed(topology: CpuTopology, behaviour: Behaviour, share: Distribution, free: int) -> int:
    count, group = share.count, share.group
    if count % group:
        return packed(topology, behaviour, free, count, spread=share.spread)
    if count < 1:
        return 0
    left = free & topology.cpus
    if count > left.bit_count():
        raise not_enough(behaviour, count, free)

    order = numa_order(topology, left)
    choice = _choose(topology, share, order, left)
    if choice is None:
        return packed(topology, behaviour, free, count, spread=share.spread)
    return _take(topology, behaviour, share, choice, left)


def _choose(topology: CpuTopology, share: Distribution, order: list[int], free: int) -> ChosenNodes | None:
    frees = {numa: (free & topology.numa_nodes[numa]).bit_count() for numa in order}
    groups = -(-topology.num_cpus // share.group)
    groups_per_node = -(-groups // topology.num_numa_nodes)
    wanted = share.count // share.group
    sizes = range(-(-wanted // groups_per_node), min(wanted, len(frees)) + 1)
    sockets = None
    if share.by_socket:
        sockets = {numa: frozenset(part.id for part in topology.numa_sockets[numa]) for numa in order}
    # A node that lies in two sockets stands in the order twice; only the walk knows what the kubelet makes of that.
    find = choose_nodes if len(frees) == len(order) else walk_nodes
    return find(order, frees, share.count, share.group, sizes, sockets)


def _take(topology: CpuTopology, behaviour: Behaviour, share: Distribution, choice: ChosenNodes, free: int) -> int:
    count, group = share.count, share.group
    each = count // len(choice.nodes) // group * group
    if behaviour.distribute_by_socket:
        each = min(each, *((free & topology.numa_nodes[numa]).bit_count() // group * group for numa in choice.nodes))
    result, need = 0, count
    for numa in choice.nodes:
        taken = _take_quietly(topology, behaviour, share, free & topology.numa_nodes[numa], each)
        result |= taken
        free &= ~taken
        need -= taken.bit_count()

    rest = count - each * len(choice.nodes)
    while rest > 0:
        before = rest
        for numa in choice.remainder:
            if rest == 0:
                break
            part = free & topology.numa_nodes[numa]
            if part.bit_count() < group:
                continue
            taken = _take_quietly(topology, behaviour, share, part, group)
            result |= taken
            free &= ~taken
            need -= taken.bit_count()
            rest -= group
        if rest == before:
            raise PickHangs(count, group)
    if need > 0:
        raise PickError(f"accounting error, not enough CPUs allocated, remaining: {need}")
    if need < 0:
        raise PickError(f"accounting error, too many CPUs allocated, remaining: {need}")
    return result


def _take_quietly(topology: CpuTopology, behaviour: Behaviour, share: Distribution, free: int, count: int) -> int:
    """The kubelet ignores the errors of these inner calls and goes on with nothing taken."""
    try:
        return packed(topology, behaviour, free, count, spread=share.spread)
    except PickError:
        return 0
