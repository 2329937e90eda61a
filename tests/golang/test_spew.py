"""The hash and the dump rules behind every checksum."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.golang.spew import Spew, checksum, fnv1a32


def test_the_hash_is_fnv_1a_of_32_bits() -> None:
    """The published test values of FNV-1a, of every length modulo four."""
    words = [b"", b"a", b"b", b"foo", b"foob", b"fooba", b"foobar"]
    assert [fnv1a32(word) for word in words] == [
        0x811C9DC5,
        0xE40C292C,
        0xE70C2DE5,
        0xA9F37ED7,
        0x3F5076EF,
        0x39AAA18A,
        0xBF9CF968,
    ]


@given(st.binary(max_size=40))
def test_the_hash_equals_its_definition(data: bytes) -> None:
    """XOR the byte in, multiply by the prime, keep 32 bits: byte after byte."""
    expected = 2166136261
    for byte in data:
        expected = (expected ^ byte) * 16777619 % (1 << 32)
    assert fnv1a32(data) == expected


def test_the_checksum_covers_the_utf_8_of_the_dump() -> None:
    assert checksum("é") == fnv1a32(b"\xc3\xa9")


def test_a_type_is_printed_unless_the_value_is_bare() -> None:
    spew = Spew()
    spew.type("string")
    spew.bare = True
    spew.type("string")
    spew.type("int")
    assert spew.text == "(string)(int)"


def test_a_nil_pointer_takes_the_type_off_the_next_value() -> None:
    """go-spew 1.1.1 forgets to reset its flag when it prints nil."""
    spew = Spew()
    spew.bare = True
    spew.nil_pointer()
    spew.type("state.ContainerMemoryAssignments")
    spew.type("int")
    assert spew.text == "<nil>(int)"
