"""Which process is meant, and whether it still lives: a process id alone names another process after a while.

A process is told from a later one with the same number by its start time, from those of an earlier boot by the boot
id, and from those of a container by the pid namespace. What cannot be told from here is answered by None and never
guessed: leases are freed on the word of this module.
"""

import os
import pwd
from pathlib import Path

import msgspec

from numafit.errors import InputError

PROC = Path("/proc")
KERNEL_THREAD = 0x00200000
"""The kernel's PF_KTHREAD in the flags of a process."""
_LARGEST_PID = 1 << 22
"""No kernel can be told to number processes higher."""
_DEAD = frozenset("ZXx")
INITIAL_NAMESPACE = 0xEFFFFFFC
"""The inode of the pid namespace that the kernel begins with: from there every process of the machine is seen."""
_CAP_SYS_PTRACE = 19


class ProcessId(msgspec.Struct, frozen=True):
    pid: int
    start: int
    """Clock ticks from boot to its start."""
    boot: str
    """The kernel's boot id; empty where a container manager put a file of its own in its place."""
    namespace: int
    """The inode of the pid namespace in which `pid` counts."""


class Stat(msgspec.Struct, frozen=True):
    """What /proc/PID/stat says of a process, or /proc/PID/task/TID/stat of a thread."""

    name: str
    state: str
    parent: int
    flags: int
    threads: int
    """Of the whole process; the first one counts also as a zombie."""
    start: int
    processor: int
    """The CPU that it ran on last."""
    ticks: int = 0
    """Clock ticks of CPU time that it has used."""


def identify(pid: int, root: Path = PROC) -> ProcessId | None:
    """None: there is no such process. Raises `InputError` where /proc does not show the caller's own processes."""
    if not _shows_own_namespace(root):
        raise InputError(
            "it shows the processes of another pid namespace",
            source=str(root),
            cure="mount /proc inside the namespace, as `unshare --mount-proc` does",
        )
    try:
        stat = read_stat(root / str(pid) / "stat")
    except PermissionError:
        raise _hidden(pid, root) from None
    if stat is None:
        if _without_stat(pid) is None:
            raise _hidden(pid, root)
        return None
    return ProcessId(pid, stat.start - _boot_offset(root), boot_id(root), _namespace(root))


def is_alive(process: ProcessId, root: Path = PROC) -> bool | None:
    """False only when it is certain that the process is gone; a zombie is. None: it cannot be told from here."""
    return Liveness(root).is_alive(process)


class Liveness:
    """What can be told from here of many processes, asked soon one after the other: what is the same for all of them is
    read once."""

    def __init__(self, root: Path = PROC) -> None:
        self._root = root
        self._boot = boot_id(root)
        self._offset = _boot_offset(root)
        try:
            self._namespace = _namespace(root) if _shows_own_namespace(root) else None
        except InputError:
            self._namespace = None
        self._inner: frozenset[tuple[int, int]] | None = None
        self._looked = False

    def is_alive(self, process: ProcessId) -> bool | None:
        if self._boot and process.boot and self._boot != process.boot:
            return False
        if self._namespace != process.namespace:
            return self._lives_within(process)
        try:
            stat = read_stat(self._root / str(process.pid) / "stat")
        except (InputError, PermissionError):
            return None
        if stat is None:
            return _without_stat(process.pid)
        if stat.start - self._offset != process.start:
            return False
        # The first thread may have ended while others work on: it stays as a zombie until the last one ends.
        return stat.state not in _DEAD or stat.threads > 1

    def _lives_within(self, process: ProcessId) -> bool | None:
        """A process of a container or of another pid namespace, asked for where all of them can be seen."""
        if not self._looked:
            self._looked = True
            if self._namespace == INITIAL_NAMESPACE and _sees_all(self._root):
                self._inner = _inner_processes(self._root, self._offset)
        return None if self._inner is None else (process.pid, process.start) in self._inner


def _sees_all(root: Path) -> bool:
    """Whether no process is hidden from this user."""
    try:
        mounts = (root / "self/mountinfo").read_text("utf-8", "replace").splitlines()
        rights = int(status_fields(root / "self").get("CapEff", "0"), 16)
    except (OSError, ValueError):
        return False
    options = [line.split(" ")[-1] for line in mounts if line.split(" ")[4:5] == [str(root)]]
    words = options[-1].split(",") if options else ["hidepid=unknown"]
    hides = any(word.startswith("hidepid=") and word not in ("hidepid=0", "hidepid=off") for word in words)
    return not hides or bool(rights >> _CAP_SYS_PTRACE & 1)


def _inner_processes(root: Path, offset: int) -> frozenset[tuple[int, int]] | None:
    """(number, start) of every process in a pid namespace below, with its number in each of them. None: this kernel
    does not tell the numbers."""
    found: set[tuple[int, int]] = set()
    for pid in processes(root):
        try:
            numbers = status_fields(root / str(pid)).get("NSpid")
            stat = read_stat(root / str(pid) / "stat") if numbers is None or "\t" in numbers else None
        except PermissionError:
            return None
        except OSError:
            continue
        if numbers is None:
            return None
        if stat is not None and (stat.state not in _DEAD or stat.threads > 1):
            found.update((int(number), stat.start - offset) for number in numbers.split()[1:])
    return frozenset(found)


def processes(root: Path = PROC) -> list[int]:
    """Those that may be seen, ascending."""
    return _numbers(root)


def processes_with_environment(name: str, value: str, root: Path = PROC) -> list[int]:
    """Those that were started with the variable, ascending, as far as their environment may be read."""
    return [pid for pid in processes(root) if has_environment(pid, name, value, root)]


def has_environment(pid: int, name: str, value: str, root: Path = PROC) -> bool:
    """Whether it was started with the variable; no where that may not be read."""
    wanted = os.fsencode(f"{name}={value}")
    try:
        environment = (root / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return wanted in environment and wanted in environment.split(b"\0")


def parents(root: Path = PROC) -> dict[int, int]:
    """Process -> its parent, for all that may be looked at."""
    found = {}
    for pid in processes(root):
        try:
            stat = read_stat(root / str(pid) / "stat")
        except PermissionError:
            continue
        if stat is not None:
            found[pid] = stat.parent
    return found


def descendants(pid: int, root: Path = PROC) -> list[int]:
    """Children and theirs, ascending. One whose parent ended hangs on another process and is not among them."""
    children: dict[int, list[int]] = {}
    for child, parent in parents(root).items():
        children.setdefault(parent, []).append(child)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        new = [child for child in children.get(waiting.pop(), []) if child not in found]
        found.update(new)
        waiting += new
    return sorted(found - {pid})


def threads(pid: int, root: Path = PROC) -> list[int]:
    """Ascending; none when the process is gone or may not be looked at."""
    return _numbers(root / str(pid) / "task")


def status_fields(process: Path) -> dict[str, str]:
    """The lines of /proc/PID/status, or of a thread's, by name. Raises `OSError`."""
    lines = (process / "status").read_bytes().decode("utf-8", "replace").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {key: value.strip() for key, _, value in pairs}


def user_of(pid: int, root: Path = PROC) -> int | None:
    """The real user id. The owner of /proc/PID would not do: it is root for a process that may not be dumped."""
    try:
        first = status_fields(root / str(pid)).get("Uid", "").split()[:1]
    except OSError:
        return None
    return int(first[0]) if first and first[0].isdecimal() else None


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def read_stat(path: Path) -> Stat | None:
    """None when the process is gone. Raises `PermissionError` when it may not be looked at."""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except PermissionError:
        raise
    except OSError:
        # Missing, or ESRCH: it ended between open and read.
        return None
    # The name may hold blanks and parentheses itself; nothing after it does.
    before, _, after = text.rpartition(")")
    fields = after.split()
    try:
        return Stat(
            name=before.partition("(")[2],
            state=fields[0],
            parent=int(fields[1]),
            flags=int(fields[6]),
            threads=int(fields[17]),
            start=int(fields[19]),
            processor=int(fields[36]),
            ticks=int(fields[11]) + int(fields[12]),
        )
    except (IndexError, ValueError):
        raise InputError("it is not as the kernel writes it", source=str(path)) from None


def _numbers(folder: Path) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(folder) if name.isdecimal())
    except OSError:
        return []


def _without_stat(pid: int) -> bool | None:
    """A process that /proc does not show may be hidden (hidepid) from this user; signal 0 reaches it all the same."""
    if not 0 < pid <= _LARGEST_PID:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return None
    return None


def _hidden(pid: int, root: Path) -> InputError:
    cure = "/proc is mounted with hidepid; ask as root"
    return InputError(f"process {pid} may not be looked at", source=str(root), cure=cure)


def boot_id(root: Path = PROC) -> str:
    """Empty when a file from elsewhere lies over it: some container managers give each container a boot id."""
    path = root / "sys/kernel/random/boot_id"
    try:
        return path.read_text().strip() if path.stat().st_dev == root.stat().st_dev else ""
    except OSError:
        return ""


def _namespace(root: Path) -> int:
    try:
        return (root / "self/ns/pid").stat().st_ino
    except OSError as error:
        raise InputError(f"the pid namespace cannot be read: {error.strerror}", source=str(root)) from None


def _shows_own_namespace(root: Path) -> bool:
    """A process that entered a new pid namespace may still see the old one's /proc, where numbers mean others."""
    try:
        numbers = status_fields(root / "self").get("NSpid")
    except OSError:
        return False
    if numbers is not None:
        # One per namespace, from that of this /proc down to the process's own.
        return len(numbers.split()) == 1
    # Kernels before 4.1 do not say; then the number of this very process decides.
    return os.readlink(root / "self") == str(os.getpid())


def _boot_offset(root: Path) -> int:
    """Clock ticks that a time namespace adds to all start times that are read inside it."""
    try:
        same = (root / "self/ns/time").stat().st_ino == (root / "self/ns/time_for_children").stat().st_ino
        text = (root / "self/timens_offsets").read_text()
    except OSError:
        return 0
    for line in text.splitlines():
        clock, *amounts = line.split()
        if same and clock in ("boottime", "7") and len(amounts) == 2:
            seconds, nanoseconds = (int(amount) for amount in amounts)
            ticks = os.sysconf("SC_CLK_TCK")
            return seconds * ticks + nanoseconds * ticks // 1_000_000_000
    return 0
