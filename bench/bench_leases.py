"""Leases: wall time to take one and give it back with the disk synced, and CPU time that `numafit run` adds to a start.

The wall time is that of a pair, over the number of leases that others hold meanwhile; the ledger lies on the disk of
/var/tmp. Of many short batches the fastest counts, so that other jobs on the machine matter less. The start is compared
with `numactl` on the same command (with `taskset` where numactl is missing), in turn, each the fastest of some.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from shutil import which
from tempfile import TemporaryDirectory
from time import perf_counter

from bench import Row
from numafit.host.book.book import Book, caller
from numafit.host.grant import Owner
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.process.identity import identify
from numafit.host.request import JobRequest
from numafit.machine.catalogue.names import machine_named

DISK = Path("/var/tmp")
PAIR = 1 / 200
"""Seconds: 200 leases are taken and given back per second."""
START = {"": 0.060, "--cpus 1": 0.080}
"""Seconds by the options of `run`; CPUs of one's own are for the engine to choose, which is loaded for it."""
HELD = (0, 10, 50, 100, 200)
MANY = 50
"""More leases at once are measured, and promised nothing for."""
PAIRS = 5
BATCHES = 60
STARTS = 15


def rows() -> Iterator[Row]:
    for held in HELD:
        name = f"leases/take and release of 2 CPUs, {held} leases of 1 CPU held, wall time"
        yield Row(name, _pairs(held), PAIR if held <= MANY else None, measured=True)
    other = _other()
    for options, budget in START.items():
        words = " ".join(["numafit run", *options.split(), "-- true"])
        name = f"leases/{words}, CPU time more than {' '.join(other)}"
        yield Row(name, _starts(other, options.split()), budget, measured=True)


def _other() -> list[str]:
    """What people bind with otherwise, if it is there."""
    cpu = str(min(os.sched_getaffinity(0)))
    known = (["numactl", "-C", cpu, "true"], ["taskset", "-c", cpu, "true"])
    return next((line for line in known if which(line[0])), ["true"])


def _pairs(held: int) -> Callable[[], float]:
    def run() -> float:
        host = Host(machine_named("dgx-a100"))
        with TemporaryDirectory(dir=DISK) as folder, Book.open(Path(folder)) as book:
            for _ in range(held):
                _take(book, host, JobRequest(cpus=1, threads=True))
            return min(_batch(book, host) for _ in range(BATCHES))

    return run


def _batch(book: Book, host: Host) -> float:
    started = perf_counter()
    for _ in range(PAIRS):
        book.release(_take(book, host, JobRequest(cpus=2, threads=True)).id)
    return (perf_counter() - started) / PAIRS


def _take(book: Book, host: Host, request: JobRequest) -> Lease:
    lease = book.take(host, request, _owner())
    assert isinstance(lease, Lease)
    return lease


def _owner() -> Owner:
    process = identify(os.getpid())
    assert process is not None
    return caller([process])


def _starts(other: list[str], options: Sequence[str]) -> Callable[[], float]:
    def run() -> float:
        with TemporaryDirectory(dir=DISK) as folder:
            # The installed command, with what it was compiled to in its place, as a user has it.
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
            environment["NUMAFIT_STATE"] = folder
            numafit = [str(Path(sys.executable).with_name("numafit")), "run", "-q", *options, "--", "true"]
            _start(numafit, environment)
            pairs = [(_start(numafit, environment), _start(other, environment)) for _ in range(STARTS)]
            return min(ours for ours, _ in pairs) - min(theirs for _, theirs in pairs)

    return run


def _start(command: list[str], environment: dict[str, str]) -> float:
    before = _children()
    subprocess.run(command, env=environment, check=True)
    return _children() - before


def _children() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
