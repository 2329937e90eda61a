"""What a host of many users needs, step by step, and the way back. Each step knows whether it is done already."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from numafit.bits import cpuset_text
from numafit.errors import InputError
from numafit.host.book.bell import BELL, WATCH, open_pipe, try_watch
from numafit.host.book.book import Book
from numafit.host.book.commands import COMMANDS
from numafit.host.book.folder import GROUP, SHARED_FOLDER
from numafit.host.book.store import FILE, JOURNAL, LOCK, LOG
from numafit.host.host_file import read_host_file
from numafit.host.setup.system import SetupError, System
from numafit.host.setup.texts import (
    MARK,
    SERVICE,
    SYSTEM_SLICE,
    TIMER,
    TMPFILES,
    UNITS,
    USER_SLICE,
    SetupFile,
    drop_in,
    host_yaml,
    tmpfiles,
    units,
)
from numafit.host.this_machine import live_machine
from numafit.machine.read.sysfs.text import cpu_list

HOST_FILE = "host.yaml"
RECORD = "setup.json"
SHARED_FILE = 0o660
_LEDGER = {FILE: SHARED_FILE, LOCK: SHARED_FILE, JOURNAL: SHARED_FILE, LOG: 0o600}
_CGROUPS = Path("sys/fs/cgroup")
_SETTLE = 5.0
"""Seconds for systemd to hand a changed cpuset to the kernel."""


class SetupWish(msgspec.Struct, frozen=True):
    users: tuple[str, ...] = ()
    """To become members of the group."""
    housekeeping: int = 0
    """The CPUs that all but jobs keep to; 0: they are left alone."""
    sessions: bool = False
    """Those of people who log in, too."""


class SetupStep(msgspec.Struct, frozen=True):
    what: str
    done: bool
    verb: str
    """What is said of it when it was done just now: made, written, removed."""
    act: Callable[[], object]


class SetupRecord(msgspec.Struct, frozen=True):
    """What was not there before, to be taken away by `--undo`."""

    group: bool = False
    housekeeping: str = ""


class Setup:
    def __init__(self, system: System, folder: Path) -> None:
        self.system, self.folder = system, folder

    # Making

    def steps(self, wish: SetupWish) -> Iterator[SetupStep]:
        """Each is to be done before the next is asked for; without that it is a plan."""
        self._check(wish)
        record = self._record()
        there = self.system.group(GROUP) is not None
        yield SetupStep(f"group {GROUP}", there, "made", lambda: self.system.make_group(GROUP))
        for user in wish.users:
            member = self.system.is_member(user, GROUP)
            yield SetupStep(f"user {user} in it", member, "added", partial(self.system.add_member, user, GROUP))
        for place in (self.folder, self.folder / COMMANDS):
            yield self._folder(place)
        made = SetupRecord(record.group or not there, cpuset_text(wish.housekeeping) or record.housekeeping)
        # Not the group's: it says what `--undo` may take away.
        path = self.folder / RECORD
        known = bool(self.system.read(path)) and record == made
        yield SetupStep(f"record {path}", known, "written", lambda: self.system.write(path, _text(made), 0o600))
        yield self._host_file(wish, {record.housekeeping, made.housekeeping}, made.housekeeping)
        yield from self._ledger()
        if self.system.has_systemd:
            yield from self._systemd_steps(wish)

    def _ledger(self) -> Iterator[SetupStep]:
        for name in (JOURNAL, LOG):
            # A link that somebody put there before root made the file.
            if (self.folder / name).is_symlink():
                yield self._removed(self.folder / name)
            elif (self.folder / name).exists():
                yield self._rights(self.folder / name, _LEDGER[name])
        there = all((self.folder / name).exists() for name in (*_LEDGER, BELL, WATCH))
        yield SetupStep(f"ledger {self.folder / FILE}", there, "made", self._begin)
        for name in (FILE, LOCK):
            if (self.folder / name).exists():
                yield self._rights(self.folder / name, _LEDGER[name])

    def _check(self, wish: SetupWish) -> None:
        """All that can be said beforehand."""
        if wish.sessions and not wish.housekeeping:
            raise InputError("goes with --housekeeping", source="--sessions")
        if wish.housekeeping and not self.system.has_systemd:
            cure = "the kernel's isolcpus= does it for all"
            raise InputError("systemd, which would keep to it, does not run here", source="--housekeeping", cure=cure)
        for user in wish.users:
            self.system.is_member(user, GROUP)

    def _folder(self, place: Path) -> SetupStep:
        def act() -> None:
            self.system.make_folder(place)
            self.system.set_rights(place, SHARED_FOLDER, self._gid())

        done = self.system.has_rights(place, SHARED_FOLDER, self.system.group(GROUP))
        verb = "set" if place.is_dir() else "made"
        return SetupStep(f"folder {place} for root and the group alone", done, verb, act)

    def _rights(self, path: Path, mode: int) -> SetupStep:
        def act() -> None:
            self.system.set_rights(path, mode, self._gid())

        done = self.system.has_rights(path, mode, self.system.group(GROUP))
        return SetupStep(f"rights of {path}", done, "set", act)

    def _host_file(self, wish: SetupWish, known: set[str], housekeeping: str) -> SetupStep:
        """One that the administrator wrote or changed is read, and stays. `known`: CPUs that ours may name."""
        path = self.folder / HOST_FILE
        text = self.system.read(path)
        fresh = host_yaml(housekeeping)
        ours = not text or any(text == host_yaml(cpus) for cpus in {*known, ""})
        if wish.housekeeping and not ours and _reserved(path) & wish.housekeeping != wish.housekeeping:
            raise InputError(
                f"it does not keep CPUs {cpuset_text(wish.housekeeping)} back, which jobs would share with the rest",
                source=str(path),
                cure=f"write reservedCPUs: {cpuset_text(wish.housekeeping)} into it",
            )

        def act() -> None:
            if ours and text != fresh:
                self.system.write(path, fresh)
            self.system.set_rights(path, 0o644, self._gid())

        done = self.system.has_rights(path, 0o644, self.system.group(GROUP)) and not (ours and text != fresh)
        return SetupStep(f"settings {path}", done, "written" if ours else "given to root", act)

    def _begin(self) -> None:
        """With all that those who wait need: what is root's, nobody else puts a trap in the place of."""
        with Book.open(self.folder) as book:
            book.leases()
        os.close(open_pipe(self.folder / BELL))
        watch = try_watch(self.folder)
        if watch is not None:
            os.close(watch)

    def _gid(self) -> int:
        number = self.system.group(GROUP)
        if number is None:
            raise SetupError(f"the group {GROUP} was not made")
        return number

    # systemd

    def _systemd_steps(self, wish: SetupWish) -> Iterator[SetupStep]:
        files = (tmpfiles(self.folder), *units(_command()))
        changed = [file for file in files if not self._is_written(file)]
        for file in files:
            yield self._file(file)
        if changed:
            yield self._reload()
        running = self.system.asked("is-active", TIMER) == "active"
        enable = partial(self.system.systemctl, "enable", "--now", TIMER)
        yield SetupStep(f"timer {TIMER}, each minute", running, "started", enable)
        if wish.housekeeping:
            for unit in (SYSTEM_SLICE, USER_SLICE)[: 2 if wish.sessions else 1]:
                yield self._confined(unit, wish.housekeeping)

    def _reload(self) -> SetupStep:
        return SetupStep(
            "systemd reads its units again", False, "done", partial(self.system.systemctl, "daemon-reload")
        )

    def _confined(self, unit: str, cpus: int) -> SetupStep:
        file = drop_in(unit, cpuset_text(cpus))

        def act() -> None:
            self._write(file)
            self._apply(unit, cpus)

        done = self._is_written(file) and self._cpus_of(unit) in (cpus, None)
        return SetupStep(f"{unit} on CPUs {cpuset_text(cpus)}", done, "confined", act)

    def _apply(self, unit: str, cpus: int) -> None:
        """systemd is believed when the kernel says the same."""
        self.system.systemctl("daemon-reload")
        until = time.monotonic() + _SETTLE
        while (found := self._cpus_of(unit)) not in (cpus, None):
            if time.monotonic() > until:
                now = cpuset_text(found or 0)
                raise SetupError(f"{unit} is on CPUs {now}, though systemd was told {cpuset_text(cpus)}")
            time.sleep(0.05)

    def _cpus_of(self, unit: str) -> int | None:
        """What the kernel gives it, 0 where it does not tell; None: nothing runs in there, and systemd makes the slice
        with what it was told when something does."""
        group = self.system.root / _CGROUPS / unit
        if not group.is_dir():
            return None
        return cpu_list(self.system.read(group / "cpuset.cpus.effective").strip()) or 0

    def _file(self, file: SetupFile) -> SetupStep:
        done = self._is_written(file)
        return SetupStep(f"file {self.system.root / file.path}", done, "written", lambda: self._write(file))

    def _is_written(self, file: SetupFile) -> bool:
        return self.system.read(self.system.root / file.path) == file.text

    def _write(self, file: SetupFile) -> None:
        path = self.system.root / file.path
        found = self.system.read(path)
        if found and MARK not in found:
            raise SetupError(f"{path} was made by somebody else, and stays as it is (move it away)")
        self.system.write(path, file.text)

    # The way back

    def undo_steps(self) -> Iterator[SetupStep]:
        """Refused while jobs hold leases. What somebody else made or changed stays."""
        held = self._held()
        if held:
            cure = "`numafit cancel` ends them, and `numafit ps` lists them"
            raise InputError(f"jobs hold leases: {', '.join(held)}", source=str(self.folder), cure=cure)
        record = self._record()
        if self.system.has_systemd:
            yield from self._undo_systemd()
        elif self._ours(TMPFILES):
            yield self._removed(self.system.root / TMPFILES)
        text = self.system.read(self.folder / HOST_FILE)
        starter = text in (host_yaml(""), host_yaml(record.housekeeping))
        names = set(os.listdir(self.folder)) if self.folder.is_dir() else set()
        ours = {*_LEDGER, f"{FILE}-shm", BELL, WATCH, COMMANDS, RECORD, *((HOST_FILE,) if starter else ())}
        for name in sorted(names & ours):
            yield self._removed(self.folder / name)
        if names - ours:
            kept = ", ".join(sorted(names - ours))
            yield SetupStep(f"folder {self.folder}, in which {kept} stay", True, "kept", lambda: None)
        elif self.folder.is_dir():
            yield self._removed(self.folder)
        if record.group and self.system.group(GROUP) is not None:
            yield SetupStep(f"group {GROUP}", False, "removed", lambda: self.system.delete_group(GROUP))

    def _undo_systemd(self) -> Iterator[SetupStep]:
        if self._ours(UNITS / TIMER):
            stop = partial(self.system.systemctl, "disable", "--now", TIMER)
            yield SetupStep(f"timer {TIMER}", False, "stopped", stop)
        for unit in (SYSTEM_SLICE, USER_SLICE):
            if self._ours(drop_in(unit, "").path):
                yield SetupStep(f"{unit} on some CPUs only", False, "undone", partial(self._free, unit))
        left = [path for path in (TMPFILES, UNITS / SERVICE, UNITS / TIMER) if self._ours(path)]
        for path in left:
            yield self._removed(self.system.root / path)
        if left:
            yield self._reload()

    def _free(self, unit: str) -> None:
        """All CPUs are named first: while cgroups of ours are there, an empty value is not handed to the kernel."""
        every = cpu_list(self.system.read(self.system.root / _CGROUPS / "cpuset.cpus.effective").strip()) or 0
        file = drop_in(unit, cpuset_text(every))
        self.system.write(self.system.root / file.path, file.text)
        self._apply(unit, every)
        self.system.remove(self.system.root / file.path)
        self.system.systemctl("daemon-reload")

    def _ours(self, path: Path) -> bool:
        return MARK in self.system.read(self.system.root / path)

    def _removed(self, path: Path) -> SetupStep:
        return SetupStep(str(path), False, "removed", lambda: self.system.remove(path))

    def _held(self) -> list[str]:
        if not (self.folder / FILE).exists():
            return []
        with Book.open(self.folder) as book:
            return [lease.label for lease in book.leases()]

    def _record(self) -> SetupRecord:
        try:
            return msgspec.json.decode(self.system.read(self.folder / RECORD) or "{}", type=SetupRecord)
        except msgspec.DecodeError:
            return SetupRecord()


def _text(record: SetupRecord) -> str:
    return msgspec.json.encode(record).decode() + "\n"


def _reserved(path: Path) -> int:
    """What a file of the administrator keeps back."""
    return read_host_file(path.parent, live_machine()).reserved_cpus


def _command() -> str:
    """How a service starts numafit: as this process was started, if that has a whole path."""
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own) == "numafit" and os.access(own, os.X_OK):
        return own
    return shutil.which("numafit") or f"{sys.executable} -m numafit"
