"""Lists of ids that keep their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.bits import numbers_text, parse_numbers


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([5], "5"),
        ([0, 1], "0-1"),
        ([0, 2], "0,2"),
        ([0, 2, 4], "0-4:2"),
        ([0, 1, 2, 8, 10, 12, 3], "0-2,8-12:2,3"),
        ([3, 2, 1], "3,2,1"),
        ([4, 4], "4,4"),
    ],
)
def test_runs_become_ranges(numbers: list[int], text: str) -> None:
    """Two neighbours make a range, three numbers with a wider step too; the order is kept."""
    assert numbers_text(numbers) == text
    assert parse_numbers(text) == numbers


@given(st.lists(st.integers(0, 300)))
def test_text_and_numbers_are_the_same_thing(numbers: list[int]) -> None:
    """Any order, any repetition."""
    assert parse_numbers(numbers_text(numbers)) == numbers


@pytest.mark.parametrize("text", ["a", "1-", "-1", "3-1", "1-2:0", "0-99999", "1,,2", ",".join(["0-65536"] * 2)])
def test_other_texts_are_refused(text: str) -> None:
    """Also those that would fill the memory."""
    with pytest.raises(ValueError, match=r"."):
        parse_numbers(text)
