"""Whether a difference is more than noise, and how large it is."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.host.measure.gain import LEVEL, Gain, gain_of, two_sided

times = st.lists(st.floats(0.001, 1000), min_size=1, max_size=8)
apart = st.lists(st.integers(1, 10**6), min_size=10, max_size=10, unique=True)


def dealt(slow: list[float], quick: list[float]) -> float:
    """The same chance by counting: all ways to deal these times out, and how many are as far apart."""
    both = slow + quick

    def least(chosen: tuple[int, ...]) -> float:
        others = [both[place] for place in range(len(both)) if place not in chosen]
        ahead = sum(both[place] > other for place in chosen for other in others)
        return min(ahead, len(chosen) * len(others) - ahead)

    ways = list(combinations(range(len(both)), len(slow)))
    own = least(tuple(range(len(slow))))
    return min(1.0, sum(least(way) <= own for way in ways) / len(ways))


@given(apart, st.integers(1, 9))
def test_the_chance_is_that_of_all_ways_to_deal_the_times_out(numbers: list[int], cut: int) -> None:
    """The exact Mann-Whitney test, without ties."""
    slow, quick = [float(one) for one in numbers[:cut]], [float(one) for one in numbers[cut:]]
    assert gain_of(slow, quick).chance == pytest.approx(dealt(slow, quick))


def test_the_chances_are_those_of_printed_tables() -> None:
    """Five against five: at most 2 of 25 are significant at 5 %, two-sided."""
    assert two_sided(0, 5, 5) == pytest.approx(2 / 252)
    assert two_sided(2, 5, 5) < 0.05 < two_sided(3, 5, 5)
    assert two_sided(0, 3, 3) == pytest.approx(0.1)
    assert two_sided(25, 5, 5) == 1.0


@given(apart)
def test_the_interval_holds_1_just_when_it_may_be_noise(numbers: list[int]) -> None:
    """Both come from one test."""
    gain = gain_of([float(one) for one in numbers[:5]], [float(one) for one in numbers[5:]])
    assert gain.real == (not gain.low <= 1 <= gain.high)


@given(times, times)
def test_the_other_way_round_it_is_the_inverse(slow: list[float], quick: list[float]) -> None:
    there, back = gain_of(slow, quick), gain_of(quick, slow)
    assert (there.chance, there.enough) == (back.chance, back.enough)
    assert there.low == pytest.approx(1 / back.high)
    assert there.low <= there.ratio <= there.high


@given(times)
def test_equal_times_are_no_gain(same: list[float]) -> None:
    assert not gain_of(same, same).real


def test_a_gain_that_is_there_is_found() -> None:
    """Five rounds that do not overlap."""
    found = gain_of([2.0, 2.1, 2.2, 2.05, 2.15], [1.0, 1.1, 1.05, 1.02, 1.03])
    assert (found.real, found.enough) == (True, True)
    assert 1.8 < found.low < found.ratio < found.high < 2.2


@pytest.mark.parametrize(("rounds", "enough"), [(1, False), (3, False), (4, False), (5, True)])
def test_few_rounds_cannot_tell_anything_from_noise(rounds: int, enough: bool) -> None:
    found = gain_of([9.0] * rounds, [1.0] * rounds)
    assert found == Gain(9.0, 9.0, 9.0, found.chance, enough)
    assert found.real == enough == (found.chance <= LEVEL)
