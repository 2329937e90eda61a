"""The smallest number of nodes that is enough, by playing some numbers.

It is assumed that more nodes are enough wherever fewer are. Where pods are placed one by one that need not hold, so the
answer does not stand on it alone: it was played and is enough, the number below it was played and is not, and so was
the number above; numbers above that are not enough are told. Which numbers are played depends on nothing but what came
of those before: with few or many cores it is the same answer.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

PROBES = 3
"""Numbers that are played at a time."""
GROWTH = 2
"""Where what there is now is not enough, so many times as many are tried, again and again."""

Enough = Callable[[Sequence[int]], Mapping[int, bool]]
"""Plays these numbers, which were not played before."""


class FoundNumber(msgspec.Struct, frozen=True):
    least: int | None
    """None: not even `most` is enough."""
    played: Mapping[int, bool]
    """By number, in the order of numbers."""

    @property
    def unlike(self) -> tuple[int, ...]:
        """Numbers above the answer that were played and are not enough."""
        if self.least is None:
            return ()
        return tuple(number for number, enough in self.played.items() if number > self.least and not enough)


def least_enough(enough: Enough, first: int, most: int, least: int = 1) -> FoundNumber:
    """`first`: where it begins, from 1 to `most`. What is below `least` is not asked for, and taken for too few."""
    below = least - 1
    known: dict[int, bool] = {below: False}

    def play(numbers: Sequence[int]) -> None:
        new = [number for number in dict.fromkeys(numbers) if number not in known]
        known.update(enough(new) if new else {})

    play((first,))
    high = first if known[first] else None
    while high is None:
        low = max(number for number, own in known.items() if not own)
        if low >= most:
            return FoundNumber(None, _played(known, below))
        play(_between(low, min(low * GROWTH, most), closed=True))
        high = min((number for number, own in known.items() if own), default=None)
    while True:
        low = max(number for number, own in known.items() if number < high and not own)
        if low == high - 1:
            break
        play(_between(low, high))
        high = min(number for number, own in known.items() if number > low and own)
    if high < most:
        play((high + 1,))
    return FoundNumber(high, _played(known, below))


def _between(low: int, high: int, *, closed: bool = False) -> tuple[int, ...]:
    """Some numbers above `low` and below `high`, or up to it, at like distances."""
    parts = PROBES + (not closed)
    found = (low + (high - low) * part // parts for part in range(1, PROBES + 1))
    return tuple(dict.fromkeys(number for number in found if low < number))


def _played(known: Mapping[int, bool], below: int) -> dict[int, bool]:
    return {number: known[number] for number in sorted(known) if number > below}
