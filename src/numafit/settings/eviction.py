"""Eviction thresholds: what the four maps say, and how many bytes of memory `evictionHard` reserves.

The kubelet looks at them twice: at `evictionHard` alone when it works out what is reserved, and at all of them when it
makes its eviction manager, after the other managers.

Shares are 32-bit floating point numbers in the kubelet, and it shows: 5% of 404595146752 bytes is 20229757639.
"""

import math
import re
import struct
from collections.abc import Mapping

from numafit.errors import FieldPath, KubeletError
from numafit.golang.text import in_byte_order, parse_duration, quoted
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.versions import Behaviour

Threshold = Quantity | float
"""An amount, or a share of the capacity."""

MEMORY_AVAILABLE = "memory.available"
EVICTION_HARD = ("evictionHard",)
EVICTION_SOFT = ("evictionSoft",)
GRACE_PERIODS = ("evictionSoftGracePeriod",)
MINIMUM_RECLAIM = ("evictionMinimumReclaim",)

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


def thresholds(
    statements: Mapping[str, str], behaviour: Behaviour, where: FieldPath = EVICTION_HARD
) -> dict[str, Threshold]:
    """Signal -> threshold, without those that `0%` and `100%` switch off. In byte order, where the kubelet has none."""
    found: dict[str, Threshold] = {}
    hard = where == EVICTION_HARD
    for signal in in_byte_order(statements):
        value = statements[signal]
        _check_signal(signal, behaviour, where)
        if value in ("0%", "100%"):
            continue
        try:
            if value.endswith("%"):
                found[signal] = _share(signal, value, behaviour.eviction_share_limit)
            else:
                found[signal] = _amount(signal, value)
        except KubeletError as error:
            raise KubeletError(
                str(error), code="eviction-value" if hard else "soft-value", field=(*where, signal)
            ) from None
    return found


def check_eviction(config: KubeletConfig, behaviour: Behaviour) -> None:
    """What the eviction manager refuses. `evictionHard` is looked at here only where nobody did before.

    The first signal that is refused is random in the kubelet (all releases).
    """
    if config.ignore_eviction:
        thresholds(config.eviction_hard, behaviour)
    soft = thresholds(config.eviction_soft, behaviour, EVICTION_SOFT)
    periods = config.eviction_soft_grace_period
    for signal in in_byte_order(periods):
        _check_signal(signal, behaviour, GRACE_PERIODS)
        _check_period(signal, periods[signal])
    reclaims = config.eviction_minimum_reclaim
    for signal in in_byte_order(reclaims):
        _check_signal(signal, behaviour, MINIMUM_RECLAIM)
        _check_reclaim(signal, reclaims[signal])
    for signal in soft:
        if signal not in periods:
            text = f"grace period must be specified for the soft eviction threshold {signal}"
            raise KubeletError(text, code="grace-missing", field=(*EVICTION_SOFT, signal), facts={"signal": signal})


def _check_signal(signal: str, behaviour: Behaviour, where: FieldPath) -> None:
    signals = _SIGNALS | _CONTAINERFS_SIGNALS if behaviour.containerfs_signals else _SIGNALS
    if signal not in signals:
        hard = where == EVICTION_HARD
        text = f"unsupported eviction signal {signal}"
        raise KubeletError(text, code="eviction-signal" if hard else "soft-signal", field=(*where, signal))


def _check_period(signal: str, value: str) -> None:
    field = (*GRACE_PERIODS, signal)
    try:
        period = parse_duration(value)
    except KubeletError as error:
        raise KubeletError(str(error), code="grace-period", field=field) from None
    if period < 0:
        text = f"invalid eviction grace period specified: {value}, must be a positive value"
        raise KubeletError(text, code="grace-period", field=field)


def _check_reclaim(signal: str, value: str) -> None:
    """Unlike a threshold `0%` is refused, `0` is not, and there is no upper limit."""
    problem = ""
    try:
        if value.endswith("%"):
            if _percentage(value) <= 0:
                problem = f"eviction percentage minimum reclaim {signal} must be positive: {value}"
        elif parse_quantity(value).sign < 0:
            problem = f"negative eviction minimum reclaim specified for {signal}"
    except KubeletError as error:
        problem = str(error)
    if problem:
        raise KubeletError(problem, code="minimum-reclaim", field=(*MINIMUM_RECLAIM, signal))


def memory_reservation(found: Mapping[str, Threshold], capacity: int) -> Quantity | None:
    """What the threshold on free memory reserves, of `capacity` bytes. None without such a threshold."""
    threshold = found.get(MEMORY_AVAILABLE)
    if threshold is None or isinstance(threshold, Quantity):
        return threshold
    product = float(capacity) * threshold
    # Go's conversion of what no int64 can hold, as amd64 does it
    whole = int(product) if math.isfinite(product) and abs(product) < 1 << 63 else -(1 << 63)
    return Quantity(whole, 0, "BinarySI")


def _percentage(value: str) -> float:
    digits = value.rstrip("%")
    if _FLOAT.fullmatch(digits) is None:
        raise KubeletError(f"strconv.ParseFloat: parsing {quoted(digits)}: invalid syntax")
    try:
        share = _float32(_float32(float(digits)) / 100)
    except OverflowError:
        share = math.inf
    if math.isinf(share) and "i" not in digits.lower():
        raise KubeletError(f"strconv.ParseFloat: parsing {quoted(digits)}: value out of range")
    return share


def _share(signal: str, value: str, limit: int) -> float:
    share = _percentage(value)
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
