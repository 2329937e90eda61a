"""What time it is by the API server: moments in objects are its own, and our clock may be hours off."""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

SAME_SECONDS = 5.0
"""By which the clocks may differ and count as the same: an answer tells whole seconds, and takes its time."""
LOOK_SECONDS = 10.0
"""Between two looks."""


class ServerClock:
    """Between looks it goes on steadily, whatever becomes of our own clock."""

    def __init__(self, own: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._own, self._steady = own, steady
        self._told: tuple[float, float] | None = None
        """What it said, and when that was by the steady clock."""
        self._looked = 0.0

    def now(self) -> float:
        """Seconds since 1970; by our own clock where both agree, or nothing is known."""
        own = self._own()
        if self._told is None:
            return own
        there = self._there()
        return own if abs(there - own) < SAME_SECONDS else there

    def wants_to_look(self) -> bool:
        return self._told is None or self._steady() - self._looked >= LOOK_SECONDS

    def look(self, date: bytes) -> None:
        """`date`: a header of an answer; one that cannot be read is passed over."""
        try:
            told = parsedate_to_datetime(date.decode("latin-1")).timestamp()
        except (ValueError, OverflowError):
            return
        self._looked = self._steady()
        if self._told is None or abs(told - self._there()) >= SAME_SECONDS:
            self._told = (told, self._looked)

    def _there(self) -> float:
        assert self._told is not None
        date, at = self._told
        return date + self._steady() - at
