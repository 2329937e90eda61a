"""How long to wait before another try: longer each time, and never all at once."""

import random

FIRST, LONGEST, GROWTH = 0.2, 30.0, 2.0


class Backoff:
    """Seconds: from `first`, doubled at each failure up to `longest`; half of it by chance, so that those who failed
    together do not come again together."""

    def __init__(self, first: float = FIRST, longest: float = LONGEST) -> None:
        self._first, self._longest = first, longest
        self._next = first

    def seconds(self) -> float:
        now = self._next
        self._next = min(now * GROWTH, self._longest)
        return now * random.uniform(0.5, 1.0)

    def succeeded(self) -> None:
        self._next = self._first
