import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.quantity import (
    MILLI,
    WRONG_FORMAT,
    WRONG_NUMBER,
    WRONG_SUFFIX,
    ZERO,
    Quantity,
    QuantityError,
    parse_quantity,
    quantity_of,
)

DIGITS = st.integers(0, 10**24).map(str)
FRACTIONS = st.one_of(st.just(""), st.just("."), st.integers(0, 10**12).map(lambda number: f".{number}"))
SUFFIXES = st.sampled_from(
    ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2"]
)
TEXTS = st.builds(
    lambda sign, *parts: sign + "".join(parts), st.sampled_from(["", "+", "-"]), DIGITS, FRACTIONS, SUFFIXES
)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("1.5", "1500m"),
        ("1000M", "1G"),
        ("12e6", "12e6"),
        ("1200e4", "12e6"),
        (".001Ki", "1024m"),
        ("512Ki", "512Ki"),
        ("0.5Ki", "512"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("5000Ki", "5000Ki"),
        ("1000m", "1"),
        ("100u", "100u"),
        ("0.1n", "1n"),
        ("-1.5", "-1500m"),
        ("100Ei", "9223372036854775807"),
        ("1e21", "1e21"),
        ("0.000000001Ki", "1024n"),
    ],
)
def test_prints_the_canonical_text(text: str, printed: str) -> None:
    """Largest suffix without fraction digits; binary amounts below 1024 or with a fraction are decimal."""
    assert str(parse_quantity(text)) == printed


@pytest.mark.parametrize("text", ["1.500", "+5Gi", "2500m", "-3", "007", "1.123G"])
def test_prints_as_written_what_looks_canonical(text: str) -> None:
    """A parsed text is kept if its digits end in no `000`, start with no 0 and have a scale that 3 divides.

    Leading zeros are skipped before that test, so `007` stays.
    """
    assert str(parse_quantity(text)) == text


def test_forgets_the_written_text_in_a_sum() -> None:
    """Any arithmetic, even with zero, prints canonically."""
    assert str(parse_quantity("1.500") + ZERO) == "1500m"
    assert str(ZERO + parse_quantity("1.500")) == "1500m"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", WRONG_FORMAT),
        ("1.1.M", WRONG_FORMAT),
        ("1 Gi", WRONG_FORMAT),
        ("16GB", WRONG_FORMAT),
        ("1\u0661", WRONG_FORMAT),
        ("1\n", WRONG_FORMAT),
        ("1K", WRONG_SUFFIX),
        ("1i", WRONG_SUFFIX),
        ("0.1mi", WRONG_SUFFIX),
        ("3e-", WRONG_SUFFIX),
        ("1e99999999999999999999", WRONG_SUFFIX),
        ("Pi", WRONG_NUMBER),
        (".e-20", WRONG_NUMBER),
    ],
)
def test_refuses_in_the_words_of_the_kubelet(text: str, message: str) -> None:
    """The scanner refuses leftovers, the suffix table the rest; a missing number is refused in the big form only."""
    with pytest.raises(QuantityError) as error:
        parse_quantity(text)
    assert str(error.value) == message


@pytest.mark.parametrize("text", ["Mi", ".", "m", "-", "+", "000", "0e-20", "0e999999", "0e2147483648"])
def test_takes_missing_digits_for_zero(text: str) -> None:
    """`Mi`, `.` and a lone sign parse as zero."""
    assert parse_quantity(text).is_zero


@pytest.mark.parametrize("text", ["1" * 1001, "1e2001", "1e999999999", "12345678901234567890e2147483647"])
def test_refuses_numbers_that_would_fill_the_memory(text: str) -> None:
    """A limit of numafit's own: Go computes with them until the machine gives up."""
    with pytest.raises(QuantityError):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["1e2147483648", "1e4294967296", "1e-4294967295", "1e-2147483649"])
def test_refuses_exponents_that_do_not_fit_32_bits(text: str) -> None:
    """Go keeps the lower 32 bits: `1e4294967296` would be 1, and `1e2147483648` keeps it computing (1.36)."""
    with pytest.raises(QuantityError) as error:
        parse_quantity(text)
    assert str(error.value) == WRONG_SUFFIX


def test_rounds_a_tiny_amount_up_however_many_places_it_has() -> None:
    assert parse_quantity("1e-2147483000") == parse_quantity("1n")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("1.5G", 1_500_000_000),
        ("99999Gi", 99999 << 30),
        ("10Ti", 10 << 40),
        ("100000Gi", None),
        ("100Ti", None),
        ("1Pi", None),
        ("1.5Gi", None),
        ("1000m", None),
        ("1500m", None),
        ("1.0", None),
        ("10E", None),
    ],
)
def test_is_an_int64_only_in_the_fast_form(text: str, number: int | None) -> None:
    """AsInt64 needs the fast form and no decimals: digits plus three per binary step must not exceed 14."""
    assert parse_quantity(text).as_int64() == number


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        ("2", 2, 2000),
        ("1500m", 2, 1500),
        ("100u", 1, 1),
        ("-1500m", -2, -1500),
        ("1.5Gi", 3 << 29, 1000 * 3 << 29),
        ("9E", 9 * 10**18, 0),
        ("9223372036854775P", 0, 0),
        ("18446744073709552k", 384, 384000),
    ],
)
def test_rounds_up_in_integer_views(text: str, value: int, milli: int) -> None:
    """Value and MilliValue; beyond int64 one multiplication wraps (here by 1000) while a loop gives 0."""
    quantity = parse_quantity(text)
    assert (quantity.value(), quantity.milli()) == (value, milli)


def test_rounds_a_negative_big_decimal_towards_zero_plus_one() -> None:
    """Go's scaledValue truncates and adds 1: -1.5 as a big decimal has the value 0, in the fast form -2."""
    assert (ZERO - parse_quantity("0.0015Ki") + parse_quantity("36m")).value() == 0
    assert parse_quantity("-1.5").value() == -2


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("4Gi", "100Mi", "4196Mi"),
        ("0", "2Gi", "2Gi"),
        ("1Gi", "1G", "2073741824"),
        ("1", "1Ki", "1025"),
        ("500m", "500m", "1"),
        ("1e3", "1k", "2e3"),
    ],
)
def test_adds_in_the_format_of_the_left_operand(left: str, right: str, total: str) -> None:
    """Unless that one is zero: then the right one's format is taken."""
    assert str(parse_quantity(left) + parse_quantity(right)) == total


def test_loses_the_fast_form_when_a_sum_overflows() -> None:
    """8.5: such sums, and sums with a big decimal, are no int64 any more even where they fit."""
    largest = parse_quantity("9223372036854775807")
    total = largest + parse_quantity("1") - parse_quantity("1")
    assert (parse_quantity("9E") + parse_quantity("1m")).big
    assert (total == largest, total.as_int64()) == (True, None)
    assert (parse_quantity("1Pi") + parse_quantity("1")).as_int64() is None


def test_compares_by_number() -> None:
    one = parse_quantity("1")
    assert one == parse_quantity("1000m") == parse_quantity("1.0")
    assert hash(one) == hash(parse_quantity("1000m")) == hash(parse_quantity("1e0"))
    assert parse_quantity("999m") < one < parse_quantity("1Ki")
    assert one != 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "2"),
        (1.5, "1500m"),
        (1e3, "1k"),
        (1e-5, "10u"),
        (2.5e17, "250P"),
        (1e21, "1e+21"),
        (1e-9, "1e-9"),
        (" 16Gi ", "16Gi"),
        (None, "0"),
    ],
)
def test_reads_numbers_of_json_and_yaml(value: object, text: str) -> None:
    """Numbers count as their JSON text; blanks around a text are trimmed."""
    assert str(quantity_of(value)) == text


@pytest.mark.parametrize("value", [True, [], {}, "1 2", float("inf")])
def test_refuses_other_json_values(value: object) -> None:
    with pytest.raises(QuantityError):
        quantity_of(value)


def test_rounds_up_to_thousandths() -> None:
    """What the API server does to each quantity of a pod."""
    assert str(parse_quantity("100u").rounded_up(MILLI)) == "1m"
    assert str(parse_quantity("-1500001u").rounded_up(MILLI)) == "-1501m"
    assert str(parse_quantity("1.5Gi").rounded_up(MILLI)) == "1536Mi"


@given(TEXTS)
def test_prints_a_text_that_means_the_same(text: str) -> None:
    """Up to the suffix E; larger decimal exponents have none and the kubelet drops them."""
    quantity = parse_quantity(text)
    if quantity < parse_quantity("1000E") and quantity > parse_quantity("-1000E"):
        assert parse_quantity(str(quantity)) == quantity


@given(TEXTS, TEXTS)
def test_adds_exactly(left: str, right: str) -> None:
    a, b = parse_quantity(left), parse_quantity(right)
    assert (a + b) - b == a
    assert (a < b) == (b > a) == (not a >= b) == ((a - b).sign < 0)


@given(st.text("0123456789.+-eEinumkKMGTP x", max_size=12))
def test_gives_a_quantity_or_a_quantity_error(text: str) -> None:
    try:
        outcome = str(type(parse_quantity(text)))
    except QuantityError as error:
        outcome = str(error)
    assert outcome in (str(Quantity), WRONG_FORMAT, WRONG_NUMBER, WRONG_SUFFIX)
