"""Hard eviction thresholds."""

import pytest

from numafit.errors import KubeletError
from numafit.quantity import parse_quantity
from numafit.settings.eviction import memory_reservation, thresholds
from numafit.settings.versions import behaviour_of, parse_version

NEWEST = behaviour_of(parse_version("1.36.4"))


def refusal(value: str, signal: str = "memory.available", release: str = "1.36.4") -> str:
    with pytest.raises(KubeletError) as refused:
        thresholds({signal: value}, behaviour_of(parse_version(release)))
    return str(refused.value)


@pytest.mark.parametrize(("share", "expected"), [("5%", 20229757639), ("10%", 40459515278)])
def test_a_share_is_a_32_bit_number(share: str, expected: int) -> None:
    """The rounding of float32 shows in the bytes."""
    reserved = memory_reservation(thresholds({"memory.available": share}, NEWEST), 404595146752)
    assert reserved is not None
    assert (reserved.value(), reserved.format) == (expected, "BinarySI")


def test_an_amount_is_reserved_as_it_is() -> None:
    """Only memory.available reserves memory."""
    found = thresholds({"memory.available": "100Mi", "nodefs.available": "10%"}, NEWEST)
    assert memory_reservation(found, 1 << 40) == parse_quantity("100Mi")
    assert memory_reservation(thresholds({"allocatableMemory.available": "1Gi"}, NEWEST), 1 << 40) is None


@pytest.mark.parametrize("value", ["0%", "100%"])
def test_exactly_0_and_100_percent_switch_a_signal_off(value: str) -> None:
    """Other spellings of the same number do not."""
    assert thresholds({"memory.available": value}, NEWEST) == {}
    assert thresholds({"memory.available": "0.0%"}, NEWEST) == {"memory.available": 0.0}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("-1%", "eviction percentage threshold memory.available must be >= 0%: -1%"),
        ("101%", "eviction percentage threshold memory.available must be <= 100%: 101%"),
        ("x%", 'strconv.ParseFloat: parsing "x": invalid syntax'),
        ("1e99%", 'strconv.ParseFloat: parsing "1e99": value out of range'),
        ("0", "eviction threshold memory.available must be positive: 0"),
        ("-1Gi", "eviction threshold memory.available must be positive: -1Gi"),
        ("1.5GB", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    ],
)
def test_a_bad_threshold_is_refused(value: str, message: str) -> None:
    """The texts are the same in all releases."""
    assert refusal(value) == message


def test_1_20_forgot_to_divide_when_it_looked_for_100_percent() -> None:
    """It allows up to 10000 %."""
    assert thresholds({"memory.available": "101%"}, behaviour_of(parse_version("1.20.1")))
    assert refusal("101%", release="1.21.0").endswith("must be <= 100%: 101%")


def test_a_signal_must_be_known_to_the_release() -> None:
    """containerfs came with 1.29."""
    assert refusal("1Gi", "memory.free") == "unsupported eviction signal memory.free"
    assert refusal("1Gi", "containerfs.available", "1.28.0") == "unsupported eviction signal containerfs.available"
    assert thresholds({"containerfs.available": "1Gi"}, NEWEST)
