import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.amounts import amount_text
from numafit.cluster.topology.amounts import UNSIGNED, parse_bytes


@given(st.integers(0, UNSIGNED - 1))
def test_each_number_of_64_bits_survives(amount: int) -> None:
    assert parse_bytes(amount_text(amount)) == amount


@pytest.mark.parametrize("text", ["", "-1", "1.5Gi", "18446744073709551616", "16Ei", "1G", "Gi", "1 Gi", "९"])
def test_what_is_no_number_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number of bytes"):
        parse_bytes(text)
