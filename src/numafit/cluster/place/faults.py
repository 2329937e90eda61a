"""Faults of our own: a pod or a node that the engine cannot bear stops nobody else. Each is counted, and said once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import extract_tb

from numafit.cluster.place.counts import PlaceCounts

MOST_SAID = 1000


class Faults:
    def __init__(self, counts: PlaceCounts, say: Callable[[str], None]) -> None:
        self._counts, self._say = counts, say
        self._said: set[str] = set()

    def happened(self, about: str, error: Exception) -> None:
        self._counts.faults += 1
        frames = extract_tb(error.__traceback__)
        place = f" ({frames[-1].filename.rpartition('/')[2]}, line {frames[-1].lineno})" if frames else ""
        text = f"{about}: a fault of numafit: {type(error).__name__}: {error}{place}"
        if text not in self._said and len(self._said) < MOST_SAID:
            self._said.add(text)
            self._say(text)

    @contextmanager
    def passed_over(self, about: str) -> Iterator[None]:
        try:
            yield
        # Whatever it is, it is a bug, and the others go on.
        except Exception as error:
            self.happened(about, error)
