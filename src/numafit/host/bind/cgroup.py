"""The cgroups of leases: finding where they can be made, and making one in the v2 hierarchy.

A lease's cgroup is `numafit/<lease>` below the root of the v2 hierarchy that is mounted here. It cannot lie below the
process's own cgroup: v2 lets a group hold either processes or groups with controllers.
"""

import errno
import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from numafit.bits import cpuset_text
from numafit.host.bind.kernel import SELF
from numafit.host.bind.target import RungRefused, Target
from numafit.host.process.cpuset import cgroup_mounts
from numafit.machine.read.sysfs.text import cpu_list

FOLDER = "numafit"
PROCESSES = "cgroup.procs"
CPUS, MEMS = "cpuset.cpus", "cpuset.mems"
LIMIT = "memory.max"

_CONTROLLERS = "cgroup.controllers"
_SUBTREE = "cgroup.subtree_control"
_LIMITS = (LIMIT, "memory.high", "cpu.max")
"""Not `pids.max`, which systemd sets on every session."""
_LARGEST_PAGE = 1 << 16
"""Bytes; on ARM a page may have as many."""
MAKE_TRIES = 5
_REMOVE_TRIES = 6
_REMOVE_PAUSE = 0.02
"""Seconds; a tenth of a second in all is enough for processes that are just ending."""


class LeaseGroup(msgspec.Struct, frozen=True):
    """A cgroup that was made for a lease and is still there."""

    lease_id: str
    cgroup: str
    cpus: int
    mems: int
    pids: tuple[int, ...]


def v2_root(process: Path = SELF) -> Path:
    """The v2 hierarchy, if it is the one that knows cpusets."""
    mounts = [mount.folder for mount in cgroup_mounts(process, "cgroup2")]
    if not mounts:
        raise RungRefused("no cgroup v2 hierarchy is mounted")
    if "cpuset" not in read(mounts[0] / _CONTROLLERS).split():
        raise RungRefused(f"{mounts[0]} has no cpuset controller")
    return mounts[0]


def v2_group(root: Path, process: Path = SELF) -> Path | None:
    """The folder of the process's own group, if it can be reached."""
    for line in (process / "cgroup").read_text("utf-8", "replace").splitlines():
        if line.startswith("0::") and ".." not in line:
            folder = root / line.removeprefix("0::").strip("/")
            return folder if folder.is_dir() else None
    return None


def hands_on_cpusets(folder: Path) -> bool:
    """Whether groups in it have cpusets."""
    try:
        return "cpuset" in read(folder / _SUBTREE).split()
    except OSError:
        return False


def check_limits(root: Path, group: Path | None) -> None:
    """A v2 group is in one place only: a process that goes into another leaves the limits of its own behind."""
    while group is not None and group != root and root in group.parents:
        for name in _LIMITS:
            with suppress(OSError):
                value = read(group / name)
                if value.split()[:1] != ["max"]:
                    raise RungRefused(f"{group / name} limits this process to {value}, which it would leave behind")
        group = group.parent


def enter_v2(root: Path, lease_id: str, target: Target, pid: int) -> Path:
    """Makes the cgroup and moves the process; what cannot be completed is taken back. Returns the folder."""
    group = root / FOLDER / lease_id
    undo = _Undo()
    try:
        # Only the real root, which has no type, may hold processes beside groups with controllers.
        if (root / "cgroup.type").exists() and read(root / PROCESSES):
            raise RungRefused(f"processes run in {root} itself, which is not the root of the machine's cgroups")
        _make_both(group, undo, ["cpuset", "memory"] if target.limit else ["cpuset"])
        rewrite_v2(group, target)
        _check(group, f"{CPUS}.effective", target.cpus)
        if target.cpuset_mems:
            _check(group, f"{MEMS}.effective", target.cpuset_mems)
        if target.limit:
            write(group / LIMIT, str(target.limit))
            if not is_limited(group, target.limit):
                raise RungRefused(f"{group / LIMIT} is {read(group / LIMIT)}, not {target.limit}")
        write(group / PROCESSES, str(pid))
    except (OSError, RungRefused) as error:
        undo.back()
        raise refusal(error) from error
    return group


def _make_both(group: Path, undo: "_Undo", controllers: list[str]) -> None:
    for attempt in range(MAKE_TRIES):
        try:
            # Here and not before: systemd may take the controller back from a root whose groups do not use it yet.
            undo.enable(group.parent.parent, controllers)
            undo.make(group.parent)
            undo.enable(group.parent, controllers)
            undo.make(group)
            return
        except FileNotFoundError:
            # Another start just took back the group above; that happens to the first leases of a machine only.
            if attempt == MAKE_TRIES - 1:
                raise


class _Undo:
    """What was changed in the tree, to be taken back in reverse order."""

    def __init__(self) -> None:
        self.made: list[Path] = []
        self.enabled: list[tuple[Path, str]] = []

    def make(self, folder: Path) -> None:
        with suppress(FileExistsError):
            folder.mkdir()
            self.made.append(folder)

    def enable(self, folder: Path, controllers: list[str]) -> None:
        for name in controllers:
            if name not in read(folder / _SUBTREE).split():
                write(folder / _SUBTREE, f"+{name}")
                self.enabled.append((folder, name))

    def back(self) -> None:
        """A group that another lease uses by now cannot be removed, and then keeps its controller, too."""
        with suppress(OSError):
            for folder in reversed(self.made):
                # Not those within it: they belong to others, who may be about to enter them.
                os.rmdir(folder)
            for folder, name in reversed(self.enabled):
                if folder.name != FOLDER and not (folder / FOLDER).exists():
                    write(folder / _SUBTREE, f"-{name}")


def _check(group: Path, name: str, wanted: int) -> None:
    found = cpu_list(read(group / name))
    if found != wanted:
        raise RungRefused(f"{group / name} is {cpuset_text(found or 0) or 'empty'}, not {cpuset_text(wanted)}")


def is_limited(group: Path, wanted: int) -> bool:
    """The kernel counts whole pages, and rounds down."""
    found = read(group / LIMIT)
    return found.isdecimal() and 0 <= wanted - int(found) < _LARGEST_PAGE


def refusal(error: OSError | RungRefused) -> RungRefused:
    """With the place, and for the usual case the reason behind it."""
    if isinstance(error, RungRefused):
        return error
    place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    cure = " (only root may make cgroups here)" if error.errno in (errno.EACCES, errno.EPERM) else ""
    return RungRefused(f"{place}{error.strerror}{cure}")


def read(path: Path) -> str:
    return path.read_text("utf-8", "replace").strip()


def write(path: Path, text: str) -> None:
    """In one call, as the kernel wants it; an error names the file and what was to be written."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} for {text}", str(path)) from None


def group_members(group: Path) -> list[int]:
    """The processes in a cgroup and in those below it, ascending; none when it is gone."""
    pids: set[int] = set()
    for folder, _, _ in os.walk(group):
        with suppress(OSError):
            pids.update(int(word) for word in read(Path(folder) / PROCESSES).split())
    return sorted(pids)


def remove_folder(group: Path) -> bool:
    """Removes a cgroup, and those that its processes made in it, once nothing runs in them. Ends no process. True when
    it is gone."""
    for attempt in range(_REMOVE_TRIES):
        if attempt:
            time.sleep(_REMOVE_PAUSE)
        for folder, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):
                os.rmdir(folder)
        if not group.exists():
            return True
    return False


def rewrite_v2(group: Path, target: Target) -> None:
    write(group / CPUS, cpuset_text(target.cpus))
    if target.cpuset_mems:
        write(group / MEMS, cpuset_text(target.cpuset_mems))


def group_masks(group: Path) -> Target:
    """What a lease's cgroup gives its processes, in either version."""
    masks = []
    for names in ((f"{CPUS}.effective", "cpuset.effective_cpus"), (f"{MEMS}.effective", "cpuset.effective_mems")):
        path = next((group / name for name in names if (group / name).exists()), None)
        masks.append((cpu_list(read(path)) or 0) if path else 0)
    cpus, mems = masks
    return Target(cpus, mems)


def lease_group(lease_id: str, group: Path) -> LeaseGroup:
    masks = group_masks(group)
    return LeaseGroup(lease_id, str(group), masks.cpus, masks.mems, tuple(group_members(group)))
