"""When a computed result is the recorded one."""

import json

import pytest

from numafit.ledger.files.device import DeviceEntry, DeviceFile, device_bytes
from numafit.ledger.files.memory import memory_bytes
from numafit.ledger.ledger import Block, MemoryFile
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.replay.comparison import MISSING, Mismatch, ScenarioComparison, mismatch
from numafit.settings.versions import behaviour_of, parse_version


@pytest.mark.parametrize(
    ("expected", "actual", "found"),
    [
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": True}]}, None),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": False}]}, Mismatch("/a/1/b", True, False)),
        ({"a": 1}, {}, Mismatch("/a", 1, MISSING)),
        ({}, {"a": None}, Mismatch("/a", MISSING, None)),
        ([1, 2], [1], Mismatch("/1", 2, MISSING)),
        (1, True, Mismatch("", 1, True)),
        ({"b": 1, "a": 1}, {"b": 2, "a": 2}, Mismatch("/a", 1, 2)),
    ],
)
def test_the_first_difference_has_a_place(expected: object, actual: object, found: Mismatch | None) -> None:
    """Objects are walked in the order of their sorted keys; a bool is no number."""
    assert mismatch(expected, actual) == found


@pytest.mark.parametrize(
    ("expected", "same"),
    [
        ("x: unexpected end of JSON input, please", True),
        ("json: cannot unmarshal object into Go value", True),
        ("invalid character '}' looking for beginning of value", True),
        ("checkpoint is corrupted", False),
    ],
)
def test_texts_of_go_s_json_decoder_are_not_compared(expected: str, same: bool) -> None:
    """They change with the Go release a kubelet was built with; that there is an error is compared."""
    assert (mismatch(expected, "something else") is None) == same
    assert mismatch(expected, None) is not None


def test_a_difference_reads_as_three_lines() -> None:
    """The place, what was recorded, what came out; long values are cut."""
    assert str(Mismatch("", {"a": 1}, MISSING)) == '/\n  expected {"a":1}\n  actual   (missing)'
    assert str(Mismatch("/x", "y" * 500, 1)).splitlines()[1].endswith("… (502 characters)")


# --- files -----------------------------------------------------------------------------------------------------------


def comparison() -> ScenarioComparison:
    return ScenarioComparison(behaviour_of(parse_version("1.36")))


def found(expected: dict[str, str], actual: dict[str, str]) -> Mismatch | None:
    return comparison().part({"files": expected}, {"files": actual}, "/start")


ONE = DeviceEntry("p", "a", "x/y", {0: ("1", "2")})
TWO = DeviceEntry("p", "b", "x/y", {0: ("3",)})


def test_the_entries_of_a_device_file_may_stand_in_any_order() -> None:
    """They come out of Go maps; each file must carry the checksum of its own order."""
    listed = device_bytes(DeviceFile((ONE, TWO), {"x/y": ("1", "2", "3")}))
    turned = device_bytes(DeviceFile((TWO, ONE), {"x/y": ("3", "1", "2")}))
    assert listed != turned
    assert found({DEVICE_FILE: listed}, {DEVICE_FILE: turned}) is None
    other = device_bytes(DeviceFile((ONE,), {"x/y": ("1", "2", "3")}))
    assert found({DEVICE_FILE: listed}, {DEVICE_FILE: other}) == Mismatch(f"/start/files/{DEVICE_FILE}", listed, other)


def test_a_device_file_with_a_wrong_checksum_is_another_file() -> None:
    """The same contents in the same order, sealed wrongly."""
    right = device_bytes(DeviceFile((ONE,), {}))
    wrong = json.dumps({**json.loads(right), "Checksum": 1}, separators=(",", ":"))
    assert found({DEVICE_FILE: right}, {DEVICE_FILE: wrong}) is not None


def blocks(*types: str) -> str:
    own = tuple(Block((0,), name, 1) for name in types)
    return memory_bytes(MemoryFile("Static", {}, {"p": {"a": own}}), "v1")


def test_the_blocks_of_a_container_may_stand_in_any_order() -> None:
    """A container with several memory types (1.21 to 1.36); other contents are another file."""
    one, turned, other = blocks("memory", "hugepages-1Gi"), blocks("hugepages-1Gi", "memory"), blocks("memory")
    assert one != turned
    assert found({MEMORY_FILE: one}, {MEMORY_FILE: turned}) is None
    assert found({MEMORY_FILE: one}, {MEMORY_FILE: other}) is not None
    assert found({MEMORY_FILE: one}, {MEMORY_FILE: "no file"}) is not None


def test_cpu_files_are_compared_byte_for_byte() -> None:
    """The kubelet sorts their keys."""
    assert found({CPU_FILE: "{}"}, {CPU_FILE: "{ }"}) == Mismatch(f"/start/files/{CPU_FILE}", "{}", "{ }")
    assert found({CPU_FILE: "{}"}, {}) == Mismatch(f"/start/files/{CPU_FILE}", "{}", MISSING)


def test_a_file_that_was_rewritten_in_another_order_is_the_same_file() -> None:
    """One side reports it as changed, the other does not: the last contents of both are compared."""
    follow = comparison()
    listed = device_bytes(DeviceFile((ONE, TWO), {}))
    turned = device_bytes(DeviceFile((TWO, ONE), {}))
    assert follow.part({"files": {DEVICE_FILE: listed}}, {"files": {DEVICE_FILE: listed}}, "/start") is None
    assert follow.part({"files": {DEVICE_FILE: turned}}, {"files": {}}, "/steps/0") is None
    assert follow.part({"filesAfterStart": {}}, {"filesAfterStart": {DEVICE_FILE: turned}}, "/steps/1") is None


def test_a_copy_follows_on_its_own() -> None:
    """What the copy sees, the original has not seen."""
    follow = comparison()
    copy = follow.copy()
    copy.part({"files": {CPU_FILE: "a"}}, {"files": {CPU_FILE: "a"}}, "")
    assert (follow.expected_files, copy.expected_files) == ({}, {CPU_FILE: "a"})
