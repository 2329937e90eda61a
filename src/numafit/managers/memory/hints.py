"""Which NUMA masks can give a container its memory, and which of them is best."""

from collections.abc import Mapping

from msgspec.structs import replace

from numafit.bits import mask_of, members
from numafit.ledger.ledger import Hint
from numafit.managers.memory.nodes import WRAP, MemoryNodes, table_of
from numafit.managers.topology.demand import Demand
from numafit.managers.topology.hint import EXPLICIT_NODES, HintFamily, HintList, masks_in_order, smallest_size
from numafit.managers.topology.merge import merge
from numafit.settings.versions import Behaviour

MemoryRequest = Mapping[str, int]
ReusableBytes = Mapping[tuple[int, str], int]
"""(NUMA mask, type) -> bytes that init containers of the pod leave; the mask must match exactly."""


def memory_hints(nodes: MemoryNodes, request: MemoryRequest, reuse: ReusableBytes, group_first: bool) -> HintList:
    """One list for all types asked for. `group_first`: masks barred by a group do not count for what is preferred."""
    if not request:
        return ()
    for node in nodes.values():
        for memory_type in request:
            table_of(node, memory_type)
    if len(nodes) > EXPLICIT_NODES:
        return _family(nodes, request, reuse, group_first)
    return _listed(nodes, request, reuse, group_first)


def _listed(nodes: MemoryNodes, request: MemoryRequest, reuse: ReusableBytes, group_first: bool) -> tuple[Hint, ...]:
    order = masks_in_order(mask_of(nodes))
    barred = _Barred(nodes)
    if group_first and barred.alone:
        # Most of what is barred on a busy machine goes at once; what stays has all its parts for the sums.
        order = tuple(mask for mask in order if not mask & barred.alone or not mask & (mask - 1))
    sums = [
        (
            size,
            memory_type,
            _sums(order, {1 << i: node.tables[memory_type].free for i, node in nodes.items()}),
            _sums(order, {1 << i: node.tables[memory_type].allocatable for i, node in nodes.items()}),
        )
        for memory_type, size in request.items()
    ]
    least = len(nodes)
    masks = []
    for mask in order:
        if group_first and mask in barred:
            continue
        for size, _, _, allocatable in sums:
            if allocatable[mask] < size:
                break
        else:
            count = mask.bit_count()
            least = min(least, count)
            if not group_first and mask in barred:
                continue
            for size, memory_type, free, _ in sums:
                if free[mask] < size and free[mask] + reuse.get((mask, memory_type), 0) & WRAP < size:
                    break
            else:
                masks.append((mask, count))
    return tuple((mask, count == least) for mask, count in masks)


def _sums(order: tuple[int, ...], values: Mapping[int, int]) -> dict[int, int]:
    """Mask -> sum over its nodes, wrapping; a mask comes after all its subsets of one node less."""
    sums = {0: 0}
    for mask in order:
        low = mask & -mask
        sums[mask] = sums[mask ^ low] + values[low] & WRAP
    return sums


class _Barred:
    """Masks that a group forbids: a node of a group alone, or several nodes of which one is used in another way."""

    def __init__(self, nodes: MemoryNodes) -> None:
        self.grouped = mask_of(i for i, node in nodes.items() if len(node.cells) > 1)
        self.busy = mask_of(i for i, node in nodes.items() if node.assignments > 0)
        self.cells = {i: mask_of(nodes[i].cells) for i in members(self.busy)}
        self.alone = mask_of(i for i, cells in self.cells.items() if cells & (cells - 1) == 0)

    def __contains__(self, mask: int) -> bool:
        if mask & (mask - 1) == 0:
            return mask & self.grouped != 0
        if mask & self.alone:
            return True
        busy = mask & self.busy
        return busy != 0 and any(self.cells[i] != mask for i in members(busy))


def _family(nodes: MemoryNodes, request: MemoryRequest, reuse: ReusableBytes, group_first: bool) -> HintList:
    """All subsets of the idle nodes that suffice, plus the few masks of nodes in use: single nodes and whole groups."""
    barred = _Barred(nodes)
    everything = mask_of(nodes)
    idle = everything & ~barred.busy & ~barred.grouped
    demands = tuple(
        Demand(size, {i: node.tables[memory_type].free for i, node in nodes.items()})
        for memory_type, size in request.items()
    )
    totals = tuple(
        Demand(size, {i: node.tables[memory_type].allocatable for i, node in nodes.items()})
        for memory_type, size in request.items()
    )
    in_use = {1 << i for i in members(barred.busy & ~barred.grouped)}
    in_use |= {cells for cells in barred.cells.values() if cells.bit_count() > 1}
    in_use |= {mask for mask, _ in reuse}
    extras = tuple(
        mask
        for mask in sorted(in_use)
        if mask not in barred
        and all(_reaches(total, mask, {}, "") for total in totals)
        and all(_reaches(demand, mask, reuse, name) for demand, name in zip(demands, request, strict=True))
    )
    least = smallest_size(idle if group_first else everything, totals, len(nodes))
    if group_first:
        for mask in in_use:
            if mask not in barred and all(_reaches(total, mask, {}, "") for total in totals):
                least = min(least, mask.bit_count())
    family = HintFamily(ground=idle, demands=demands, size=least, extras=extras)
    return family if extras or family.holds(idle) else ()


def _reaches(demand: Demand, mask: int, reuse: ReusableBytes, memory_type: str) -> bool:
    free = sum(demand.free[i] for i in members(mask))
    return free + reuse.get((mask, memory_type), 0) >= demand.need


def best_memory_hint(hints: HintList, inside: int = 0, above: int = 0) -> Hint | None:
    """Preferred first, then fewest nodes, then the smallest mask, among hints that contain the nodes of `inside`.

    With `above`, they must also hold a node with that id or a higher one.
    """
    if hints is None:
        return None
    if isinstance(hints, HintFamily):
        return _best_of_family(hints, inside, above)
    fitting = [hint for hint in hints if hint[0] is not None and hint[0] & inside == inside and hint[0] >> above]
    if not fitting:
        return None
    return min(fitting, key=lambda hint: (not hint[1], (hint[0] or 0).bit_count(), hint[0] or 0))


def _best_of_family(family: HintFamily, inside: int, above: int) -> Hint | None:
    """The merge of a single list is its best hint."""
    touch = family.touch + tuple(1 << node for node in members(inside))
    if above:
        touch += (family.ground >> above << above,)
    extras = tuple(mask for mask in family.extras if mask & inside == inside and mask >> above)
    narrowed = replace(family, touch=touch, extras=extras)
    if not extras and not narrowed.holds(family.ground):
        return None
    everything = family.ground
    for mask in extras:
        everything |= mask
    return merge("best-effort", ({"memory": narrowed},), everything, behaviour=Behaviour(merge_equal_masks=True)).best
