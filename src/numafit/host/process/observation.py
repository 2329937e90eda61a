"""What the kernel and the GPU driver say of a running process: where it may run, where it ran, where its pages lie.

A process may end while it is looked at, and much of it only its owner or root may see. Then the observation holds what
was seen, and `unseen` says what was not, and why.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from numafit.errors import InputError
from numafit.host.gpu.users import GpuUse
from numafit.host.process.cpuset import Cpuset, effective_cpuset
from numafit.host.process.identity import KERNEL_THREAD, PROC, read_stat, status_fields, threads
from numafit.host.process.numa_maps import Pages, parse_numa_maps
from numafit.machine.read.sysfs.text import cpu_list, number

T = TypeVar("T")

LONGEST_COMMAND = 4096
"""Characters of a command line that are kept."""
_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
"""Nanoseconds of a clock tick."""


class Thread(msgspec.Struct, frozen=True):
    id: int
    cpus: int
    """Where it may run."""
    last_cpu: int
    """Where it ran last. For a thread that sleeps this may be older than `cpus`."""
    start: int = 0
    """Clock ticks from boot to its start: with `id` it is no other thread."""
    running: bool = False
    """It runs, or waits for a CPU to run on."""
    ran: int = 0
    """Nanoseconds of CPU time so far."""
    waited: int | None = None
    """Nanoseconds in which it wanted to run and had no CPU; None: this kernel does not tell."""
    voluntary: int = 0
    involuntary: int = 0
    """Context switches so far: it had to wait for something, or somebody else was given the CPU."""


class Observation(msgspec.Struct, frozen=True):
    pid: int
    name: str
    kernel: bool = False
    """It is a thread of the kernel, not a program."""
    user: int | None = None
    command: str = ""
    cpus: int | None = None
    """Where the first thread may run."""
    mems: int | None = None
    """The NUMA nodes that its memory may come from; a memory policy may narrow that further."""
    resident: int = 0
    """Bytes of it that are in memory."""
    threads: tuple[Thread, ...] = ()
    cpuset: Cpuset | None = None
    pages: Pages | None = None
    gpus: tuple[GpuUse, ...] | None = None
    """None: not known."""
    unseen: tuple[str, ...] = ()

    @property
    def all_cpus(self) -> int:
        """Where any of its threads may run."""
        mask = self.cpus or 0
        for thread in self.threads:
            mask |= thread.cpus
        return mask


def glance(pid: int, root: Path = PROC, *, every_thread: bool = False) -> Observation | None:
    """Only what is cheap: name, masks and size; one thread stands for all. None: there is no such process."""
    folder = root / str(pid)
    try:
        stat = read_stat(folder / "stat")
        status = status_fields(folder)
    except PermissionError:
        return Observation(pid, "", unseen=("nothing of it: permission denied",))
    except OSError:
        return None
    if stat is None:
        return None
    cpus, mems = cpu_list(status.get("Cpus_allowed_list")), cpu_list(status.get("Mems_allowed_list"))
    first = () if cpus is None else (Thread(pid, cpus, stat.processor),)
    return Observation(
        pid=pid,
        name=stat.name,
        kernel=bool(stat.flags & KERNEL_THREAD),
        user=number(status.get("Uid", "").partition("\t")[0]),
        cpus=cpus,
        mems=mems,
        resident=1024 * (number(status.get("VmRSS", "").removesuffix("kB")) or 0),
        threads=_threads(pid, root) or first if every_thread else first,
    )


def observe(
    pid: int, users: Mapping[int, tuple[GpuUse, ...]] | None = None, root: Path = PROC, *, pages: bool = True
) -> Observation | None:
    """`users` is who uses which GPU, None when that is not known. None: there is no such process."""
    seen = glance(pid, root, every_thread=True)
    if seen is None or not seen.name:
        return seen
    folder = root / str(pid)
    unseen: list[str] = []

    def ask(what: str, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except OSError as error:
            unseen.append(f"{what}: {_reason(error, folder)}")
        except InputError as error:
            unseen.append(f"{what}: {error.message}")
        return None

    command = ask("its command line", lambda: _command(folder / "cmdline"))
    cpuset = ask("its cpuset", lambda: effective_cpuset(pid, root))
    memory = None
    if pages and not seen.kernel:
        memory = ask("the nodes of its pages", lambda: parse_numa_maps((folder / "numa_maps").read_bytes()))
    return msgspec.structs.replace(
        seen,
        command=command or "",
        cpuset=cpuset,
        pages=memory,
        gpus=None if users is None else users.get(pid, ()),
        unseen=(*seen.unseen, *unseen),
    )


def _reason(error: OSError, folder: Path) -> str:
    if isinstance(error, PermissionError):
        return "permission denied; ask as its user or as root"
    if not folder.exists() or isinstance(error, ProcessLookupError):
        return "it ended meanwhile"
    if isinstance(error, FileNotFoundError):
        return "this kernel does not tell"
    return os.strerror(error.errno) if error.errno else str(error)


def _command(path: Path) -> str:
    text = path.read_bytes().decode("utf-8", "replace")[:LONGEST_COMMAND]
    return " ".join(text.rstrip("\0").split("\0"))


def _threads(pid: int, root: Path) -> tuple[Thread, ...]:
    """Those that ended while they were asked, or may not be looked at, are left out."""
    found = []
    for thread in threads(pid, root):
        folder = root / str(pid) / "task" / str(thread)
        try:
            stat = read_stat(folder / "stat")
            status = status_fields(folder)
        except OSError:
            continue
        cpus = cpu_list(status.get("Cpus_allowed_list"))
        if stat is None or cpus is None:
            continue
        ran, waited = _scheduled(folder)
        found.append(
            Thread(
                thread,
                cpus,
                stat.processor,
                start=stat.start,
                running=stat.state == "R",
                ran=stat.ticks * _TICK if ran is None else ran,
                waited=waited,
                voluntary=number(status.get("voluntary_ctxt_switches")) or 0,
                involuntary=number(status.get("nonvoluntary_ctxt_switches")) or 0,
            )
        )
    return tuple(found)


def _scheduled(thread: Path) -> tuple[int | None, int | None]:
    """Nanoseconds that it ran and that it waited for a CPU; None where this kernel does not count them."""
    try:
        ran, waited, _ = (int(field) for field in (thread / "schedstat").read_bytes().split())
    except (OSError, ValueError):
        return None, None
    return ran, waited
