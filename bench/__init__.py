"""How fast numafit is. A module `bench_<noun>.py` offers `rows()`; `./dev bench` finds and measures them."""

from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table. `run` is called many times and must leave nothing behind that eases the next call."""

    name: str
    run: Callable[[], object]
    budget: float | None = None
    """Seconds of CPU time per call that may not be passed."""
    kubelet: float | None = None
    """Seconds of CPU time that the kubelet's own code needs for the same work, when it was measured."""
