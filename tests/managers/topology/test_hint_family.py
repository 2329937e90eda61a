"""Families of hints: the rule and the list it stands for."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.managers.topology.demand import Demand, fewest_nodes
from numafit.managers.topology.hint import EXPLICIT_NODES, HintFamily, hints_of, masks_in_order, smallest_size
from tests.managers.topology.hints import demands, families, grounds

TWO_GPU_BOX = {0: 1, 1: 2}
"""GPU0 on node 0, GPU1 and GPU2 on node 1."""


def test_capacity_and_not_what_is_free_makes_a_hint_preferred() -> None:
    """With GPU2 taken two GPUs need both nodes, but node 1 alone has the capacity: not preferred (all releases)."""
    size = smallest_size(0b11, [Demand(2, TWO_GPU_BOX)], 2)
    family = HintFamily(0b11, (Demand(2, {0: 1, 1: 1}),), size=size)
    assert hints_of(family) == ((0b11, False),)


def test_a_request_beyond_all_nodes_has_no_hint_and_the_default_size() -> None:
    """An empty list means "cannot be satisfied"; the smallest size stays the number of nodes."""
    assert smallest_size(0b11, [Demand(4, TWO_GPU_BOX)], 2) == 2
    assert hints_of(HintFamily(0b11, (Demand(4, TWO_GPU_BOX),), size=2)) == ()


def test_a_device_on_two_nodes_counts_once() -> None:
    """A device is in a mask that holds any of its nodes (1.23 and later), and a mask that holds both has it once."""
    shared = Demand(2, {0: 1}, shared=(0b110,))
    assert [mask for mask, _ in HintFamily(0b111, (shared,)).listed()] == [0b011, 0b101, 0b111]


def test_reusable_cpus_must_lie_inside_the_mask() -> None:
    """Every mask in `touch` shares a node with the hint; a mask of one node is a node that must be there."""
    family = HintFamily(0b111, (), touch=(0b100,), size=1)
    assert family.listed() == ((0b100, True), (0b101, False), (0b110, False), (0b111, False))


def test_sockets_make_wider_hints_preferred() -> None:
    """align-by-socket (1.25 and later): hints that stay within the wanted number of sockets are preferred too."""
    family = HintFamily(0b1111, (), size=1, sockets=(0b0011, 0b1100), sockets_wanted=1)
    preferred = [mask for mask, preferred in family.listed() if preferred]
    assert preferred == [0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100]


def test_extras_stand_at_their_place_in_the_order() -> None:
    """Memory groups are hints beside the nodes that are still unassigned."""
    family = HintFamily(0b0101, (Demand(1, {0: 1, 2: 1}),), size=1, extras=(0b1010, 0b0001))
    assert family.listed() == ((0b0001, True), (0b0100, True), (0b0101, False), (0b1010, False))


def test_large_ground_sets_stay_families_and_empty_ones_become_the_empty_list() -> None:
    """34 NUMA nodes have 2^34 masks: nobody writes them down."""
    ground = (1 << 34) - 1
    free = dict.fromkeys(range(34), 10)
    family = HintFamily(ground, (Demand(15, free),), size=2)
    assert hints_of(family) is family
    assert hints_of(HintFamily(ground, (Demand(341, free),))) == ()
    assert isinstance(hints_of(HintFamily((1 << EXPLICIT_NODES) - 1, ())), tuple)


def test_a_large_family_can_be_counted() -> None:
    """Two of 34 equal nodes are enough: all masks but the empty one and the 34 single nodes."""
    family = HintFamily((1 << 34) - 1, (Demand(15, dict.fromkeys(range(34), 10)),))
    assert family.count() == 2**34 - 1 - 34
    assert family.narrowest() == 2


@given(st.data())
def test_the_list_is_the_rule(data: st.DataObject) -> None:
    """`listed`, `count`, `narrowest` and `empty` say what `holds` and `preferred` say mask by mask."""
    nodes = data.draw(grounds(6))
    family = data.draw(families(nodes))
    expected = tuple((mask, family.preferred(mask)) for mask in masks_in_order(nodes) if family.holds(mask))
    assert family.listed() == expected
    assert family.count() == len(expected)
    assert family.narrowest() == min((mask.bit_count() for mask, _ in expected), default=None)
    assert family.empty() == (not expected)


@given(st.data())
def test_the_smallest_size_is_that_of_the_first_mask_that_satisfies_all_demands(data: st.DataObject) -> None:
    """Small and large ground sets are searched differently and agree."""
    ground = data.draw(grounds(6))
    wanted = data.draw(st.lists(demands(ground), min_size=1, max_size=3))
    fitting = [mask.bit_count() for mask in masks_in_order(ground) if all(each.holds(mask) for each in wanted)]
    assert smallest_size(ground, wanted, 99) == min(fitting, default=99)
    assert fewest_nodes(ground, wanted) == min(fitting, default=None)
