"""The device manager's state file."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.golang.spew import checksum
from numafit.ledger.files.checkpoint import RestoreError
from numafit.ledger.files.device import DeviceEntry, DeviceFile, device_bytes, device_dump, parse_device, read_device
from numafit.settings.versions import behaviour_of, parse_version

NEWEST = behaviour_of(parse_version("1.36"))
EMPTY = '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}'
ONE = DeviceFile((DeviceEntry("u", "c", "r", {10: ("b", "a"), -1: ("x",), 2: ()}, b"\x0a\xff"),), {"r": ("b", "a")})
OLD_DUMP = (
    "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)[{PodUID:(string)u "
    "ContainerName:(string)c ResourceName:(string)r DeviceIDs:([]string)[a b] AllocResp:([]uint8)[]}] "
    "RegisteredDevices:(map[string][]string)map[]}"
)
OLD_FILE = (
    '{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"r","DeviceIDs":["a","b"],'
    f'"AllocResp":""}}],"RegisteredDevices":{{}}}},"Checksum":{checksum(OLD_DUMP)}}}'
)


def test_small_files_have_the_kubelet_s_checksums() -> None:
    assert device_bytes(DeviceFile()) == EMPTY
    assert device_bytes(DeviceFile(None, {"nvidia.com/gpu": ("a", "b")})) == (
        '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":["a","b"]}},"Checksum":2784922615}'
    )


def test_nodes_sort_as_text_in_the_file_and_as_numbers_in_the_dump() -> None:
    assert '"DeviceIDs":{"-1":["x"],"10":["b","a"],"2":[]},"AllocResp":"Cv8="' in device_bytes(ONE)
    assert "DeviceIDs:(checkpoint.DevicesPerNUMA)map[-1:[x] 2:[] 10:[b a]] AllocResp:([]uint8)[10 255]}" in device_dump(
        ONE
    )


def test_no_entries_and_an_empty_list_differ() -> None:
    """The kubelet writes null when nothing is allocated."""
    assert device_dump(DeviceFile(None)) != device_dump(DeviceFile(()))
    assert read_device(device_bytes(DeviceFile(())), NEWEST) == DeviceFile(())
    assert read_device(EMPTY, NEWEST) == DeviceFile(None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (EMPTY.replace("3467439661", "0"), "checkpoint is corrupted"),
        (EMPTY.replace(',"Checksum":3467439661', ""), "checkpoint is corrupted"),
        ("", "unexpected end of JSON input"),
        ("hello", "invalid character 'h' looking for beginning of value"),
        (
            '{"Data":[]}',
            "json: cannot unmarshal array into Go struct field Data.Data of type checkpoint.checkpointData",
        ),
    ],
)
def test_a_bad_file_is_refused_in_the_kubelet_s_words(text: str, message: str) -> None:
    """No checksum is exempt, not even 0."""
    with pytest.raises(RestoreError) as caught:
        read_device(text, NEWEST)
    assert str(caught.value) == message


@pytest.mark.parametrize("version", ["1.20.14", "1.21.8", "1.22.5", "1.23.0", "1.30.14"])
def test_a_plain_list_of_devices_counts_for_node_0(version: str) -> None:
    """The form of 1.19 and before."""
    expected = DeviceFile((DeviceEntry("u", "c", "r", {0: ("a", "b")}),))
    assert read_device(OLD_FILE, behaviour_of(parse_version(version))) == expected


@pytest.mark.parametrize("version", ["1.20.13", "1.21.7", "1.22.4", "1.31.0", "1.36"])
def test_a_plain_list_of_devices_is_refused_where_it_is_not_known(version: str) -> None:
    with pytest.raises(RestoreError, match=r"cannot unmarshal array into .*\.PodDeviceEntries\.0\.DeviceIDs"):
        read_device(OLD_FILE, behaviour_of(parse_version(version)))


def test_a_broken_list_form_shows_the_error_of_the_current_form() -> None:
    broken = OLD_FILE.replace('"a"', '"z"')
    with pytest.raises(RestoreError, match=r"of type checkpoint\.DevicesPerNUMA"):
        read_device(broken, behaviour_of(parse_version("1.27")))


NAMES = st.text(max_size=5)
IDS = st.lists(NAMES, max_size=3).map(tuple)
ENTRIES = st.builds(
    DeviceEntry, NAMES, NAMES, NAMES, st.dictionaries(st.integers(-1, 12), IDS, max_size=3), st.binary(max_size=9)
)
FILES = st.builds(
    DeviceFile, st.none() | st.lists(ENTRIES, max_size=3).map(tuple), st.dictionaries(NAMES, IDS, max_size=3)
)


@given(FILES, st.sampled_from(["1.20.1", "1.27", "1.36"]), st.sampled_from([None, 2]))
def test_what_is_written_is_read_back(file: DeviceFile, version: str, indent: int | None) -> None:
    text = device_bytes(file)
    assert read_device(json.dumps(json.loads(text), indent=indent), behaviour_of(parse_version(version))) == file
    assert parse_device(text) == file


DAMAGED = st.tuples(st.integers(0, 200), st.binary(max_size=2), st.integers(0, 3)).map(
    lambda cut: device_bytes(ONE).encode()[: cut[0]] + cut[1] + device_bytes(ONE).encode()[cut[0] + cut[2] :]
)


@given(st.binary(max_size=60) | DAMAGED, st.sampled_from(["1.27", "1.36"]))
def test_arbitrary_bytes_give_a_value_or_the_named_error(data: bytes, version: str) -> None:
    with suppress(RestoreError):
        file = read_device(data, behaviour_of(parse_version(version)))
        assert checksum(device_dump(file)) == json.loads(data.decode("utf-8", "replace"))["Checksum"]
