"""Eviction thresholds: hard ones, and what the eviction manager refuses."""

import pytest

from numafit.errors import KubeletError
from numafit.quantity import parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.eviction import check_eviction, memory_reservation, thresholds
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


def manager_refusal(release: str = "1.36.4", **maps: dict[str, str]) -> tuple[str, str, tuple[str | int, ...]]:
    config = KubeletConfig(**{f"eviction_{name}": statements for name, statements in maps.items()})
    with pytest.raises(KubeletError) as refused:
        check_eviction(config, behaviour_of(parse_version(release)))
    return str(refused.value), refused.value.code, refused.value.field


MEMORY = {"memory.available": "200Mi"}
PERIOD = {"memory.available": "1m30s"}


@pytest.mark.parametrize("release", ["1.20", "1.28", "1.36.4", "1.37"])
def test_a_soft_threshold_needs_a_grace_period(release: str) -> None:
    """Of its own signal (all releases)."""
    assert manager_refusal(release, soft=MEMORY) == (
        "grace period must be specified for the soft eviction threshold memory.available",
        "grace-missing",
        ("evictionSoft", "memory.available"),
    )
    config = KubeletConfig(eviction_soft=MEMORY, eviction_soft_grace_period=PERIOD)
    check_eviction(config, behaviour_of(parse_version(release)))


@pytest.mark.parametrize("value", ["0%", "100%"])
def test_a_soft_threshold_that_is_switched_off_needs_none(value: str) -> None:
    """It is no threshold (all releases)."""
    check_eviction(KubeletConfig(eviction_soft={"memory.available": value}), NEWEST)


def test_a_grace_period_without_a_threshold_is_no_mistake() -> None:
    check_eviction(KubeletConfig(eviction_soft_grace_period=PERIOD), NEWEST)


@pytest.mark.parametrize("name", ["soft", "soft_grace_period", "minimum_reclaim"])
def test_each_map_knows_the_signals_of_the_release(name: str) -> None:
    """containerfs came with 1.29, allocatableMemory.available is one of them everywhere."""
    message, code, _ = manager_refusal(**{name: {"memory.avail": "1m"}})
    assert (message, code) == ("unsupported eviction signal memory.avail", "soft-signal")
    message, _, _ = manager_refusal("1.28", **{name: {"containerfs.available": "1m"}})
    assert message == "unsupported eviction signal containerfs.available"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("soft", "-1%", "eviction percentage threshold memory.available must be >= 0%: -1%"),
        ("soft", "0", "eviction threshold memory.available must be positive: 0"),
        ("soft_grace_period", "5", 'time: missing unit in duration "5"'),
        ("soft_grace_period", "", 'time: invalid duration ""'),
        ("soft_grace_period", "-1s", "invalid eviction grace period specified: -1s, must be a positive value"),
        ("minimum_reclaim", "0%", "eviction percentage minimum reclaim memory.available must be positive: 0%"),
        ("minimum_reclaim", "x%", 'strconv.ParseFloat: parsing "x": invalid syntax'),
        ("minimum_reclaim", "-1Mi", "negative eviction minimum reclaim specified for memory.available"),
        (
            "minimum_reclaim",
            "1.5GB",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_a_bad_value_is_refused_in_the_words_of_its_map(name: str, value: str, message: str) -> None:
    """The texts are the same in all releases."""
    assert manager_refusal(**{name: {"memory.available": value}})[0] == message


@pytest.mark.parametrize("value", ["0", "200%", "1Gi"])
def test_a_minimum_reclaim_may_be_nothing_or_more_than_there_is(value: str) -> None:
    """No upper limit, and zero bytes pass (all releases)."""
    check_eviction(KubeletConfig(eviction_minimum_reclaim={"memory.available": value}), NEWEST)


def test_the_maps_are_looked_at_one_after_the_other() -> None:
    """Soft thresholds, grace periods, minimum reclaims, and only then who lacks a grace period (all releases)."""
    bad = {"no": "x"}
    maps = {"soft": {**bad, **MEMORY}, "soft_grace_period": bad, "minimum_reclaim": bad}
    fields = []
    for name in ("soft", "soft_grace_period", "minimum_reclaim"):
        fields.append(manager_refusal(**maps)[2][0])
        maps[name] = {key: value for key, value in maps[name].items() if key != "no"}
    assert fields == ["evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"]
    assert manager_refusal(**maps)[1] == "grace-missing"


def test_thresholds_that_reserve_nothing_are_first_looked_at_by_the_eviction_manager() -> None:
    """With --experimental-allocatable-ignore-eviction (all releases); else the reservation has refused them."""
    config = KubeletConfig(eviction_hard={"no": "1Gi"}, ignore_eviction=True)
    with pytest.raises(KubeletError, match="unsupported eviction signal no"):
        check_eviction(config, NEWEST)
