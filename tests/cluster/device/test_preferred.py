"""The choice of devices: together by links and NUMA nodes, or spread when they are shared."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.cluster.device.preferred import preferred_units
from numafit.cluster.device.source.described import DescribedDevices
from numafit.errors import InputError
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Link
from tests.cluster.device.offers import FPGA, device, offer

FOUR = offer(
    *(device(name, 0) for name in "abcd"),
    links=[Link("a", "b", "NODE"), Link("a", "c", "PIX"), Link("b", "d", "PIX"), Link("c", "d", "NODE")],
)


def test_whole_devices_come_by_their_links() -> None:
    """a hangs at one switch with c, b with d."""
    assert preferred_units(FOUR, ["d", "c", "b", "a"], [], 2) == ["a", "c"]
    assert preferred_units(FOUR, ["a", "b", "d"], [], 2) == ["b", "d"]
    assert preferred_units(FOUR, ["a", "b", "c", "d"], ["d"], 2) == ["b", "d"]


def test_a_single_device_leaves_pairs_to_others() -> None:
    """a has no partner that is free."""
    assert preferred_units(FOUR, ["a", "b", "d"], [], 1) == ["a"]


def test_a_set_stays_on_one_numa_node() -> None:
    gpus = DescribedDevices(lambda: machine_named("dgx-h100")).read()[0]
    free = ["GPU0", "GPU1", "GPU4", "GPU5", "GPU6"]
    assert preferred_units(gpus, free, [], 3) == ["GPU4", "GPU5", "GPU6"]
    assert preferred_units(gpus, free, ["GPU0"], 2) == ["GPU0", "GPU1"]


def test_shares_are_spread() -> None:
    """The emptiest device first, and no device twice while another one is free."""
    shared = offer(device("a"), device("b"), device("c"), replicas=3)
    assert preferred_units(shared, ["a::2", "b::1", "b::2", "c::0", "c::1", "c::2"], [], 1) == ["c::0"]
    assert preferred_units(shared, list(shared.units()), [], 3) == ["a::0", "b::0", "c::0"]
    assert preferred_units(shared, list(shared.units()), ["a::1"], 2) == ["a::1", "b::0"]
    assert preferred_units(shared, ["a::0", "a::1"], [], 2) == ["a::0", "a::1"]


@pytest.mark.parametrize(
    ("available", "required", "size"),
    [(["a"], [], 2), (["a", "b"], ["a", "b"], 1), (["x"], [], 1), (["a"], ["x"], 1), (["a"], [], -1)],
)
def test_what_cannot_be_chosen_is_refused(available: list[str], required: list[str], size: int) -> None:
    with pytest.raises(InputError, match=FPGA):
        preferred_units(FOUR, available, required, size)


@given(st.data())
def test_a_choice_has_the_size_asked_for_and_what_is_required(data: st.DataObject) -> None:
    """Whatever is free: of many devices too, where not each set is tried."""
    count = data.draw(st.integers(1, 30))
    names = [f"d{index}" for index in range(count)]
    kinds = st.sampled_from(["PIX", "NODE", "SYS", "NV2", "?"])
    some = data.draw(st.lists(st.sampled_from([*combinations(names, 2)] or [("d0", "d0")]), max_size=20, unique=True))
    links = [Link(a, b, data.draw(kinds)) for a, b in some if a != b]
    numa = st.sampled_from([0, 1, None])
    found = offer(
        *(device(name, data.draw(numa)) for name in names), links=links, replicas=data.draw(st.integers(1, 2))
    )
    units = list(found.units())
    available = data.draw(st.lists(st.sampled_from(units), min_size=1, unique=True))
    required = data.draw(st.lists(st.sampled_from(available), unique=True))
    size = data.draw(st.integers(len(required), len(available)))
    chosen = preferred_units(found, available, required, size)
    assert len(chosen) == len(set(chosen)) == size
    assert set(required) <= set(chosen) <= set(available)
