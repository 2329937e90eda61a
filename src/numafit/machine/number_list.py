"""Lists of ids as text that keep their order: `0-31`, `0-62:2` (every second), `5,1,3`."""

import re
from collections.abc import Iterable, Iterator, Sequence

from numafit.machine.bits import LARGEST_ID

_ITEM = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6})(?::([0-9]{1,6}))?)?")


def numbers_text(numbers: Sequence[int]) -> str:
    """The shortest runs from left to right: two or more neighbours, or three or more with a wider step."""
    return ",".join(_runs(numbers))


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    start = 0
    while start < len(numbers):
        end = start + 1
        step = numbers[end] - numbers[start] if end < len(numbers) else 0
        if step > 0:
            while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
                end += 1
        first, last, length = numbers[start], numbers[end - 1], end - start
        if step == 1:
            yield f"{first}-{last}"
        elif length > 2:
            yield f"{first}-{last}:{step}"
        else:
            yield str(first)
            end = start + 1
        start = end


def parse_numbers(text: str) -> list[int]:
    """In the order written, repetitions kept; blanks around items do not count. Raises `ValueError` with a reason."""
    numbers: list[int] = []
    if not text.strip():
        return numbers
    for item in text.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            raise ValueError(f'"{item.strip()[:40]}" is not an id or a range')
        first, last, step = (None if part is None else int(part) for part in match.groups())
        assert first is not None
        last = first if last is None else last
        if first > last:
            raise ValueError(f'the range "{item.strip()}" runs backwards')
        if last > LARGEST_ID:
            raise ValueError(f"{last} is too large for an id")
        if step == 0:
            raise ValueError(f'the range "{item.strip()}" has a step of 0')
        run = range(first, last + 1, step or 1)
        if len(numbers) + len(run) > LARGEST_ID + 1:
            raise ValueError("the list names too many ids")
        numbers += run
    return numbers


def numbers_mask(numbers: Iterable[int]) -> int:
    """The set of them, in time that grows with their number only."""
    flags = bytearray(LARGEST_ID // 8 + 1)
    for number in numbers:
        flags[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(flags, "little")
