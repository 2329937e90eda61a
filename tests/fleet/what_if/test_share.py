"""So many nodes of several kinds."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.fleet.what_if.share import dealt

COUNTS = st.lists(st.integers(0, 40), min_size=1, max_size=6).filter(any)


@given(COUNTS)
def test_as_many_as_now_are_those_of_now(counts: list[int]) -> None:
    assert dealt(counts, sum(counts)) == tuple(counts)


@given(COUNTS, st.integers(0, 120))
def test_a_node_more_takes_none_away(counts: list[int], total: int) -> None:
    fewer, more = dealt(counts, total), dealt(counts, total + 1)
    assert sum(fewer) == total
    assert sum(more) == total + 1
    assert all(a <= b for a, b in zip(fewer, more, strict=True))


def test_shares_are_kept() -> None:
    assert dealt((6, 3, 1), 20) == (12, 6, 2)
    assert dealt((6, 3, 1), 5) == (3, 2, 0)
