"""Amounts of bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.amounts import amount_text, parse_amount, parse_seconds


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (1000, "1000"), (1024, "1Ki"), (17179869184, "16Gi"), (3 << 40, "3Ti"), (1 << 60, "1Ei")],
)
def test_the_largest_whole_unit_is_used(amount: int, text: str) -> None:
    """Binary units, as Kubernetes writes memory."""
    assert amount_text(amount) == text


@given(st.integers(0, (1 << 63) - 2))
def test_text_and_amount_are_the_same_thing(amount: int) -> None:
    """Not a byte is lost."""
    assert parse_amount(amount_text(amount)) == amount


def test_what_people_write_is_understood() -> None:
    """Decimal units and fractions, as long as they are whole bytes."""
    assert (parse_amount("1.5Gi"), parse_amount("64G"), parse_amount("2000m")) == (3 << 29, 64 * 10**9, 2)


@pytest.mark.parametrize("text", ["", "Gi", "-1", "1500m", "9Ei", "10E", "1Gb", "1 Gi", "nan"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    """No fraction of a byte, nothing negative, nothing beyond 2**63."""
    with pytest.raises(ValueError, match=r"."):
        parse_amount(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1.5h", 5400), ("1h30m", 5400), ("8:00:00", 28800), ("1d2h3m4s", 93784)]
)
def test_times_are_written_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5x", "1h30", "8:00", "1:60:00", "-1s", "1h-3m", "٣s", "99999999999d"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """Eight and two zeros are minutes for some and hours for others."""
    with pytest.raises(ValueError, match="is not a time"):
        parse_seconds(text)
