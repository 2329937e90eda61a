"""Amounts as people write and read them: bytes (`64Gi`, or a plain number), counts (`3 cores`) and times (`90s`)."""

import re

from numafit.quantity import QuantityError, parse_quantity

_BINARY_UNITS = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")


def amount_text(amount: int) -> str:
    """The largest binary unit that keeps it whole: 17179869184 is `16Gi`, 1000 stays `1000`."""
    for power, unit in zip(range(60, 0, -10), _BINARY_UNITS, strict=True):
        if amount and amount % (1 << power) == 0:
            return f"{amount >> power}{unit}"
    return str(amount)


def parse_amount(text: str) -> int:
    """Whole bytes, not negative, below 2**63. Raises `ValueError` with a reason."""
    try:
        # Kubernetes reads a unit alone as 0 of it
        quantity = parse_quantity(text if text.strip("EPTGMKi") else "")
    except QuantityError:
        raise ValueError(f'"{text[:40]}" is not an amount') from None
    whole = quantity.value()
    if quantity.sign < 0:
        raise ValueError(f'the amount "{text[:40]}" is negative')
    if not (0 <= whole < (1 << 63) - 1) or parse_quantity(str(whole)) != quantity:
        raise ValueError(f'"{text[:40]}" is not a whole number of bytes that a machine can have')
    return whole


_SIZE_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def size_text(amount: int) -> str:
    """For reading, about three digits: `48Ki`, `1.25Mi`, `126Gi`. The exact number stands in the tables."""
    power = min(max(amount.bit_length() - 1, 0) // 10, len(_SIZE_UNITS) - 1)
    value = amount / (1 << 10 * power)
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits else text) + _SIZE_UNITS[power]


def count_text(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {_plural(noun)}"


def _plural(noun: str) -> str:
    return noun[:-1] + "ies" if noun.endswith("y") else noun + "s"


_UNITS_OF_TIME = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_seconds(text: str) -> float:
    """A time like 90s, 5m, 1h30m, 1d or 8:00:00; a plain number are seconds. Raises `ValueError`."""
    clock = re.fullmatch(r"(\d{1,6}):([0-5]\d):([0-5]\d)", text, re.ASCII)
    if clock is not None:
        hours, minutes, seconds = map(int, clock.groups())
        return 3600.0 * hours + 60.0 * minutes + seconds
    number = r"\d{1,9}(?:\.\d{1,3})?"
    if re.fullmatch(rf"{number}|(?:{number}[smhd]){{1,4}}", text, re.ASCII) is None:
        raise ValueError(f'"{text[:40]}" is not a time')
    return sum(
        float(amount) * _UNITS_OF_TIME[unit] for amount, unit in re.findall(rf"({number})([smhd]?)", text, re.ASCII)
    )
