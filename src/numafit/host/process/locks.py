"""Who holds a lock on a file, as /proc/locks has it."""

import os
from pathlib import Path

import msgspec

from numafit.host.process.identity import PROC, read_stat, user_name, user_of


class LockHolder(msgspec.Struct, frozen=True):
    pid: int
    name: str
    """Of its program; empty where it may not be looked at."""
    user: str
    stopped: bool = False

    @property
    def words(self) -> str:
        """`process 4711 (python3, of ann, stopped)`."""
        known = [self.name, f"of {self.user}" if self.user else "", "stopped" if self.stopped else ""]
        inside = ", ".join(part for part in known if part)
        return f"process {self.pid} ({inside})" if inside else f"process {self.pid}"


def lock_holder(handle: int, root: Path = PROC) -> LockHolder | None:
    """Of the file that `handle` has open. None: nobody, or one that cannot be seen from here."""
    file = os.fstat(handle)
    place = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    try:
        lines = (root / "locks").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        # `3: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF`; one that waits has `->` behind its number.
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK" and words[5] == place and words[4].isdecimal() and int(words[4]):
            return _holder(int(words[4]), root)
    return None


def _holder(pid: int, root: Path) -> LockHolder:
    uid = user_of(pid, root)
    try:
        stat = read_stat(root / str(pid) / "stat")
    except PermissionError:
        stat = None
    user = user_name(uid) if uid is not None else ""
    return LockHolder(pid, stat.name if stat else "", user, stat is not None and stat.state in "Tt")
