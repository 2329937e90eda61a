"""How Go writes and reads small values in the kubelet's messages: texts, maps, booleans, numbers, durations, errors."""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal

from numafit.errors import KubeletError
from numafit.quantity import Quantity

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


def parse_int(text: str, function: str = "Atoi", *, written: str = "") -> int:
    """strconv.Atoi, or another function of 64 bits that reads plain decimal digits. `written`: what errors quote."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise KubeletError(f"strconv.{function}: parsing {quoted(written or text)}: invalid syntax")
    # int() refuses thousands of digits, and so many are out of range anyway
    value = int(text) if len(digits.lstrip("0")) < 20 else 1 << 63
    if not -(1 << 63) <= value < 1 << 63:
        raise KubeletError(f"strconv.{function}: parsing {quoted(written or text)}: value out of range")
    return value


_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]*)", re.ASCII)


def parse_duration(text: str) -> int:
    """time.ParseDuration, in nanoseconds."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    total = 0
    if rest == "0":
        return 0
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
        total += int(match.group(1) or "0") * _UNITS[unit]
        digits = match.group(2) or ""
        total += int(int(digits or "0") * _UNITS[unit] // 10 ** len(digits))
        if total > 1 << 63 or (total == 1 << 63 and not text.startswith("-")):
            raise KubeletError(f"time: invalid duration {quoted(text)}")
    return -total if text.startswith("-") else total


def duration_text(nanoseconds: int) -> str:
    """A time.Duration as Go prints it: `1m30s`, `1.5s`, `100ms`, `0s`."""
    size = abs(nanoseconds)
    if size < 1_000_000_000:
        unit = next(name for name in ("ms", "µs", "ns") if size >= _UNITS[name]) if size else "s"
        text = f"{_decimal(size, _UNITS[unit])}{unit}"
    else:
        minutes, rest = divmod(size, _UNITS["m"])
        hours, minutes = divmod(minutes, 60)
        text = f"{_decimal(rest, _UNITS['s'])}s"
        if hours or minutes:
            text = f"{minutes}m{text}"
        if hours:
            text = f"{hours}h{text}"
    return f"-{text}" if nanoseconds < 0 else text


def _decimal(size: int, unit: int) -> str:
    whole, rest = divmod(size, unit)
    digits = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


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


NIL_POINTER = "runtime error: invalid memory address or nil pointer dereference"


def index_out_of_range(index: int, length: int) -> str:
    return f"runtime error: index out of range [{index}] with length {length}"


_GO_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\"}


def printed_character(char: str, mark: str) -> str:
    if char == mark:
        return "\\" + char
    if char in _GO_ESCAPES:
        return _GO_ESCAPES[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if char.isprintable():
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_quote(text: str) -> str:
    """Text as Go's `%q` prints it in messages."""
    return '"' + "".join(printed_character(char, '"') for char in text) + '"'


def aggregate_text(errors: list[str]) -> str:
    """Go's aggregate of errors: one plain, several as `[e1, e2]`, repeated texts once."""
    texts = list(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"


def bool_text(value: bool) -> str:
    return "true" if value else "false"


_BASES = {"0x": 16, "0o": 8, "0b": 2}


def parse_int32(text: str) -> int:
    """strconv.ParseInt of 32 bits that finds the base itself: `0x10` is 16 and `010` is 8."""
    sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    base = _BASES.get(digits[:2].lower(), 8 if len(digits) > 1 and digits.startswith("0") else 10)
    if base != 10 and digits[1:].isascii() and digits[1:].isalnum():
        with suppress(ValueError):
            digits = str(int(digits, base))
    number = parse_int(sign + digits, "ParseInt", written=text)
    if not -(1 << 31) <= number < 1 << 31:
        raise KubeletError(f"strconv.ParseInt: parsing {quoted(text)}: value out of range")
    return number


def quantity_fields(quantity: Quantity) -> str:
    """Go's `%v` of a quantity that is no pointer: its fields. One in the big form would show a memory address."""
    if quantity.big:
        return f"{{{{0 0}} {{{quantity}}}  {quantity.format}}}"
    return f"{{{{{quantity.unscaled} {quantity.exponent}}} {{<nil>}} {quantity.text} {quantity.format}}}"
