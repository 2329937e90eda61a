"""The mark of a lease on its processes: a limit that every user may read, and that no process loses.

Variables tell which lease a process belongs to, but only to its own user and to root, and not of a program that runs
with another's rights or dropped them. Limits are inherited by whatever a process starts, also through setuid programs,
and /proc/PID/limits is open to everybody. The one on real-time CPU time counts microseconds: so far up that no machine
lives to see it, it limits nothing, and its lower half names the lease. A job that is started inside another one can
only lower it, so the upper half counts down.
"""

from pathlib import Path

from numafit.host.bind.marking import is_mark, mark_number
from numafit.host.process.identity import PROC, processes

_LINE = b"Max realtime timeout"


def is_marked(pid: int, lease_id: str, root: Path = PROC) -> bool:
    found = _hard_limit(pid, root)
    return found is not None and is_mark(found) and found & 0xFFFFFFFF == mark_number(lease_id)


def marked_processes(lease_id: str, root: Path = PROC) -> list[int]:
    """Ascending, of all users."""
    return [pid for pid in processes(root) if is_marked(pid, lease_id, root)]


def _hard_limit(pid: int, root: Path) -> int | None:
    try:
        lines = (root / str(pid) / "limits").read_bytes().splitlines()
    except OSError:
        return None
    words = next((line.split() for line in lines if line.startswith(_LINE)), [])
    return int(words[4]) if len(words) > 4 and words[4].isdigit() else None
