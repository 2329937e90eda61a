"""What the tests of leases share: hosts of the catalogue, owners that live or are gone, and jobs that really run."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import which

import pytest
from msgspec.structs import replace

from numafit.errors import NumafitError
from numafit.host.book.book import Book, caller
from numafit.host.book.store import FILE
from numafit.host.grant import Owner
from numafit.host.host import Host
from numafit.host.lease import Lease, claims, decode_lease
from numafit.host.process.identity import ProcessId, identify
from numafit.host.request import JobRequest
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Machine
from tests.host.children import NOBODY, opened_up

PATIENCE = 30.0
"""Seconds after which something that ought to happen counts as not happening."""


def host_named(name: str, **fields: object) -> Host:
    return replace(Host(machine_named(name)), **fields)


def small_host(cpus: int = 4) -> Host:
    """The first CPUs of a laptop."""
    machine: Machine = machine_named("laptop")
    return Host(replace(machine, cpus=machine.cpus[:cpus]))


def me(command: str = "") -> Owner:
    process = identify(os.getpid())
    assert process is not None
    return caller([process], command)


def gone() -> Owner:
    """Somebody whose process id was given to another process since: this one."""
    process = identify(os.getpid())
    assert process is not None
    return caller([replace(process, start=process.start - 1)])


def elsewhere() -> Owner:
    """A process of another pid namespace."""
    process = identify(os.getpid())
    assert process is not None
    return caller([replace(process, namespace=1)])


def taken(book: Book, host: Host, request: JobRequest, owner: Owner | None = None) -> Lease:
    lease = book.take(host, request, owner or me())
    assert isinstance(lease, Lease), lease
    return lease


def check_claims(folder: Path) -> list[Lease]:
    """The leases as they lie on disk; the rows of what is held are exactly theirs, and each is there once."""
    if not (folder / FILE).exists():
        return []
    connection = sqlite3.connect(folder / FILE)
    try:
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            # Somebody was about to make it.
            return []
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        leases = [decode_lease(row[0]) for row in connection.execute("SELECT data FROM leases ORDER BY number")]
        rows = sorted(connection.execute("SELECT kind, name, lease FROM claims"))
    finally:
        connection.close()
    assert rows == sorted((*claim, lease.id) for lease in leases for claim in claims(lease))
    return leases


# Jobs


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Without what a lease around the tests, or a setting of the user, would change."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMAFIT_", "OMP_", "GOMP_"))}
    return {**kept, "NUMAFIT_STATE": str(folder), "COLUMNS": "80", **more}


def numafit(
    folder: Path, *words: str, before: tuple[str, ...] = (), timeout: float = 60.0, **more: str
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; `before` are words in front of it, such as `taskset`."""
    return subprocess.run(
        [*before, sys.executable, "-m", "numafit", *words],
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )


@contextmanager
def job(
    folder: Path, *options: str, command: tuple[str, ...] = (), before: tuple[str, ...] = ()
) -> Iterator[subprocess.Popen[str]]:
    """`numafit run` that has started its command, which says so and sleeps; all of it is ended with the block."""
    command = command or ("sh", "-c", "echo ready; exec sleep 60")
    with subprocess.Popen(
        [*before, sys.executable, "-m", "numafit", "run", *options, "--", *command],
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        children: list[int] = []
        try:
            line = process.stdout.readline()
            if line.strip() != "ready":
                process.kill()
                raise AssertionError(process.stderr.read())
            children = children_of(process.pid)
            yield process
        finally:
            for pid in (*children, process.pid):
                end(pid)
    _sweep(folder, process.pid)


def _sweep(folder: Path, watcher: int) -> None:
    """As the next command would, which a test need not have: the cgroup of a job goes with its lease."""
    with suppress(NumafitError), Book.open(folder) as book:
        for _ in range(100):
            owners = {owner.pid for lease in book.leases() for owner in lease.owners}
            if watcher not in owners:
                return
            time.sleep(0.02)


def without_gap(said: str) -> str:
    """Without the line that some virtual machines get, whose nodes tell another memory than the whole machine."""
    return "".join(line for line in said.splitlines(keepends=True) if " of memory, and MemTotal tells " not in line)


def children_of(pid: int) -> list[int]:
    from numafit.host.process.identity import descendants

    return descendants(pid)


def end(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return


def eventually(question: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not question():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


def cpus_of(pid: int) -> set[int]:
    return set(os.sched_getaffinity(pid))


def owner_of(process: ProcessId) -> Owner:
    return caller([process])


# Ordinary users


def as_user() -> tuple[str, ...]:
    """Words that make a command one of user `nobody`, who may read the interpreter's folder, but nothing else more."""
    if os.geteuid():
        pytest.skip("only root can become somebody else")
    if which("setpriv") is None:
        pytest.skip("setpriv is not there")
    caps = "-all,+dac_read_search"
    user = str(NOBODY)
    return (
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        f"--inh-caps={caps}",
        f"--ambient-caps={caps}",
    )


def user_folder(tmp_path: Path) -> Path:
    """A folder of his."""
    folder = opened_up(tmp_path) / "his"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    return folder
