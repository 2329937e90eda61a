"""The plugin's answer inside the device manager's state file."""

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.ledger.files.allocate_response import (
    AllocateResponse,
    AllocateResponseError,
    DeviceSpec,
    Mount,
    decode_response,
    encode_response,
    nvidia_response,
)

GPU = "GPU-77a702db-e37f-3a74-d46d-c5713f66058c"


def spec(name: str) -> DeviceSpec:
    return DeviceSpec(f"/dev/{name}", f"/dev/{name}", "rw")


def test_the_nvidia_answer_of_one_gpu_is_reproduced() -> None:
    """Seen on a kubelet 1.20 with the plugin passing device specs: 280 bytes."""
    answer = nvidia_response([GPU], {GPU: 0})
    assert len(answer) == 280
    assert answer.startswith(b"\x0a\x42\x0a\x16NVIDIA_VISIBLE_DEVICES\x12\x28GPU-77a7")
    assert b"\x1a\x24\x0a\x0e/dev/nvidiactl\x12\x0e/dev/nvidiactl\x1a\x02rw\x1a\x26" in answer
    names = ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia0"]
    expected = AllocateResponse({"NVIDIA_VISIBLE_DEVICES": GPU}, devices=tuple(map(spec, names)))
    assert decode_response(answer) == expected


def test_gpus_are_named_in_the_order_of_their_ids() -> None:
    response = decode_response(nvidia_response(["b", "a"], {"a": 7, "b": 2}))
    assert response.envs == {"NVIDIA_VISIBLE_DEVICES": "a,b"}
    assert response.devices[4:] == (spec("nvidia7"), spec("nvidia2"))


def test_an_empty_answer_has_no_bytes() -> None:
    assert encode_response(AllocateResponse()) == b""
    assert decode_response(b"") == AllocateResponse()


def test_all_fields_stand_in_number_order() -> None:
    response = AllocateResponse({"e": ""}, (Mount("/a", "/b", True),), (DeviceSpec("/c"),), {"k": "v"}, ("vendor=0",))
    assert base64.b16encode(encode_response(response)).decode() == (
        "0A05" "0A0165" "1200"
        "120A" "0A022F61" "12022F62" "1801"
        "1A04" "0A022F63"
        "2206" "0A016B" "120176"
        "2A0A" "0A0876656E646F723D30"
    )  # fmt: skip


def test_unknown_fields_are_passed_over() -> None:
    unknown = b"\x33\x0a\x01a\x34" + b"\x38\x96\x01" + b"\x41" + bytes(8) + b"\x4d" + bytes(4) + b"\x52\x01z"
    assert decode_response(unknown + encode_response(AllocateResponse({"a": "b"}))) == AllocateResponse({"a": "b"})


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a",
        b"\x0a\x05a",
        b"\x08\x01",
        b"\x00\x01",
        b"\x0c",
        b"\x33",
        b"\x0f",
        b"\x0a\x03\x0a\x01\xff",
        b"\x38" + b"\xff" * 11,
        b"\x12\x02\x1a\x00",
    ],
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    """Cut short, wrong wire type, field 0, open or stray groups, bad UTF-8, endless number."""
    with pytest.raises(AllocateResponseError):
        decode_response(data)


TEXT = st.text(max_size=6)
RESPONSES = st.builds(
    AllocateResponse,
    st.dictionaries(TEXT, TEXT, max_size=3),
    st.lists(st.builds(Mount, TEXT, TEXT, st.booleans()), max_size=2).map(tuple),
    st.lists(st.builds(DeviceSpec, TEXT, TEXT, TEXT), max_size=2).map(tuple),
    st.dictionaries(TEXT, st.text(max_size=200), max_size=2),
    st.lists(TEXT, max_size=2).map(tuple),
)


@given(RESPONSES)
def test_what_is_encoded_is_decoded(response: AllocateResponse) -> None:
    assert decode_response(encode_response(response)) == response


@given(st.binary(max_size=40))
def test_arbitrary_bytes_give_an_answer_or_the_named_error(data: bytes) -> None:
    with suppress(AllocateResponseError):
        response = decode_response(data)
        assert decode_response(encode_response(response)) == response
