"""Tells at once when a file in a folder is written, replaced or removed, by the kernel's inotify.

Folders are watched, not files: the kubelet replaces a file by renaming another one over it. Where the kernel does not
watch (no more watches allowed, a folder that is not there yet) whoever asks finds the change by `stamps`, later.
"""

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

_EVENT = struct.Struct("iIII")
_READ = 1 << 16
_NONBLOCK, _CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC
_CLOSE_WRITE, _MOVED_TO, _CREATE, _DELETE = 0x8, 0x80, 0x100, 0x200
_MOVED_FROM, _DELETE_SELF, _MOVE_SELF, _ONLY_FOLDERS = 0x40, 0x400, 0x800, 0x1000000
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_WANTED = _CLOSE_WRITE | _MOVED_TO | _MOVED_FROM | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLY_FOLDERS

FileStamp = tuple[int, int, int]
"""When it was written, its size and its inode."""
FolderStamps = tuple[FileStamp | None, ...]


class FolderWatch:
    """Made inside a running loop. `names`: folder -> the files in it that matter."""

    def __init__(self, names: Mapping[Path, Collection[str]], changed: Callable[[], None]) -> None:
        self.names = names
        self.changed = changed
        self._folders: dict[int, Path] = {}
        self._kernel = ctypes.CDLL(None, use_errno=True)
        self._handle: int = self._kernel.inotify_init1(_NONBLOCK | _CLOEXEC)
        if self._handle >= 0:
            asyncio.get_running_loop().add_reader(self._handle, self._read)
        self.renew()

    @property
    def unwatched(self) -> tuple[Path, ...]:
        """Folders of which the kernel does not tell."""
        watched = set(self._folders.values())
        return tuple(folder for folder in self.names if folder not in watched)

    def renew(self) -> None:
        """Tries those again that could not be watched."""
        for folder in self.unwatched if self._handle >= 0 else ():
            number: int = self._kernel.inotify_add_watch(self._handle, os.fsencode(folder), _WANTED)
            if number >= 0:
                self._folders[number] = folder

    def stamps(self, *folders: str) -> FolderStamps:
        """Of the folders that are called so. They differ where a file in one of them has changed."""
        own = [(folder, names) for folder, names in self.names.items() if folder.name in folders]
        return tuple(_stamp(folder / name) for folder, names in own for name in sorted(names))

    def close(self) -> None:
        if self._handle >= 0:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1

    def _read(self) -> None:
        matters = False
        with suppress(BlockingIOError):
            data = os.read(self._handle, _READ)
            place = 0
            while place < len(data):
                number, mask, _, size = _EVENT.unpack_from(data, place)
                name = data[place + _EVENT.size : place + _EVENT.size + size].rstrip(b"\0")
                place += _EVENT.size + size
                matters |= self._matters(number, mask, os.fsdecode(name))
        if matters:
            self.changed()

    def _matters(self, number: int, mask: int, name: str) -> bool:
        if mask & _OVERFLOW:
            return True
        folder = self._folders.get(number)
        if mask & (_IGNORED | _MOVE_SELF | _DELETE_SELF):
            # The folder is gone, or another one is in its place: it is watched anew by `renew`.
            self._folders.pop(number, None)
            return True
        return folder is not None and name in self.names[folder]


def socket_stamps(folder: Path) -> FolderStamps:
    """Of all sockets in it, by their names. They differ where one who listens has come, gone or begun anew."""
    with suppress(OSError):
        return tuple(_stamp(path) for path in sorted(folder.iterdir()) if path.is_socket())
    return ()


def _stamp(path: Path) -> FileStamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
