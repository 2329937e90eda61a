"""Go's way of writing and reading small values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import KubeletError
from numafit.golang.text import duration_text, map_text, number_text, parse_bool, parse_duration, parse_int, quoted


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", '"plain"'), ('a"b\\', '"a\\"b\\\\"'), ("\t\x01\x7f", '"\\t\\x01\\x7f"'), ("ü\u200b", '"ü\\u200b"')],
)
def test_text_is_quoted_as_by_percent_q(text: str, expected: str) -> None:
    """Printable letters stay, control characters become \\x.., \\u....; quotes and backslashes are escaped."""
    assert quoted(text) == expected


def test_a_map_prints_sorted_by_key() -> None:
    """Go's %v of a map sorts the keys by their bytes."""
    assert map_text({"b": "2", "B": "1", "a": ""}) == "map[B:1 a: b:2]"


@pytest.mark.parametrize("text", ["yes", "", "TrUe", " true", "on"])
def test_only_the_twelve_spellings_of_a_boolean_are_read(text: str) -> None:
    """strconv.ParseBool."""
    with pytest.raises(KubeletError) as refused:
        parse_bool(text)
    assert str(refused.value) == f'strconv.ParseBool: parsing "{text}": invalid syntax'


@pytest.mark.parametrize("text", ["1_0", " 1", "1.0", "", "-", "٣"])
def test_whole_numbers_have_nothing_but_digits_and_a_sign(text: str) -> None:
    """strconv.Atoi is stricter than Python's int."""
    with pytest.raises(KubeletError, match="invalid syntax"):
        parse_int(text)


@given(st.integers())
def test_whole_numbers_fit_into_64_bits_or_are_out_of_range(number: int) -> None:
    """strconv.Atoi on a 64-bit machine."""
    if -(1 << 63) <= number < 1 << 63:
        assert parse_int(str(number)) == number
    else:
        with pytest.raises(KubeletError, match="value out of range"):
            parse_int(str(number))


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("10s", 10_000_000_000),
        ("-1.5h", -5_400_000_000_000),
        ("1h2m3.5s", 3_723_500_000_000),
        (".5ms", 500_000),
        ("+1us", 1_000),
        ("2µs", 2_000),
        ("-0.1ns", 0),
        ("9223372036854775807ns", (1 << 63) - 1),
        ("-9223372036854775808ns", -(1 << 63)),
    ],
)
def test_durations_have_a_unit(text: str, nanoseconds: int) -> None:
    """time.ParseDuration; only 0 needs no unit."""
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (100_000_000, "100ms"),
        (1_500_000_000, "1.5s"),
        (90_000_000_000, "1m30s"),
        (3_600_000_000_000, "1h0m0s"),
        (-10_000_000_000, "-10s"),
    ],
)
def test_durations_are_printed_as_go_prints_them(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        (".s", 'time: invalid duration ".s"'),
        ("1h2", 'time: missing unit in duration "1h2"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("2562048h", 'time: invalid duration "2562048h"'),
    ],
)
def test_a_bad_duration_is_refused_in_the_words_of_go(text: str, message: str) -> None:
    """time.ParseDuration."""
    with pytest.raises(KubeletError) as refused:
        parse_duration(text)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("number", "expected"), [(3, "3"), (2.0, "2"), (1.5, "1.5"), (0.00001, "0.00001"), (1e-7, "1e-7"), (1e21, "1e+21")]
)
def test_numbers_are_written_as_by_the_json_encoder_of_go(number: float, expected: str) -> None:
    """Plain digits between 1e-6 and 1e21, else an exponent."""
    assert number_text(number) == expected
