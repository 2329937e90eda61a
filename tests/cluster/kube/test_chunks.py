"""An answer in chunks, however it is cut on its way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.cluster.kube.chunks import LONGEST_SIZE, ChunkReader


def coded(parts: list[bytes], size: str = "{:x}\r\n") -> bytes:
    return b"".join(size.format(len(part)).encode() + part + b"\r\n" for part in parts)


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=5), st.lists(st.integers(1, 20), max_size=30))
def test_the_content_is_the_same_wherever_it_is_cut(parts: list[bytes], cuts: list[int]) -> None:
    data, own, found = coded(parts) + b"0\r\n\r\n", ChunkReader(), b""
    for cut in cuts:
        found, data = found + own.take(data[:cut]), data[cut:]
    found += own.take(data)
    assert (found, own.ended) == (b"".join(parts), True)


def test_what_comes_after_the_end_belongs_to_nobody() -> None:
    own = ChunkReader()
    assert own.take(b"2\r\nhi\r\n0\r\nX: y\r\n\r\n5\r\nhello") == b"hi"
    assert (own.ended, own.take(b"5\r\nhello\r\n")) == (True, b"")


def test_sizes_may_be_large_letters_and_have_something_behind_them() -> None:
    own = ChunkReader()
    assert own.take(b"A;name=value\r\n0123456789\r\n02 \r\nhi\r\n") == b"0123456789hi"


@pytest.mark.parametrize(
    "rubbish", [b"x\r\nhi\r\n", b"-1\r\n", b"\r\n", b"2\r\nhix", b"2\r\nhi\rx", b"1" * LONGEST_SIZE]
)
def test_what_is_no_chunk_ends_the_connection(rubbish: bytes) -> None:
    with pytest.raises(ConnectionResetError):
        ChunkReader().take(rubbish)


def test_one_that_is_begun_and_goes_wrong_later_ends_it_too() -> None:
    own = ChunkReader()
    assert own.take(b"2\r\nhi\r") == b"hi"
    with pytest.raises(ConnectionResetError):
        own.take(b"\r")
