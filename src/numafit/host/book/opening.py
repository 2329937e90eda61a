"""Opening what lies in a folder that others may write, too.

Whoever may make files there can put a link where another user, or root, is about to write, or a pipe where he is about
to read. So nothing in there is opened through a link or waited for, and what is not what it should be is refused.
"""

import os
import stat

NO_TRAPS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def open_plain(path: str | os.PathLike[str], flags: int, mode: int = 0o600) -> int:
    """A file with one name, or a folder; raises `OSError` for anything else."""
    handle = os.open(path, flags | NO_TRAPS, mode)
    found = os.fstat(handle)
    if stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1):
        return handle
    os.close(handle)
    raise FileExistsError(f"{path} is no plain file")


def open_fifo(path: str | os.PathLike[str], flags: int) -> int:
    """A named pipe; raises `OSError` for anything else."""
    handle = os.open(path, flags | NO_TRAPS)
    if stat.S_ISFIFO(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise FileExistsError(f"{path} is no pipe")


def read_plain(path: str | os.PathLike[str], most: int, *, uid: int | None = None) -> bytes:
    """The last `most` bytes; with `uid` of a file that belongs to this user. Raises `OSError`."""
    with open(open_plain(path, os.O_RDONLY), "rb") as file:
        found = os.fstat(file.fileno())
        if uid not in (None, found.st_uid):
            raise PermissionError(f"{path} belongs to another user")
        file.seek(max(0, found.st_size - most))
        return file.read(most)
