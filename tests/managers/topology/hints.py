"""Random hints and families, and a merge that walks every permutation as the kubelet does."""

from collections.abc import Mapping, Sequence
from itertools import product

from hypothesis import strategies as st

from numafit.bits import members
from numafit.errors import KubeletPanic
from numafit.ledger.ledger import Hint
from numafit.managers.topology.demand import Demand
from numafit.managers.topology.hint import HintFamily, masks_in_order

Lists = Sequence[tuple[Hint, ...]]
Distances = Mapping[int, Sequence[int]] | None


def combined(permutation: Sequence[Hint], ground: int, equal_masks: bool) -> tuple[int, bool]:
    mask, preferred = ground, True
    masks = [nodes for nodes, _ in permutation if nodes is not None]
    for nodes in masks:
        mask &= nodes
        if equal_masks and nodes != masks[0]:
            preferred = False
    return mask, preferred and all(each for _, each in permutation)


def average(mask: int, distances: Mapping[int, Sequence[int]]) -> float:
    total, count = 0.0, 0
    for i in members(mask):
        for j in members(mask):
            if j >= len(distances[i]):
                raise KubeletPanic(f"runtime error: index out of range [{j}] with length {len(distances[i])}")
            total += distances[i][j]
            count += 1
    return total / count


def narrower(one: int, other: int) -> bool:
    return (one.bit_count(), one) < (other.bit_count(), other)


def fitter(current: tuple[int, bool], new: tuple[int, bool], distances: Distances) -> tuple[int, bool]:
    if new[0] == current[0]:
        return current
    if distances is not None and new[0].bit_count() == current[0].bit_count():
        now, then = average(current[0], distances), average(new[0], distances)
        if now != then:
            return current if now < then else new
    return current if narrower(current[0], new[0]) else new


def better(current: tuple[int, bool], new: tuple[int, bool], wanted: int, distances: Distances) -> tuple[int, bool]:
    """The kubelet's cases one by one (1.24 and later)."""
    if current[1] != new[1]:
        return current if current[1] else new
    if current[1]:
        return fitter(current, new, distances)
    now, then = current[0].bit_count(), new[0].bit_count()
    if now > wanted:
        return fitter(current, new, distances)
    if now == wanted:
        return fitter(current, new, distances) if then == wanted else current
    if then > wanted:
        return current
    if then == wanted or then > now:
        return new
    return current if then < now else fitter(current, new, distances)


def walk(lists: Lists, ground: int, *, equal_masks: bool, distances: Distances = None) -> tuple[int, bool]:
    """Every permutation, last list fastest."""
    sizes = [[mask.bit_count() for mask, _ in hints if mask is not None] for hints in lists]
    wanted = max((min(counts) for counts in sizes if counts), default=0)
    best: tuple[int, bool] | None = None if equal_masks else (ground, False)
    for permutation in product(*lists):
        new = combined(permutation, ground, equal_masks)
        if not new[0]:
            continue
        if best is None:
            best = new
        elif equal_masks:
            best = better(best, new, wanted, distances)
        elif (new[1] and not best[1]) or (new[1] == best[1] and narrower(new[0], best[0])):
            best = new
    return best or (ground, False)


def walked(
    policy: str,
    hints: Sequence[tuple[Hint, ...] | None],
    ground: int,
    *,
    equal_masks: bool,
    distances: Distances = None,
) -> tuple[Hint, bool]:
    """(best hint, admitted) for one resource per list."""
    lists: list[tuple[Hint, ...]] = [((None, True),) if each is None else each or ((None, False),) for each in hints]
    if policy == "single-numa-node":
        lists = [tuple(h for h in each if h[1] and (h[0] is None or h[0].bit_count() == 1)) for each in lists]
        mask, preferred = walk(lists, ground, equal_masks=equal_masks)
        return (None if mask == ground else mask, preferred), preferred
    best = walk(lists, ground, equal_masks=equal_masks, distances=distances)
    return best, policy == "best-effort" or best[1]


@st.composite
def grounds(draw: st.DrawFn, most: int) -> int:
    ids = draw(st.one_of(st.integers(1, most).map(range), st.sets(st.integers(0, most + 3), min_size=1, max_size=most)))
    return sum(1 << i for i in ids)


@st.composite
def hint_lists(draw: st.DrawFn, ground: int, longest: int = 6) -> tuple[Hint, ...] | None:
    """Anything the merge may meet, also what no provider makes: the empty mask, nodes that are not there, doubles."""
    odd = st.sampled_from([None, 0, ground, 1 << 40, ground | 1 << 40])
    mask = st.one_of(st.sampled_from(masks_in_order(ground)), st.sampled_from(masks_in_order(ground)), odd)
    hints = st.lists(st.tuples(mask, st.booleans()), max_size=longest).map(tuple)
    return draw(st.one_of(st.none(), hints, hints, hints))


@st.composite
def rows(draw: st.DrawFn, ground: int, length: int | None = None) -> dict[int, list[int]]:
    length = ground.bit_length() if length is None else length
    distance = st.sampled_from([10, 11, 12, 20])
    return {i: draw(st.lists(distance, min_size=length, max_size=length)) for i in members(ground)}


@st.composite
def demands(draw: st.DrawFn, ground: int) -> Demand:
    free = {i: draw(st.integers(0, 9)) for i in members(ground)}
    shared = tuple(draw(st.lists(st.sampled_from(masks_in_order(ground)), max_size=2)))
    whole = Demand(0, free, shared).amount(ground)
    return Demand(draw(st.integers(0, whole + 1)), free, draw(st.sampled_from([(), (), shared])))


@st.composite
def families(draw: st.DrawFn, nodes: int) -> HintFamily:
    ground = draw(st.one_of(st.just(nodes), st.sampled_from(masks_in_order(nodes))))
    some = st.lists(st.sampled_from(masks_in_order(nodes)), max_size=2).map(tuple)
    sockets = draw(st.sampled_from([(), (), (nodes & 0b10110011, nodes & ~0b10110011)]))
    return HintFamily(
        ground,
        tuple(draw(st.lists(demands(ground), max_size=2))),
        draw(st.one_of(st.just(()), st.just(()), some)),
        draw(st.integers(1, 3)),
        sockets,
        draw(st.integers(1, 2)) if sockets else None,
        draw(st.one_of(st.just(()), some)),
    )
