"""A moment as records write it: RFC 3339 in UTC."""

import calendar
import time

_TO_THE_SECOND = "%Y-%m-%dT%H:%M:%S"


def now_text() -> str:
    """To the millisecond."""
    seconds, rest = divmod(time.time_ns(), 10**9)
    return f"{time.strftime(_TO_THE_SECOND, time.gmtime(seconds))}.{rest // 10**6:03}Z"


def micro_time() -> str:
    """Now, to the microsecond: what a Lease of the API has."""
    seconds, rest = divmod(time.time_ns(), 10**9)
    return f"{time.strftime(_TO_THE_SECOND, time.gmtime(seconds))}.{rest // 10**3:06}Z"


def time_text(seconds: float) -> str:
    """Seconds since 1970, to the second."""
    return time.strftime(f"{_TO_THE_SECOND}Z", time.gmtime(seconds))


def end_text(end: float) -> str:
    """A moment of the clock that counts from the boot, as the other clock tells it now."""
    return time_text(time.time() + end - _since_boot())


def end_of(text: str) -> float:
    """What `end_text` was made from, to the second. Raises `ValueError` for what is no such time."""
    return seconds_of(text) - time.time() + _since_boot()


def _since_boot() -> float:
    # Who reads the answer of another machine may run on a system without this clock: only differences count.
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def seconds_of(text: str) -> float:
    """What `time_text` was made from. Raises `ValueError` for what is no such time."""
    return float(calendar.timegm(time.strptime(text, f"{_TO_THE_SECOND}Z")))
