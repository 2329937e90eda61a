"""Reachability of a mask by hints of several families."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.managers.family import Demand, Family
from numafit.managers.masks import masks_in_order
from numafit.managers.reach import ReachTest
from numafit.managers.superset import meets
from tests.managers.hints import demands, grounds


def test_two_resources_may_each_drop_one_half() -> None:
    """The common nodes need not be a hint of any resource: each keeps what the other gives up."""
    cpu = Family(0b1111, (Demand(2, {0: 0, 1: 1, 2: 1, 3: 1}),))
    gpu = Family(0b1111, (Demand(1, {0: 0, 1: 1, 2: 0, 3: 1}),))
    assert not cpu.holds(0b0001)
    assert not gpu.holds(0b0001)
    assert ReachTest([cpu, gpu], 0b1111).passes(0b0001)


@given(st.data())
def test_a_mask_passes_exactly_if_some_choice_of_hints_has_it_in_common(data: st.DataObject) -> None:
    """By all ANDs of the written lists. The last resort, sharing nodes out, is asked directly too."""
    nodes = data.draw(grounds(5))
    touch = st.lists(st.sampled_from(masks_in_order(nodes)), max_size=1).map(tuple)
    family = st.builds(Family, st.just(nodes), st.lists(demands(nodes), min_size=1, max_size=2).map(tuple), touch)
    families = data.draw(st.lists(family.filter(lambda each: not each.empty()), min_size=2, max_size=3))
    pool = data.draw(st.sampled_from(masks_in_order(nodes)))
    reached = meets([[mask for mask in masks_in_order(nodes) if each.holds(mask)] for each in families], pool)
    test = ReachTest(families, pool)
    for mask in masks_in_order(pool):
        assert test.passes(mask) == (mask in reached)
        assert test._shared_out(pool & ~mask) == (mask in reached)
