"""A process puts the mark of a lease on itself; what that is stands in `mark`. It loads next to nothing: a job that has
waited starts with it (`host.wake`).
"""

import resource

_HIGHEST = 0x3FFFFFFF
"""The upper half of the outermost job's mark."""
_NESTED = 1000
_ID = 8
"""The characters of a lease's id; each is four bits."""


def mark_self(lease_id: str) -> bool:
    """Without effect, and False, where the limit was used for something else."""
    number = mark_number(lease_id)
    soft, hard = resource.getrlimit(resource.RLIMIT_RTTIME)
    if number is None:
        return False
    if hard == resource.RLIM_INFINITY:
        above = _HIGHEST
    elif is_mark(hard):
        above = (hard >> 32) - 1
    else:
        return False
    mark = above << 32 | number
    resource.setrlimit(resource.RLIMIT_RTTIME, (soft if 0 <= soft < mark and not is_mark(soft) else mark, mark))
    return True


def mark_number(lease_id: str) -> int | None:
    """The lower half of its mark; None: such an id has none."""
    try:
        return int(lease_id, 16) if len(lease_id) == _ID else None
    except ValueError:
        return None


def is_mark(limit: int) -> bool:
    return _HIGHEST - _NESTED < limit >> 32 <= _HIGHEST
