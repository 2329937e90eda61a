"""The kubelet's order of masks."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.bits import members
from numafit.managers.topology.hint import masks_in_order, place_in_order


def test_masks_come_by_size_and_then_by_ascending_ids() -> None:
    """The order in which every provider tries NUMA masks, seen in the logs of all releases."""
    assert masks_in_order(0b1011) == (0b0001, 0b0010, 0b1000, 0b0011, 0b1001, 0b1010, 0b1011)


def test_no_node_gives_no_mask() -> None:
    """The empty mask is never tried."""
    assert masks_in_order(0) == ()


@given(st.integers(1, 1 << 7))
def test_every_mask_comes_once_and_its_place_is_its_sort_key(ground: int) -> None:
    """Two ways to state one order: the list, and the key for masks of different ground sets."""
    masks = masks_in_order(ground << 3)
    assert sorted(masks) == sorted({mask for mask in range(1, (ground << 3) + 1) if not mask & ~(ground << 3)})
    assert list(masks) == sorted(masks, key=place_in_order)
    assert list(masks) == sorted(masks, key=lambda mask: (mask.bit_count(), list(members(mask))))
