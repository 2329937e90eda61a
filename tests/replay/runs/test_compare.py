"""Whether what is said after an event is what was seen."""

from typing import Any

import pytest

from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.replay.comparison import Mismatch
from numafit.replay.runs.compare import unlike
from numafit.replay.runs.seen import decision


def devices(numa: str, *ids: str, registered: tuple[str, ...] = ("g0", "g1")) -> dict[str, Any]:
    entry = {"PodUID": "1", "ContainerName": "c", "ResourceName": "gpu", "DeviceIDs": {numa: list(ids)}}
    return {"Data": {"PodDeviceEntries": [entry], "RegisteredDevices": {"gpu": list(registered)}}, "Checksum": 1}


def test_what_was_not_seen_is_not_compared() -> None:
    assert unlike({}, {"decisions": [decision("1", "a", "admission")]}) is None


def test_decisions_are_compared_by_kind_and_pod() -> None:
    first, second = decision("1", "a", "admission"), decision("2", "b", "eviction", False, "Preempting", "…")
    assert unlike({"decisions": [first, second]}, {"decisions": [second, first]}) is None
    other = decision("1", "a", "admission", False, "OutOfcpu", "full")
    assert unlike({"decisions": [first]}, {"decisions": [other]}, "/0") == Mismatch(
        "/0/decisions/admission default/a/admitted", True, False
    )
    assert unlike({"decisions": []}, {"decisions": [first]}) is not None


def test_that_a_resize_still_waits_is_not_seen_again() -> None:
    seen = {"decisions": []}
    assert unlike(seen, {"decisions": [decision("1", "a", "resize", False, "Deferred")]}) is None
    assert unlike(seen, {"decisions": [decision("1", "a", "resize")]}) is not None


def test_state_files_are_compared_with_their_checksums() -> None:
    seen = {"files": {CPU_FILE: {"defaultCpuSet": "0-3", "checksum": 7}}}
    assert unlike(seen, {"files": {CPU_FILE: '{"defaultCpuSet":"0-3","checksum":7}'}}) is None
    assert unlike(seen, {"files": {CPU_FILE: '{"defaultCpuSet":"0-3","checksum":8}'}}) is not None


def test_the_order_of_memory_types_is_left_to_chance_and_the_checksum_with_it() -> None:
    memory, pages = {"type": "memory", "size": 1}, {"type": "hugepages-2Mi", "size": 2}
    seen = {"files": {MEMORY_FILE: {"entries": {"1": {"c": [memory, pages]}}, "checksum": 1}}}
    assert unlike(seen, {"files": {MEMORY_FILE: {"entries": {"1": {"c": [pages, memory]}}, "checksum": 2}}}) is None
    assert unlike(seen, {"files": {MEMORY_FILE: {"entries": {"1": {"c": [memory]}}, "checksum": 1}}}) is not None


@pytest.mark.parametrize(
    ("numa", "ids", "registered", "same"),
    [
        ("0", ("g1",), ("g1", "g0"), True),
        ("1", ("g0",), ("g0", "g1"), False),
        ("0", ("g0", "g1"), ("g0", "g1"), False),
        ("0", ("g0",), ("g0",), False),
    ],
)
def test_of_equal_devices_any_may_be_taken_from_the_same_numa_node(
    numa: str, ids: tuple[str, ...], registered: tuple[str, ...], same: bool
) -> None:
    seen = {"files": {DEVICE_FILE: devices("0", "g0")}}
    said = {"files": {DEVICE_FILE: devices(numa, *ids, registered=registered)}}
    assert (unlike(seen, said) is None) is same


def test_amounts_are_compared_and_not_their_form() -> None:
    assert unlike({"allocatable": {"memory": "1Gi"}}, {"allocatable": {"memory": "1048576Ki"}}) is None
    assert unlike({"allocatable": {"memory": "1Gi"}}, {"allocatable": {"memory": "1G"}}) is not None


def test_the_reason_of_a_crash_stands_in_the_last_lines_of_the_log() -> None:
    seen = {"crash": r'E1115 policy_static.go:200] "invalid state" err="CPUs \"0-14\" do not match"'}
    assert unlike(seen, {"crash": 'CPUs "0-14" do not match'}) is None
    assert unlike(seen, {"crash": "something else"}) is not None
    assert unlike(seen, {"decisions": []}) == Mismatch("/crash", seen["crash"], "(missing)")
    assert unlike({"decisions": []}, {"crash": "over"}) == Mismatch("/crash", "(missing)", "over")


def test_who_is_there_and_what_each_has_is_compared() -> None:
    """Null: what a pod has was not looked at."""
    seen = {"allocated": {"1": {"c": {"requests": {"cpu": "1"}}, "d": {}}, "2": None}, "waiting": ["1"]}
    said = {"allocated": {"1": {"c": {"requests": {"cpu": "1000m"}}, "d": {}}, "2": {"c": {}}}, "waiting": ["1"]}
    assert unlike(seen, said) is None
    more = {"1": {"c": {"requests": {"cpu": "2"}}, "d": {}}, "2": {}}
    assert unlike(seen, said | {"allocated": more}) == Mismatch("/allocated/1/c/requests/cpu", "1000", "2000")
    assert unlike(seen, said | {"allocated": said["allocated"] | {"3": {}}}) is not None
    init = {"1": said["allocated"]["1"] | {"init": {"requests": {"cpu": "1"}}}}
    assert unlike(seen, said | {"allocated": said["allocated"] | init}) is None
    assert unlike(seen, said | {"waiting": []}) is not None
