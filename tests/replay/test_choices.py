"""Choices that follow a record."""

import json

import pytest

from numafit.bits import parse_cpuset
from numafit.ledger.state_files import DEVICE_FILE
from numafit.replay.choices import RecordedChoices

GPU, NIC = "x/gpu", "x/nic"


def test_devices_that_the_record_names_come_first() -> None:
    """The others after them, sorted."""
    told = RecordedChoices({"containers": {"app": {"devices": {GPU: {"c": [0], "b": [1]}}}}})
    assert told.devices("app", GPU, {"a", "b", "c", "d"}, 1) == ["b", "c", "a", "d"]
    assert told.devices("app", NIC, {"b", "a"}, 1) == ["a", "b"]
    assert told.devices("side", GPU, {"c", "a"}, 1) == ["a", "c"]


def test_resources_that_were_allocated_come_before_the_one_that_failed() -> None:
    """The message names it; what the record does not mention comes last."""
    told = RecordedChoices(
        {"containers": {"app": {"devices": {"x/z": {}}}}, "message": f"unavailable for {NIC}. Requested: 1"}
    )
    assert list(told.resources("app", [GPU, NIC, "x/z"])) == ["x/z", NIC, GPU]


def test_a_crash_tells_its_devices_by_the_file_written_before() -> None:
    """Such a record has no containers."""
    entries = [
        {"PodUID": "p", "ContainerName": "app", "ResourceName": GPU, "DeviceIDs": {"0": ["b"], "1": ["c"]}},
        {"PodUID": "q", "ContainerName": "app", "ResourceName": GPU, "DeviceIDs": {"0": ["a"]}},
    ]
    file = json.dumps({"Data": {"PodDeviceEntries": entries, "RegisteredDevices": {}}, "Checksum": 0})
    told = RecordedChoices({"uid": "p", "panic": "…", "files": {DEVICE_FILE: file}})
    assert told.devices("app", GPU, {"a", "b", "c"}, 1) == ["b", "c", "a"]
    assert RecordedChoices({"uid": "p", "panic": "…"}).devices("app", GPU, {"b", "a"}, 1) == ["a", "b"]


@pytest.mark.parametrize(
    ("variant", "expected"),
    [(0, [0, 1, 2]), (1, [0, 2, 1]), (5, [2, 1, 0]), (6, [0, 1, 2])],
)
def test_variants_number_the_orders_that_the_record_does_not_tell(variant: int, expected: list[int]) -> None:
    """All permutations, and then from the start again."""
    assert list(RecordedChoices({}, variant).nodes([2, 0, 1])) == expected


def test_each_list_uses_up_one_digit_of_the_variant() -> None:
    """Two lists of two: four variants give the four combinations."""
    combinations = set()
    for variant in range(4):
        told = RecordedChoices({}, variant)
        combinations.add((tuple(told.stale([("p", "a"), ("q", "b")])), tuple(told.nodes([0, 1]))))
    assert len(combinations) == 4


def test_cpus_are_the_first_outcome_that_lies_in_what_the_container_holds() -> None:
    """An outcome may be one of two takes; if none fits, it is the first (1.20 and 1.21)."""
    told = RecordedChoices({"containers": {"app": {"cpus": "4-7"}}, "reservedCPUs": "1"})
    outcomes = [parse_cpuset(text) for text in ("0-1", "4-5", "6-7")]
    assert told.cpus("app", iter(outcomes)) == parse_cpuset("4-5")
    assert told.cpus("app", iter(outcomes[:1])) == parse_cpuset("0-1")
    assert told.cpus("", iter([parse_cpuset("0"), parse_cpuset("1")])) == parse_cpuset("1")


def test_the_record_of_a_single_take_has_no_containers() -> None:
    """Family cpu-assign."""
    told = RecordedChoices({"cpus": "2-3"})
    assert told.cpus("", iter([parse_cpuset("0-1"), parse_cpuset("2-3")])) == parse_cpuset("2-3")
