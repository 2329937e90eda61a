"""Amounts of bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.amounts import amount_text, parse_amount


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
