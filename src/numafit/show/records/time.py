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


def seconds_of(text: str) -> float:
    """What `time_text` was made from. Raises `ValueError` for what is no such time."""
    return float(calendar.timegm(time.strptime(text, f"{_TO_THE_SECOND}Z")))
