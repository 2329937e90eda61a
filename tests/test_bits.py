"""Sets as integers, and their text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.bits import CpusetError, cpuset_text, mask_of, members, parse_cpuset

ids = st.sets(st.integers(0, 300))


@given(ids)
def test_a_mask_holds_its_members(chosen: set[int]) -> None:
    """In ascending order, whatever the order they came in."""
    assert list(members(mask_of(chosen))) == sorted(chosen)


@given(ids)
def test_the_text_of_a_set_reads_back(chosen: set[int]) -> None:
    """`cpuset_text` and `parse_cpuset` are inverse."""
    assert parse_cpuset(cpuset_text(mask_of(chosen))) == mask_of(chosen)


@pytest.mark.parametrize(
    ("chosen", "text"),
    [([], ""), ([0], "0"), ([0, 1], "0-1"), ([0, 1, 2, 8], "0-2,8"), ([3, 5, 6], "3,5-6"), ([63, 64, 65], "63-65")],
)
def test_a_run_of_two_is_a_range(chosen: list[int], text: str) -> None:
    """Kubelet, all versions: ascending, no blanks, runs of two or more as first-last."""
    assert cpuset_text(mask_of(chosen)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", 'strconv.Atoi: parsing "a": invalid syntax'),
        ("0, 1", 'strconv.Atoi: parsing " 1": invalid syntax'),
        ("1_0", 'strconv.Atoi: parsing "1_0": invalid syntax'),
        ("0,", 'strconv.Atoi: parsing "": invalid syntax'),
        ("5-3", 'invalid range "5-3" (5 > 3)'),
    ],
)
def test_what_go_cannot_parse_is_refused_in_its_words(text: str, message: str) -> None:
    """Kubelet 1.27 and later."""
    with pytest.raises(CpusetError) as error:
        parse_cpuset(text)
    assert str(error.value) == message


def test_a_reversed_range_is_told_differently_by_version() -> None:
    """Kubelet 1.22 to 1.26 print `>=`; 1.20 and 1.21 take the range for an empty one."""
    with pytest.raises(CpusetError) as error:
        parse_cpuset("5-3", reversed_sign=">=")
    assert str(error.value) == 'invalid range "5-3" (5 >= 3)'
    assert parse_cpuset("1,5-3", reversed_sign="") == 0b10
