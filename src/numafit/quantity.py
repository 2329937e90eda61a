"""Amounts as Kubernetes writes them (`2`, `1500m`, `16Gi`): read, added and printed exactly as the kubelet does.

A quantity is `unscaled * 10**exponent`. Go keeps most of them in an int64 (the fast form) and the rest in a big
decimal; which one it is decides whether the kubelet's `AsInt64` works and what happens on overflow, so it is kept
here as `big`.
"""

import re
from functools import lru_cache
from typing import Final, Literal

from numafit.errors import KubeletError

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"

LONGEST_TEXT = 1000
LARGEST_EXPONENT = 2000
SMALLEST_EXPONENT = -(1 << 31)
"""Beyond these limits, which are numafit's own, Go would go on with numbers of up to 2**31 digits; of an exponent that
does not fit 32 bits it keeps the lower ones."""

MOST_POSITIVE = (1 << 63) - 1
NANO = -9
MILLI = -3

_BINARY_EXPONENTS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {exponent // 10: suffix for suffix, exponent in _BINARY_EXPONENTS.items()}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}

_SCANNER = r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)"
_EXPONENT = r"[eE]([+-]?[0-9]+)"


class QuantityError(KubeletError):
    """A text that is no quantity; the message is the kubelet's."""


class Quantity:
    """Immutable. Equality, order and hash are numeric: `1` equals `1000m`; form, format and text do not count."""

    __slots__ = ("big", "exponent", "format", "text", "unscaled")

    def __init__(
        self, unscaled: int, exponent: int = 0, format: Format = "DecimalSI", *, big: bool = False, text: str = ""
    ) -> None:
        self.unscaled: Final = unscaled
        self.exponent: Final = exponent
        self.format: Final = format
        self.big: Final = big
        """In Go's big-decimal form."""
        self.text: Final = text
        """What was parsed, where the kubelet prints that again instead of a canonical text; else empty."""

    # Integer views

    def as_int64(self) -> int | None:
        """None unless in the fast form and without decimals: also for whole values such as 1.5Gi, 1000m and 1Pi."""
        if self.big or self.exponent < 0:
            return None
        whole = self.unscaled * _power(self.exponent)
        return whole if _is_int64(whole) else None

    def value(self) -> int:
        """Rounded up (away from zero) to a whole number; beyond int64 whatever Go makes of it."""
        return self.unscaled if self.exponent == 0 and not self.big else self._at_scale(0)

    def milli(self) -> int:
        """Thousandths, rounded up; beyond int64 whatever Go makes of it."""
        return self._at_scale(MILLI)

    def _at_scale(self, scale: int) -> int:
        shift = self.exponent - scale
        if self.big:
            return _big_at_scale(self.unscaled, shift)
        if shift >= 0:
            scaled = self.unscaled * _power(shift)
            # Go multiplies by these powers in one step, which wraps; by others in a loop, which gives up with 0
            return scaled if _is_int64(scaled) else _int64(scaled) if shift in (1, 2, 3, 6, 9) else 0
        return _away_from_zero(self.unscaled, -shift)

    @property
    def is_zero(self) -> bool:
        return self.unscaled == 0

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    # Arithmetic

    def __add__(self, other: "Quantity") -> "Quantity":
        return self._plus(other, other.unscaled)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self._plus(other, -other.unscaled)

    def _plus(self, other: "Quantity", addend: int) -> "Quantity":
        """The left operand keeps its format unless it is zero."""
        mine = self.unscaled
        format = self.format if mine else other.format
        if not (self.big or other.big):
            if not addend:
                return Quantity(mine, self.exponent, format)
            if not mine:
                return Quantity(addend, other.exponent, format)
            if self.exponent == other.exponent:
                total = mine + addend
                return Quantity(total, self.exponent, format, big=not _is_int64(total))
        exponent = min(self.exponent, other.exponent)
        left = mine * _power(self.exponent - exponent)
        right = addend * _power(other.exponent - exponent)
        total = left + right
        # Go gives up the fast form as soon as a step overflows, even if the sum would fit again
        fits = _is_int64(left) and _is_int64(right) and _is_int64(total)
        return Quantity(total, exponent, format, big=self.big or other.big or not fits)

    def rounded_up(self, scale: int = MILLI) -> "Quantity":
        """Away from zero to a multiple of 10**scale: what the API server does to each quantity with `MILLI`."""
        if self.big:
            shift = self.exponent - scale
            unscaled = self.unscaled * _power(shift) if shift >= 0 else _away_from_zero(self.unscaled, -shift)
            return Quantity(unscaled, scale, self.format, big=True)
        if self.exponent >= scale:
            return self
        return Quantity(_away_from_zero(self.unscaled, scale - self.exponent), scale, self.format)

    # Comparison

    def _difference(self, other: "Quantity") -> int:
        """Has the sign of self minus other."""
        shift = self.exponent - other.exponent
        if shift == 0:
            return self.unscaled - other.unscaled
        if shift > 0:
            return self.unscaled * _power(shift) - other.unscaled
        return self.unscaled - other.unscaled * _power(-shift)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self._difference(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self._difference(other) < 0

    def __le__(self, other: "Quantity") -> bool:
        return self._difference(other) <= 0

    def __gt__(self, other: "Quantity") -> bool:
        return self._difference(other) > 0

    def __ge__(self, other: "Quantity") -> bool:
        return self._difference(other) >= 0

    def __hash__(self) -> int:
        return hash(_without_factor(self.unscaled, self.exponent, 10))

    # Text

    def __str__(self) -> str:
        return self.text or self._canonical()

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _canonical(self) -> str:
        if self.unscaled == 0:
            return "0"
        if self.format == "BinarySI":
            whole = _without_factor(self.unscaled, self.exponent, 10)
            if whole[1] >= 0:
                amount = whole[0] * _power(whole[1])
                if abs(amount) >= 1024:
                    amount, power = _without_factor(amount, 0, 1024)
                    return f"{amount}{_BINARY_SUFFIXES.get(power, '')}"
        amount, exponent = _without_factor(self.unscaled, self.exponent, 10)
        amount *= _power(exponent % 3)
        exponent -= exponent % 3
        if self.format == "DecimalExponent":
            return f"{amount}e{exponent}" if exponent else str(amount)
        # an exponent without a suffix (1e21 in a decimal sum) is dropped by the kubelet as well
        return f"{amount}{_DECIMAL_SUFFIXES.get(exponent, '')}"


ZERO = Quantity(0, text="0")


@lru_cache(maxsize=8192)
def parse_quantity(text: str) -> Quantity:
    """The kubelet's ParseQuantity: no blanks, no leniency. Raises `QuantityError`."""
    if text == "0":
        return ZERO
    match = re.fullmatch(_SCANNER, text)
    if match is None or not text:
        raise QuantityError(WRONG_FORMAT)
    if len(text) > LONGEST_TEXT:
        raise QuantityError(WRONG_NUMBER)
    sign, number, fraction, suffix = match.groups()
    number = number or "0"
    fraction = fraction or ""
    digits = number + fraction
    power = _BINARY_EXPONENTS.get(suffix)
    if power is not None:
        if not fraction and len(number) <= 14 - 3 * (power // 10):
            mantissa = int(digits)
            unscaled = mantissa << power
            return Quantity(-unscaled if sign == "-" else unscaled, 0, "BinarySI", text=text if mantissa % 8 else "")
        _need_digit(text[: match.start(4)])
        return _big_quantity(int(sign + digits) << power, -len(fraction), "BinarySI")

    format: Format = "DecimalSI"
    suffix_exponent = _DECIMAL_EXPONENTS.get(suffix)
    if suffix_exponent is None:
        suffix_exponent = _written_exponent(suffix)
        format = "DecimalExponent"
    exponent = suffix_exponent - len(fraction)
    if not SMALLEST_EXPONENT <= exponent <= LARGEST_EXPONENT:
        if digits.strip("0"):
            raise QuantityError(WRONG_SUFFIX)
        exponent = LARGEST_EXPONENT
    if len(digits) <= 18 and exponent >= NANO:
        as_written = exponent % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
        return Quantity(int(sign + digits), exponent, format, text=text if as_written else "")
    _need_digit(text[: match.start(4)])
    return _big_quantity(int(sign + digits), exponent, format)


def quantity_of(value: object) -> Quantity:
    """A quantity out of a decoded JSON or YAML value: numbers count as text, blanks around a text are trimmed."""
    if value is None:
        return ZERO
    if isinstance(value, str):
        return parse_quantity(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise QuantityError(WRONG_FORMAT)
    return parse_quantity(_float_text(value) if isinstance(value, float) else str(value))


def _float_text(number: float) -> str:
    """As Go's JSON encoder writes it: an exponent only below 1e-6 and from 1e21 on."""
    text = repr(number)
    if "e" not in text or not 1e-6 <= abs(number) < 1e21:
        return text.removesuffix(".0").replace("e-0", "e-")
    number_text, _, exponent = text.partition("e")
    whole, _, fraction = number_text.partition(".")
    sign, whole = ("-", whole[1:]) if whole[0] == "-" else ("", whole)
    if int(exponent) < 0:
        return f"{sign}0.{'0' * (-int(exponent) - 1)}{whole}{fraction}"
    return f"{sign}{whole}{fraction:0<{int(exponent)}}"


def _written_exponent(suffix: str) -> int:
    match = re.fullmatch(_EXPONENT, suffix)
    if match is None:
        raise QuantityError(WRONG_SUFFIX)
    exponent = int(match.group(1))
    if not _is_int64(exponent):
        raise QuantityError(WRONG_SUFFIX)
    return exponent


def _need_digit(number: str) -> None:
    """A missing number counts as 0 in the fast form only."""
    if number.strip("+-.") == "":
        raise QuantityError(WRONG_NUMBER)


def _big_quantity(unscaled: int, exponent: int, format: Format) -> Quantity:
    """Rounded up to nano; binary amounts are capped, and those below 1 turn decimal."""
    if unscaled == 0:
        # Go keeps the exponent of a zero; it has no effect that can be seen
        return Quantity(0, max(exponent, -LARGEST_EXPONENT), format, big=True)
    size = abs(unscaled)
    if exponent >= NANO:
        size *= _power(exponent - NANO)
    else:
        # more places than digits leave 1n, however many they are
        size = _away_from_zero(size, min(NANO - exponent, 2 * LONGEST_TEXT))
    exponent = NANO
    if format == "BinarySI":
        if size > MOST_POSITIVE * 10**9:
            size, exponent = MOST_POSITIVE, 0
        elif size < 10**9:
            format = "DecimalSI"
    return Quantity(-size if unscaled < 0 else size, exponent, format, big=True)


def _power(places: int) -> int:
    power: int = 10**places
    return power


def _is_int64(number: int) -> bool:
    return -MOST_POSITIVE - 1 <= number <= MOST_POSITIVE


def _int64(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _away_from_zero(number: int, places: int) -> int:
    """number / 10**places, rounded away from zero."""
    quotient = -(-abs(number) // _power(places))
    return -quotient if number < 0 else quotient


def _without_factor(number: int, times: int, factor: int) -> tuple[int, int]:
    """`number` divided by `factor` as often as possible, and `times` plus how often; zero has no times."""
    if number == 0:
        return 0, 0
    while number % factor == 0:
        number //= factor
        times += 1
    return number, times


def _big_at_scale(unscaled: int, shift: int) -> int:
    """unscaled * 10**shift as an int64, the way Go's scaledValue gets there: rounded up, and wrapped on overflow."""
    if shift == 0:
        return _int64(unscaled)
    if shift > 0:
        # 10**19 does not fit; the conversion from float64 then gives the lowest int64 (on amd64)
        return _int64(_int64(unscaled) * (_power(shift) if shift <= 18 else 1 << 63))
    divisor = _power(-shift)
    if unscaled < MOST_POSITIVE and shift > -19:
        unscaled = _int64(unscaled)
        quotient = abs(unscaled) // divisor
        # Go truncates and then adds 1 for any remainder, so -1.5 becomes 0
        return (-quotient if unscaled < 0 else quotient) + (1 if unscaled % divisor else 0)
    return _int64(-(-unscaled // divisor))
