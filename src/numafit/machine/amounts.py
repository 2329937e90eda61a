"""Amounts of bytes as people write them: `64Gi`, or a plain number."""

from numafit.quantity import QuantityError, parse_quantity

_UNITS = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")


def amount_text(amount: int) -> str:
    """The largest binary unit that keeps it whole: 17179869184 is `16Gi`, 1000 stays `1000`."""
    for power, unit in zip(range(60, 0, -10), _UNITS, strict=True):
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
