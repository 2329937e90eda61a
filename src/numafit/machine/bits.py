"""A set is an integer: CPU sets and NUMA masks as bit masks, and their text forms."""

from collections.abc import Iterable, Iterator

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


def numa_mask_text(mask: int) -> str:
    """A NUMA mask as kubelet logs print it: binary, padded in steps of two, powers of four short."""
    for shift in range(62, 0, -2):
        if mask > 1 << shift:
            return f"{mask:0{shift + 2}b}"
    return f"{mask:02b}"
