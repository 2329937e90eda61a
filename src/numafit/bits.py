"""A set is an integer: CPU sets and NUMA masks as bit masks, and their text forms.

Lists of ids that keep their order have a text of their own: `0-31`, `0-62:2` (every second), `5,1,3`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from numafit.errors import KubeletError


class CpusetError(KubeletError):
    """A CPU list that the kubelet cannot parse; the text is Go's."""


def mask_of(ids: Iterable[int]) -> int:
    mask = 0
    for i in ids:
        mask |= 1 << i
    return mask


def members(mask: int) -> Iterator[int]:
    """The ids in `mask`, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def cpuset_text(mask: int) -> str:
    """`0-3,8`: ascending, runs of two or more as a range, empty set as the empty text."""
    parts = []
    while mask:
        first = (mask & -mask).bit_length() - 1
        shifted = mask >> first
        # the lowest zero bit above a run of ones gives the run's length
        length = (~shifted & (shifted + 1)).bit_length() - 1
        parts.append(str(first) if length == 1 else f"{first}-{first + length - 1}")
        mask = shifted >> length << (first + length)
    return ",".join(parts)


# Go's strconv.Atoi and Python's int differ: no blanks, no underscores, ASCII digits only.
def _atoi(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise CpusetError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    value = int(text)
    if not -(1 << 63) <= value < 1 << 63:
        raise CpusetError(f'strconv.Atoi: parsing "{text}": value out of range')
    return value


LARGEST_ID = 1 << 16
"""No Linux machine numbers its CPUs higher; a larger id in a list is a typing error, not a set to build."""


def parse_cpuset(text: str, *, reversed_sign: str = ">") -> int:
    """The kubelet's cpuset.Parse. `reversed_sign` is what its error for `5-3` prints: `>` since 1.27, `>=` before;
    empty for 1.20 and 1.21, which take a reversed range for an empty one."""
    mask = 0
    if text == "":
        return mask
    for part in text.split(","):
        first_text, dash, last_text = part.partition("-")
        first = _atoi(first_text)
        last = _atoi(last_text) if dash else first
        if first > last:
            if reversed_sign:
                raise CpusetError(f'invalid range "{part}" ({first} {reversed_sign} {last})')
            continue
        if first < 0 or last > LARGEST_ID:
            raise CpusetError(f'CPU number out of range in "{part}"')
        mask |= (1 << last + 1) - (1 << first)
    return mask


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
