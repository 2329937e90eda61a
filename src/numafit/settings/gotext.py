"""How Go writes and reads small values (quoted text, maps, booleans, numbers, durations) in the kubelet's messages."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal

from numafit.errors import KubeletError

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quoted(text: str) -> str:
    """Go's `%q`."""
    parts = []
    for letter in text:
        code = ord(letter)
        if letter in _ESCAPES:
            parts.append(_ESCAPES[letter])
        elif letter.isprintable():
            parts.append(letter)
        elif code < 0x80:
            parts.append(f"\\x{code:02x}")
        elif code < 0x10000:
            parts.append(f"\\u{code:04x}")
        else:
            parts.append(f"\\U{code:08x}")
    return '"' + "".join(parts) + '"'


def map_text(mapping: Mapping[str, str]) -> str:
    """Go's `%v` of a map: keys in the order of their bytes."""
    return "map[" + " ".join(f"{key}:{mapping[key]}" for key in in_byte_order(mapping)) + "]"


def in_byte_order(names: Mapping[str, object]) -> list[str]:
    return sorted(names, key=lambda name: name.encode("utf-8", "surrogatepass"))


_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


def parse_bool(text: str) -> bool:
    """strconv.ParseBool."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise KubeletError(f"strconv.ParseBool: parsing {quoted(text)}: invalid syntax")


def parse_int(text: str, function: str = "Atoi") -> int:
    """strconv.Atoi, or another function of 64 bits that reads plain decimal digits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise KubeletError(f"strconv.{function}: parsing {quoted(text)}: invalid syntax")
    # int() refuses thousands of digits, and so many are out of range anyway
    value = int(text) if len(digits.lstrip("0")) < 20 else 1 << 63
    if not -(1 << 63) <= value < 1 << 63:
        raise KubeletError(f"strconv.{function}: parsing {quoted(text)}: value out of range")
    return value


_UNITS = frozenset(("ns", "us", "µs", "μs", "ms", "s", "m", "h"))
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]*)", re.ASCII)


def check_duration(text: str) -> None:
    """time.ParseDuration, for its errors only. Values beyond 64 bits are not looked for."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return
    if rest == "":
        raise KubeletError(f"time: invalid duration {quoted(text)}")
    while rest:
        match = _DURATION_PART.match(rest)
        if match is None or not (match.group(1) or match.group(2)):
            raise KubeletError(f"time: invalid duration {quoted(text)}")
        unit = match.group(3)
        if not unit:
            raise KubeletError(f"time: missing unit in duration {quoted(text)}")
        if unit not in _UNITS:
            raise KubeletError(f"time: unknown unit {quoted(unit)} in duration {quoted(text)}")
        rest = rest[match.end() :]


def number_text(number: int | float) -> str:
    """A JSON number as Go's encoder writes it."""
    if isinstance(number, int):
        return str(number)
    if not math.isfinite(number):
        return str(number)
    if number.is_integer() and abs(number) < 1e21:
        return str(int(number))
    if number != 0 and not 1e-6 <= abs(number) < 1e21:
        mantissa, _, exponent = repr(number).partition("e")
        return f"{mantissa}e{exponent[0]}{exponent[1:].lstrip('0')}"
    return format(Decimal(repr(number)), "f")
