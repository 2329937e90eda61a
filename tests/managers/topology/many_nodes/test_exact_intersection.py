"""Reachability of a mask by hints of several families."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.managers.topology.demand import Demand
from numafit.managers.topology.hint import HintFamily, masks_in_order
from numafit.managers.topology.intersections import intersections
from numafit.managers.topology.many_nodes.exact_intersection import ExactIntersectionTest
from tests.managers.topology.hints import demands, grounds


def test_two_resources_may_each_drop_one_half() -> None:
    """The common nodes need not be a hint of any resource: each keeps what the other gives up."""
    cpu = HintFamily(0b1111, (Demand(2, {0: 0, 1: 1, 2: 1, 3: 1}),))
    gpu = HintFamily(0b1111, (Demand(1, {0: 0, 1: 1, 2: 0, 3: 1}),))
    assert not cpu.holds(0b0001)
    assert not gpu.holds(0b0001)
    assert ExactIntersectionTest([cpu, gpu], 0b1111).passes(0b0001)


@given(st.data())
def test_a_mask_passes_exactly_if_some_choice_of_hints_has_it_in_common(data: st.DataObject) -> None:
    """By all ANDs of the written lists. The last resort, sharing nodes out, is asked directly too."""
    nodes = data.draw(grounds(5))
    touch = st.lists(st.sampled_from(masks_in_order(nodes)), max_size=1).map(tuple)
    family = st.builds(HintFamily, st.just(nodes), st.lists(demands(nodes), min_size=1, max_size=2).map(tuple), touch)
    families = data.draw(st.lists(family.filter(lambda each: not each.empty()), min_size=2, max_size=3))
    pool = data.draw(st.sampled_from(masks_in_order(nodes)))
    reached = intersections([[mask for mask in masks_in_order(nodes) if each.holds(mask)] for each in families], pool)
    test = ExactIntersectionTest(families, pool)
    for mask in masks_in_order(pool):
        assert test.passes(mask) == (mask in reached)
        assert test._shared_out(pool & ~mask) == (mask in reached)
