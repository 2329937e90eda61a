"""The smallest number of nodes that is enough."""

from collections.abc import Callable, Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from numafit.fleet.what_if.search import FoundNumber, least_enough


class Played:
    """Answers by a rule, and remembers what it was asked."""

    def __init__(self, rule: Callable[[int], bool]) -> None:
        self.rule = rule
        self.asked: list[int] = []

    def __call__(self, numbers: Sequence[int]) -> Mapping[int, bool]:
        self.asked += numbers
        return {number: self.rule(number) for number in numbers}


@given(st.integers(1, 400), st.integers(1, 400))
def test_the_answer_and_both_its_neighbours_were_played(needed: int, first: int) -> None:
    """Wherever it begins. No number is played twice."""
    played = Played(lambda number: number >= needed)
    found = least_enough(played, first, 1000)
    assert found.least == needed
    assert found.played[needed]
    assert found.played[needed + 1]
    assert needed == 1 or found.played[needed - 1] is False
    assert len(played.asked) == len(set(played.asked))
    assert min(played.asked) >= 1
    assert found.unlike == ()


def test_it_plays_far_fewer_numbers_than_there_are() -> None:
    """Three at a time, so that a quarter is left each time."""
    played = Played(lambda number: number >= 777)
    least_enough(played, 1523, 20_000)
    assert len(played.asked) <= 1 + 3 * 6 + 1


def test_where_the_most_is_too_few_there_is_no_answer() -> None:
    found = least_enough(Played(lambda _: False), 3, 10)
    assert found.least is None
    assert max(found.played) == 10
    assert not any(found.played.values())


@given(st.sets(st.integers(1, 60)))
def test_where_more_is_not_always_better_the_answer_is_enough_and_one_less_is_not(enough: set[int]) -> None:
    """And those above it that were played and are not enough are told."""
    found = least_enough(Played(lambda number: number in enough or number > 60), 30, 100)
    assert found.least is not None
    assert found.played[found.least]
    assert found.least == 1 or found.played[found.least - 1] is False
    assert all(number > found.least and number not in enough for number in found.unlike)


def test_of_one_group_none_may_be_enough() -> None:
    found = least_enough(Played(lambda _: True), 8, 100, 0)
    assert found == FoundNumber(0, {**dict.fromkeys(found.played, True)})
    assert 0 in found.played
