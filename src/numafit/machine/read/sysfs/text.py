"""The small texts of /sys: numbers, lists of CPUs (`0-3,8`) and masks (`00ff,ffffffff`).

`None` is a file that is missing. A file that is there but makes no sense is refused where the kubelet, too, would
stop; the other readers of it take it for missing.
"""

import re

from numafit.bits import LARGEST_ID, CpusetError, parse_cpuset
from numafit.errors import InputError
from numafit.machine.read.sysfs.tree import Tree

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_MOST_GROUPS = LARGEST_ID // 32
_GROUP = re.compile(r"[0-9a-fA-F]{1,16}")


def refused(message: str, path: str, source: str) -> InputError:
    return InputError(message, source=f"{source.rstrip('/')}/{path}", cure="capture the machine again")


def number(text: str | None) -> int | None:
    """A whole number and nothing else; None for other text."""
    if text is None or _NUMBER.fullmatch(stripped := text.strip()) is None:
        return None
    return int(stripped)


def needed_number(tree: Tree, path: str, source: str) -> int | None:
    text = tree.text(path)
    if text is None:
        return None
    value = number(text)
    if value is None:
        raise refused(f'"{text.strip()[:40]}" is not a number', path, source)
    return value


def cpu_list(text: str | None) -> int | None:
    """The mask of a list such as `0-3,8`; an empty file is the empty set, None other text."""
    try:
        return None if text is None else parse_cpuset(text.strip())
    except CpusetError:
        return None


def needed_cpu_list(tree: Tree, path: str, source: str) -> int | None:
    text = tree.text(path)
    if text is None:
        return None
    mask = cpu_list(text)
    if mask is None:
        raise refused(f'"{text.strip()[:40]}" is not a list of CPUs', path, source)
    return mask


def cpu_groups(text: str | None) -> list[int] | None:
    """The groups of a mask, 32 CPUs each, highest first."""
    if text is None or len(text) > 17 * _MOST_GROUPS:
        return None
    groups = text.strip().split(",")
    if len(groups) > _MOST_GROUPS or not all(_GROUP.fullmatch(group) for group in groups):
        return None
    return [int(group, 16) for group in groups]


def mask_of_groups(groups: list[int]) -> int:
    mask = 0
    for group in groups:
        mask = mask << 32 | group
    return mask
