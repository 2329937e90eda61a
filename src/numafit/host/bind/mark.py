"""The mark of a lease on its processes: a limit that every user may read, and that no process loses.

Variables tell which lease a process belongs to, but only to its own user and to root, and not of a program that runs
with another's rights or dropped them. Limits are inherited by whatever a process starts, also through setuid programs,
and /proc/PID/limits is open to everybody. The one on real-time CPU time counts microseconds: so far up that no machine
lives to see it, it limits nothing, and its lower half names the lease. A job that is started inside another one can
only lower it, so the upper half counts down.
"""

import resource
from pathlib import Path

from numafit.host.process.identity import PROC, processes

_HIGHEST = 0x3FFFFFFF
"""The upper half of the outermost job's mark."""
_NESTED = 1000
_LINE = b"Max realtime timeout"
_ID = 8
"""The characters of a lease's id; each is four bits."""


def mark_self(lease_id: str) -> None:
    """Without effect where the limit was used for something else; `is_marked` tells."""
    number = _number(lease_id)
    soft, hard = resource.getrlimit(resource.RLIMIT_RTTIME)
    if number is None:
        return
    if hard == resource.RLIM_INFINITY:
        above = _HIGHEST
    elif _is_mark(hard):
        above = (hard >> 32) - 1
    else:
        return
    mark = above << 32 | number
    resource.setrlimit(resource.RLIMIT_RTTIME, (soft if 0 <= soft < mark and not _is_mark(soft) else mark, mark))


def is_marked(pid: int, lease_id: str, root: Path = PROC) -> bool:
    found = _hard_limit(pid, root)
    return found is not None and _is_mark(found) and found & 0xFFFFFFFF == _number(lease_id)


def marked_processes(lease_id: str, root: Path = PROC) -> list[int]:
    """Ascending, of all users."""
    return [pid for pid in processes(root) if is_marked(pid, lease_id, root)]


def _number(lease_id: str) -> int | None:
    try:
        return int(lease_id, 16) if len(lease_id) == _ID else None
    except ValueError:
        return None


def _is_mark(limit: int) -> bool:
    return _HIGHEST - _NESTED < limit >> 32 <= _HIGHEST


def _hard_limit(pid: int, root: Path) -> int | None:
    try:
        lines = (root / str(pid) / "limits").read_bytes().splitlines()
    except OSError:
        return None
    words = next((line.split() for line in lines if line.startswith(_LINE)), [])
    return int(words[4]) if len(words) > 4 and words[4].isdigit() else None
