"""Two ways to run a command, compared: how much quicker, with which spread, and whether that is more than noise.

Decided by the exact Mann-Whitney test, two-sided: of all ways to deal the same times out to both, how many would put
one of them so far ahead? It asks nothing of how times are distributed, and an outlier counts as one time. The gain is
the median of all ratios of a time of the one to a time of the other (after Hodges and Lehmann), and its interval holds
the ratios that the same test would not refuse: it holds 1 just when the difference may be noise.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import comb, floor
from statistics import median

import msgspec

AS_IT_IS, WELL, BADLY = "as it is", "bound well", "bound badly"
WAYS = (AS_IT_IS, WELL, BADLY)

QUESTIONS = 2
LEVEL = 0.05 / QUESTIONS
"""Two questions are asked of the same rounds; where there is only noise, one of them is answered wrongly at most one
time in twenty."""


class Gain(msgspec.Struct, frozen=True):
    ratio: float
    """Time of the slow way by that of the quick one: 1.25 is a quarter more."""
    low: float
    high: float
    """The interval around it that is sure at 1 - LEVEL; the range of all ratios where there are too few rounds."""
    chance: float
    """That noise alone gives such a difference, or a greater one."""
    enough: bool
    """No: with so few rounds nothing could be told from noise."""

    @property
    def real(self) -> bool:
        return self.chance <= LEVEL


class NearFar(msgspec.Struct, frozen=True):
    cpus: int
    near: int
    """Their NUMA node."""
    far: int
    far_by: str
    """Why this one is called far."""


class CommandMeasured(msgspec.Struct, frozen=True):
    command: tuple[str, ...]
    places: NearFar
    seconds: Mapping[str, tuple[float, ...]]
    """For each of WAYS, in the order of the rounds."""
    whole: bool
    """No: it was stopped before its end."""

    def gain(self, slow: str, quick: str) -> Gain | None:
        """None while one of both has not ended once."""
        a, b = self.seconds[slow], self.seconds[quick]
        return gain_of(a, b) if a and b else None


def gain_of(slow: Sequence[float], quick: Sequence[float]) -> Gain:
    """Both not empty, times above 0."""
    ratios = sorted(a / b for a in slow for b in quick)
    ahead = sum((a > b) + 0.5 * (a == b) for a in slow for b in quick)
    sizes = len(slow), len(quick)
    chance = two_sided(min(ahead, len(ratios) - ahead), *sizes)
    cut = 0
    while two_sided(cut, *sizes) <= LEVEL:
        cut += 1
    # Where `cut` is 0, even times that are all apart give no answer.
    place = max(cut - 1, 0)
    return Gain(median(ratios), ratios[place], ratios[-1 - place], chance, cut > 0)


def two_sided(least: float, first: int, second: int) -> float:
    """The chance that the side that is ahead less often is so at most `least` times. A tie that counts half is rounded
    up: it may make noise of a difference, never a difference of noise."""
    whole = floor(least + 0.5)
    ways = sum(_ways(count, first, second) for count in range(min(whole, first * second) + 1))
    return min(1.0, 2 * ways / comb(first + second, first))


@cache
def _ways(count: int, first: int, second: int) -> int:
    """Orders of `first` and `second` times in which one of the first comes before one of the second `count` times."""
    if count < 0 or count > first * second:
        return 0
    if not first or not second:
        return 1
    # The last of all is one of the second, and all of the first come before it; or one of the first.
    return _ways(count - first, first, second - 1) + _ways(count, first - 1, second)
