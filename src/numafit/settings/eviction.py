"""Hard eviction thresholds: what `evictionHard` says, and how many bytes of memory that reserves.

Shares are 32-bit floating point numbers in the kubelet, and it shows: 5% of 404595146752 bytes is 20229757639.
"""

import math
import re
import struct
from collections.abc import Mapping

from numafit.errors import KubeletError
from numafit.golang.text import in_byte_order, quoted
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.versions import Behaviour

Threshold = Quantity | float
"""An amount, or a share of the capacity."""

MEMORY_AVAILABLE = "memory.available"
EVICTION_HARD = ("evictionHard",)

_SIGNALS = frozenset(
    (
        MEMORY_AVAILABLE,
        "allocatableMemory.available",
        "nodefs.available",
        "nodefs.inodesFree",
        "imagefs.available",
        "imagefs.inodesFree",
        "pid.available",
    )
)
_CONTAINERFS_SIGNALS = frozenset(("containerfs.available", "containerfs.inodesFree"))
_FLOAT = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf(?:inity)?|nan", re.ASCII | re.IGNORECASE
)


def thresholds(eviction_hard: Mapping[str, str], behaviour: Behaviour) -> dict[str, Threshold]:
    """Signal -> threshold, without those that `0%` and `100%` switch off. In byte order, where the kubelet has none."""
    signals = _SIGNALS | _CONTAINERFS_SIGNALS if behaviour.containerfs_signals else _SIGNALS
    found: dict[str, Threshold] = {}
    for signal in in_byte_order(eviction_hard):
        value = eviction_hard[signal]
        field = (*EVICTION_HARD, signal)
        if signal not in signals:
            raise KubeletError(f"unsupported eviction signal {signal}", code="eviction-signal", field=field)
        if value in ("0%", "100%"):
            continue
        try:
            if value.endswith("%"):
                found[signal] = _share(signal, value, behaviour.eviction_share_limit)
            else:
                found[signal] = _amount(signal, value)
        except KubeletError as error:
            raise KubeletError(str(error), code="eviction-value", field=field) from None
    return found


def memory_reservation(found: Mapping[str, Threshold], capacity: int) -> Quantity | None:
    """What the threshold on free memory reserves, of `capacity` bytes. None without such a threshold."""
    threshold = found.get(MEMORY_AVAILABLE)
    if threshold is None or isinstance(threshold, Quantity):
        return threshold
    product = float(capacity) * threshold
    # Go's conversion of what no int64 can hold, as amd64 does it
    whole = int(product) if math.isfinite(product) and abs(product) < 1 << 63 else -(1 << 63)
    return Quantity(whole, 0, "BinarySI")


def _share(signal: str, value: str, limit: int) -> float:
    digits = value.rstrip("%")
    if _FLOAT.fullmatch(digits) is None:
        raise KubeletError(f"strconv.ParseFloat: parsing {quoted(digits)}: invalid syntax")
    try:
        share = _float32(_float32(float(digits)) / 100)
    except OverflowError:
        share = math.inf
    if math.isinf(share) and "i" not in digits.lower():
        raise KubeletError(f"strconv.ParseFloat: parsing {quoted(digits)}: value out of range")
    if share < 0:
        raise KubeletError(f"eviction percentage threshold {signal} must be >= 0%: {value}")
    if share > limit:
        raise KubeletError(f"eviction percentage threshold {signal} must be <= 100%: {value}")
    return share


def _amount(signal: str, value: str) -> Quantity:
    quantity = parse_quantity(value)
    if quantity.sign <= 0:
        raise KubeletError(f"eviction threshold {signal} must be positive: {quantity}")
    return quantity


def _float32(number: float) -> float:
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded
