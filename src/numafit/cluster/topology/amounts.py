"""Bytes as texts: the kubelet counts in unsigned 64 bits, and JSON numbers above 2**53 do not survive every client."""

import re

UNSIGNED = 1 << 64
_UNITS = {"": 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_AMOUNT = re.compile(r"([0-9]{1,20})((?:[KMGTPE]i)?)")


def parse_bytes(text: str) -> int:
    """What `amounts.amount_text` wrote; raises ValueError with a reason."""
    match = _AMOUNT.fullmatch(text)
    amount = -1 if match is None else int(match[1]) << _UNITS[match[2]]
    if not 0 <= amount < UNSIGNED:
        raise ValueError(f'"{text[:40]}" is not a number of bytes')
    return amount
