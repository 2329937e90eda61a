"""The merge, against a walk over all permutations, vectors of the real kubelet and large machines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import KubeletPanic
from numafit.ledger.ledger import Hint
from numafit.managers.topology.demand import Demand
from numafit.managers.topology.hint import HintFamily, ProviderHints, masks_in_order
from numafit.managers.topology.many_nodes import family_merge
from numafit.managers.topology.merge import Merge, merge
from numafit.settings.versions import behaviour_of, parse_version
from tests.managers.topology.hints import families, grounds, hint_lists, rows, walked

V120, V136 = (behaviour_of(parse_version(text)) for text in ("1.20", "1.36"))
POLICIES = ("best-effort", "restricted", "single-numa-node")
ANY: tuple[Hint, ...] = ((None, True),)
IMPOSSIBLE: tuple[Hint, ...] = ((None, False),)
FOUR = {0: [10, 12, 20, 20], 1: [12, 10, 20, 20], 2: [20, 20, 10, 11], 3: [20, 20, 11, 10]}


def one_each(lists: object) -> list[ProviderHints]:
    assert isinstance(lists, list)
    return [{f"resource-{at}": hints} for at, hints in enumerate(lists)]


def pairs(text: str) -> tuple[Hint, ...]:
    """`1t 3f`: mask and preference."""
    return tuple((int(word[:-1]), word.endswith("t")) for word in text.split())


ALL_PAIRS = " ".join(f"{mask}{'t' if mask.bit_count() == 2 else 'f'}" for mask in masks_in_order(15)[4:])


@pytest.mark.parametrize(
    ("nodes", "lists", "now", "closest", "single", "old"),
    [
        (2, ["1t 2t 3f", "2t 3f"], (2, True), (2, True), (2, True), (2, True)),
        (2, ["3t", "1t 2t 3f"], (3, False), (3, False), (None, False), (1, True)),
        (2, ["1t", "2t"], (3, False), (3, False), (None, False), (3, False)),
        (2, ["2t 3f", "1t"], (1, False), (1, False), (None, False), (1, False)),
        (2, [IMPOSSIBLE, "1t 2t 3f"], (1, False), (1, False), (None, False), (1, False)),
        (2, [ANY, ANY], (3, True), (3, True), (None, True), (3, True)),
        (4, [ALL_PAIRS, ANY], (3, True), (12, True), (None, False), (3, True)),
        (4, ["3t 12t 15f", "5f 10f 15f"], (3, False), (12, False), (None, False), (1, False)),
        (4, ["7f 11f", "13f 14f"], (5, False), (5, False), (None, False), (5, False)),
    ],
)
def test_the_kubelets_vectors(
    nodes: int, lists: list[str | tuple[Hint, ...]], now: Hint, closest: Hint, single: Hint, old: Hint
) -> None:
    """Results of the real merge: 1.24 and later, with prefer-closest-numa-nodes, single-numa-node, up to 1.23."""
    providers = one_each([pairs(hints) if isinstance(hints, str) else hints for hints in lists])
    ground = (1 << nodes) - 1
    assert merge("best-effort", providers, ground, behaviour=V136) == Merge(now, True)
    assert merge("restricted", providers, ground, behaviour=V136, distances=FOUR) == Merge(closest, closest[1])
    assert merge("single-numa-node", providers, ground, behaviour=V136, distances=FOUR) == Merge(single, single[1])
    assert merge("restricted", providers, ground, behaviour=V120) == Merge(old, old[1])


@pytest.mark.parametrize("nothing", [None, {}, {"cpu": None}])
def test_no_preference_is_a_preferred_hint_for_the_whole_machine(nothing: ProviderHints) -> None:
    """No answer, an empty answer and an answer without a list mean the same (all releases)."""
    assert merge("restricted", [nothing], 0b101, behaviour=V136) == Merge((0b101, True), True)
    assert merge("single-numa-node", [nothing], 0b101, behaviour=V136) == Merge((None, True), True)
    assert merge("restricted", [], 0b101, behaviour=V136) == Merge((0b101, True), True)


def test_an_empty_list_is_never_preferred_and_binds_no_node() -> None:
    """ "Cannot be satisfied" rejects with restricted, and best-effort still follows the other lists (all releases)."""
    providers: list[ProviderHints] = [{"gpu": ()}, {"cpu": ((2, True),)}]
    assert merge("restricted", providers, 3, behaviour=V136) == Merge((2, False), False)
    assert merge("best-effort", providers, 3, behaviour=V120) == Merge((2, False), True)
    assert merge("single-numa-node", providers, 3, behaviour=V136) == Merge((None, False), False)


def test_single_numa_node_on_one_node_stores_no_mask() -> None:
    """A mask of all nodes is stored as none (all releases)."""
    assert merge("single-numa-node", [{"cpu": ((1, True),)}], 1, behaviour=V136) == Merge((None, True), True)


def test_sparse_ids_make_the_kubelet_panic_when_two_masks_of_one_size_are_compared() -> None:
    """prefer-closest-numa-nodes reads a distance row by NUMA id (1.26 and later): ids 0 and 8 have rows of two."""
    distances = {0: [10, 20], 8: [20, 10]}
    both: ProviderHints = {"cpu": ((1, True), (256, True), (257, False))}
    with pytest.raises(KubeletPanic, match=r"^runtime error: index out of range \[8\] with length 2$"):
        merge("restricted", [both], 257, behaviour=V136, distances=distances)
    only: ProviderHints = {"cpu": ((256, True), (257, False))}
    assert merge("restricted", [only], 257, behaviour=V136, distances=distances) == Merge((256, True), True)
    assert merge("single-numa-node", [both], 257, behaviour=V136, distances=distances) == Merge((1, True), True)


@given(st.data())
def test_lists_merge_as_if_every_permutation_were_walked(data: st.DataObject) -> None:
    """Both rule sets, all policies, with and without distances, and panics in the same words."""
    ground = data.draw(grounds(4))
    lists = data.draw(st.lists(hint_lists(ground), max_size=4))
    policy = data.draw(st.sampled_from(POLICIES))
    behaviour = data.draw(st.sampled_from([V120, V136]))
    length = data.draw(st.sampled_from([ground.bit_length(), ground.bit_count()]))
    distances = data.draw(st.one_of(st.none(), rows(ground, length))) if behaviour is V136 else None
    expected_panic = ""
    try:
        expected = walked(policy, lists, ground, equal_masks=behaviour is V136, distances=distances)
    except KubeletPanic as panic:
        expected_panic = str(panic)
    if expected_panic:
        with pytest.raises(KubeletPanic) as raised:
            merge(policy, one_each(lists), ground, behaviour=behaviour, distances=distances)
        assert str(raised.value) == expected_panic
    else:
        merged = merge(policy, one_each(lists), ground, behaviour=behaviour, distances=distances)
        assert merged == Merge(*expected)


@given(st.data(), st.booleans())
def test_long_lists_merge_as_if_every_permutation_were_walked(data: st.DataObject, sparse: bool) -> None:
    """Full lists over several nodes take another way through the merge than short ones."""
    ground = 0b1101011 if sparse else 0b11111
    hints = st.lists(st.tuples(st.sampled_from(masks_in_order(ground)), st.just(False)), min_size=26, max_size=40)
    lists = data.draw(st.lists(hints.map(tuple), min_size=2, max_size=2))
    best, _ = walked("best-effort", lists, ground, equal_masks=True)
    assert merge("best-effort", one_each(lists), ground, behaviour=V136) == Merge(best, True)
    best, _ = walked("best-effort", lists, ground, equal_masks=False)
    assert merge("best-effort", one_each(lists), ground, behaviour=V120) == Merge(best, True)


@given(st.data(), st.sampled_from([0, 3, 10]))
def test_families_merge_like_their_lists(data: st.DataObject, projected: int) -> None:
    """Families, explicit lists and mixtures; with `projected` 0 everything is searched, else small rests are listed."""
    nodes = data.draw(grounds(6))
    kinds = st.one_of(families(nodes), families(nodes), families(nodes), hint_lists(nodes))
    lists = data.draw(st.lists(kinds, min_size=1, max_size=4))
    policy = data.draw(st.sampled_from(POLICIES))
    behaviour = data.draw(st.sampled_from([V120, V136, V136, V136]))
    distances = data.draw(st.one_of(st.none(), rows(nodes))) if behaviour is V136 else None
    written = [hints.listed() if isinstance(hints, HintFamily) else hints for hints in lists]
    expected = merge(policy, one_each(written), nodes, behaviour=behaviour, distances=distances)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(family_merge, "_PROJECTED_NODES", projected)
        assert merge(policy, one_each(lists), nodes, behaviour=behaviour, distances=distances) == expected


def test_34_nodes_of_which_two_have_cpus() -> None:
    """Memory of accelerators as NUMA nodes: the CPU hints bind the merge to the two CPU nodes."""
    ground = (1 << 34) - 1
    memory = HintFamily(ground, (Demand(3, dict.fromkeys(range(34), 1)),), size=3)
    cpu = HintFamily(0b11, (Demand(4, {0: 8, 1: 8}),), size=1).listed()
    merged = merge("restricted", [{"cpu": cpu}, {"memory": memory}], ground, behaviour=V136)
    assert merged == Merge((0b11, False), False)


def test_64_nodes_find_the_lowest_preferred_pair() -> None:
    """Only nodes 7 and 40 together hold enough of both resources."""
    ground = (1 << 64) - 1
    cpu = HintFamily(ground, (Demand(20, {i: 10 if i % 11 == 7 else 9 for i in range(64)}),), size=2)
    gpu = HintFamily(ground, (Demand(2, {i: 1 if i in (3, 7, 40, 41) else 0 for i in range(64)}),), size=2)
    merged = merge("restricted", [{"gpu": gpu}, {"cpu": cpu}], ground, behaviour=V136)
    assert merged == Merge((1 << 7 | 1 << 40, True), True)


def test_64_nodes_take_the_closest_reachable_nodes() -> None:
    """prefer-closest-numa-nodes: nodes in one group of four are near, and only 60 to 63 have GPUs left."""
    ground = (1 << 64) - 1
    distances = {i: [10 if i == j else 12 if i // 4 == j // 4 else 32 for j in range(64)] for i in range(64)}
    gpu = HintFamily(ground, (Demand(3, dict.fromkeys((2, 9, 61, 62, 63), 1)),), size=2)
    merged = merge("best-effort", [{"gpu": gpu}], ground, behaviour=V136, distances=distances)
    assert merged == Merge((0b111 << 61, False), True)
