"""The command lines of jobs in a ledger that many users share: each in a file that its user and root may read.

A command line may hold a password, and a history keeps it for long. So where the folder `commands` lies beside the
ledger (`numafit host setup` makes it) the ledger itself, which the whole group reads, names the program only, and the
words behind it are kept here, in a file for each user.
"""

import os
import shlex
from contextlib import suppress
from pathlib import Path

import msgspec

from numafit.host.book.opening import NO_TRAPS, open_plain, read_plain

COMMANDS = "commands"
_MOST_BYTES = 2 << 20
"""A longer file loses its older half."""


class Commands:
    def __init__(self, folder: Path) -> None:
        """`folder` is that of the ledger."""
        self._folder = folder / COMMANDS
        self.private = os.path.isdir(self._folder)

    def shown(self, command: str) -> str:
        """What the others may read of it."""
        return program_of(command) if self.private else command

    def keep(self, uid: int, lease_id: str, command: str) -> None:
        """Where it cannot be kept (a full disk, a file that somebody else made) the ledger still has the program."""
        if not self.private or uid != os.geteuid() or command == program_of(command):
            return
        path = self._folder / str(uid)
        line = msgspec.json.encode((lease_id, command)) + b"\n"
        with suppress(OSError):
            handle = open_plain(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                file = os.fstat(handle)
                if file.st_uid != uid:
                    return
                os.write(handle, line)
            finally:
                os.close(handle)
            if file.st_size > _MOST_BYTES:
                self._halve(path)

    def opened(self, uid: int, command: str) -> tuple[int, bytes]:
        """For one who will not come here any more: a descriptor onto which `["LEASE",` and the bytes and `]` are to be
        written. -1: there is nothing to be kept."""
        if not self.private or uid != os.geteuid() or command == program_of(command):
            return -1, b""
        with suppress(OSError):
            handle = open_plain(self._folder / str(uid), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            if os.fstat(handle).st_uid == uid:
                return handle, msgspec.json.encode(command)
            os.close(handle)
        return -1, b""

    def known(self) -> dict[tuple[int, str], str]:
        """User and lease -> its command, of all that the caller may read. What one says of another's lease counts for
        nothing."""
        found: dict[tuple[int, str], str] = {}
        if not self.private:
            return found
        names = os.listdir(self._folder) if os.geteuid() == 0 else [str(os.getuid())]
        for name in sorted(name for name in names if name.isdecimal()):
            for line in self._lines(name):
                with suppress(msgspec.DecodeError):
                    lease_id, command = msgspec.json.decode(line, type=tuple[str, str])
                    found[int(name), lease_id] = command
        return found

    def _lines(self, name: str) -> list[bytes]:
        """Its user may have written anything into it, and as much as he likes."""
        try:
            return read_plain(self._folder / name, 2 * _MOST_BYTES, uid=int(name)).splitlines()
        except OSError:
            return []

    def _halve(self, path: Path) -> None:
        lines = read_plain(path, _MOST_BYTES, uid=os.geteuid()).splitlines(keepends=True)
        place = path.with_name(f"{path.name}.{os.getpid()}")
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_TRAPS, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.writelines(lines[len(lines) // 2 :])
        os.rename(place, path)


def program_of(command: str) -> str:
    """`/opt/bin/train --token=x` is `train`."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return os.path.basename(words[0]) if words else ""
