"""How fast numafit is. A module `bench_<noun>.py` offers `rows()`; `./dev bench` finds and measures them."""

from collections.abc import Callable
from typing import Literal, NamedTuple

TIMES_FASTER = 5
"""Where the kubelet's own code was measured, numafit takes at most this part of its CPU time."""


class Row(NamedTuple):
    """One line of the table. `run` is called many times and must leave nothing behind that eases the next call."""

    name: str
    run: Callable[[], object]
    budget: float | None = None
    """Seconds of CPU time per call that may not be passed; for other units the number that may not be passed."""
    kubelet: float | None = None
    """Seconds of CPU time that the kubelet's own code needs for the same work, when it was measured."""
    unit: Literal["ms", "MB", "x"] = "ms"
    measured: bool = False
    """`run` measures by itself: it is called once and returns the amount, time in seconds."""

    @property
    def limit(self) -> float | None:
        limits = [] if self.budget is None else [self.budget]
        if self.kubelet is not None:
            limits.append(self.kubelet / TIMES_FASTER)
        return min(limits, default=None)
