"""Events between those who wait and those who free: named pipes beside the ledger, which need no process in between.

Each waiter has a pipe of its own, and hears one line on it: that it has a lease, that its time is over, that it shall
watch. Whoever watches over the queue listens on the bell, which is rung after each transaction that may have made
room. A pipe whose other end is closed says so by itself: that is how a watcher which was killed is missed at once.
"""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path

from numafit.errors import NumafitError
from numafit.host.book.opening import NO_TRAPS, open_fifo, open_plain

BELL = "leases.bell"
WATCH = "leases.watch"
_PIPE = "waiting-"


def ring(folder: Path) -> None:
    """Nobody listens unless somebody waits."""
    with suppress(OSError):
        bell = open_fifo(folder / BELL, os.O_WRONLY)
        try:
            # One that is full was rung and not yet heard.
            os.write(bell, b"!")
        finally:
            os.close(bell)


def pipe_path(folder: Path, ticket: int, pid: int) -> Path:
    """Of one who waits. Tickets begin anew in a ledger that was lost, so one alone could mean two."""
    return folder / f"{_PIPE}{ticket}-{pid}"


def pipes(folder: Path) -> list[Path]:
    """Of all that wait, and of those who waited once and were killed."""
    return [folder / name for name in sorted(os.listdir(folder)) if name.startswith(_PIPE)]


def open_pipe(path: Path, flags: int = os.O_RDWR) -> int:
    """Made if it is missing. Opened for both ways it never ends, for reading it ends with the last one who writes."""
    try:
        with suppress(FileExistsError):
            os.mkfifo(path, 0o600)
            os.chmod(path, _mode(path))
        return open_fifo(path, flags)
    except OSError as error:
        raise _unusable(path, error) from None


def try_watch(folder: Path) -> int | None:
    """The lock of the one who watches; None: another has it. It is given up when the last copy of it is closed."""
    path = folder / WATCH
    try:
        with suppress(FileExistsError):
            made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_TRAPS, 0o600)
            os.fchmod(made, _mode(path))
            os.close(made)
        handle = open_plain(path, os.O_RDWR)
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _unusable(path: Path, error: OSError) -> NumafitError:
    return NumafitError(f"{path}: nobody can wait with it: {error.strerror or error} (root can take it away)")


def _mode(path: Path) -> int:
    """For whoever may write the ledger, whatever the umask of this user."""
    return 0o660 if path.parent.stat().st_mode & stat.S_IWGRP else 0o600
