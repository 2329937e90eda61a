"""A tree of small text files such as /sys and /proc: the live one, a copy in a folder, or one packed in a .tgz.

Paths have no slash in front (`sys/devices/system/cpu/online`). Whatever is not there, or may not be read, is missing:
old kernels and partial copies are the normal case.
"""

import os
from pathlib import Path
from typing import Protocol

from numafit.errors import InputError
from numafit.machine.read.sysfs.archive import LARGEST_ARCHIVE, LARGEST_FILE, archive_tree

_PIECE = 1 << 16
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""No waiting: a pipe in place of a file must not stop us. Not every system has each of them."""


class Tree(Protocol):
    def text(self, path: str) -> str | None:
        """The content of a file; None when there is none. Links on the way are followed."""

    def names(self, path: str) -> list[str]:
        """The entries of a directory, sorted as text; none when it is missing."""

    def link(self, path: str) -> str | None:
        """What a symbolic link says, as it is written; None when there is no link."""


class FolderTree:
    """A tree on disk; `/` is the live machine."""

    def __init__(self, root: str | Path) -> None:
        self.root = str(root).rstrip("/") + "/"

    def text(self, path: str) -> str | None:
        data = _read(self.root + path)
        return None if data is None else data.decode("utf-8", "replace")

    def names(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self.root + path))
        except (OSError, ValueError):
            return []

    def link(self, path: str) -> str | None:
        try:
            return os.readlink(self.root + path)
        except (OSError, ValueError):
            return None


def _read(path: str) -> bytes | None:
    """Plain system calls: a machine with 1,024 CPUs has some 20,000 of these files."""
    try:
        handle = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return None
    try:
        pieces = [os.read(handle, _PIECE)]
        size = len(pieces[0])
        # Files of /proc come in pieces; only the empty piece is the end.
        while pieces[-1]:
            pieces.append(os.read(handle, _PIECE))
            size += len(pieces[-1])
            if size > LARGEST_FILE:
                message = f"holds more than {LARGEST_FILE >> 20} MiB"
                raise InputError(message, source=path, cure="this is not a file of /sys or /proc")
    except OSError:
        return None
    finally:
        os.close(handle)
    return b"".join(pieces)


def live_tree() -> FolderTree:
    return FolderTree("/")


def open_tree(path: Path) -> Tree:
    """The tree at `path`: a .tgz, a folder with `sys` or `proc` in it, or a folder that holds a `sys.tgz`."""
    if path.is_dir():
        if (path / "sys").is_dir() or (path / "proc").is_dir():
            return FolderTree(path)
        if not (path / "sys.tgz").is_file():
            raise InputError(
                "holds neither sys nor proc nor sys.tgz",
                source=str(path),
                cure="give the folder above sys and proc, or make a .tgz with `numafit machine capture`",
            )
        path = path / "sys.tgz"
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_ARCHIVE + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", source=str(path)) from error
    if len(data) > LARGEST_ARCHIVE:
        raise InputError(f"is larger than {LARGEST_ARCHIVE >> 20} MiB", source=str(path))
    return archive_tree(data, str(path))
