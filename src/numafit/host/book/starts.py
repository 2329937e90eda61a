"""Those who were told to start (`host.wake`): each binds a process of its own and reports it, and it is written down
here before its command may run. Several that report at the same time are one transaction.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from numafit.bits import CpusetError, cpuset_text, parse_cpuset
from numafit.errors import NumafitError
from numafit.host.announce import start_sentences
from numafit.host.bind.target import AFFINITY, AFFINITY_AND_POLICY, CPUSET_RUNGS, Bound
from numafit.host.book.book import Book
from numafit.host.book.tables import Transaction
from numafit.host.book.work import with_command
from numafit.host.environment import lease_variables, merged
from numafit.host.grant import QueuePlace
from numafit.host.lease import Lease
from numafit.host.process.identity import PROC, ProcessId, identify, read_stat
from numafit.host.wake.words import LOST, NOTHING, REPORT, START, WRITTEN, packed

PATIENCE = 10.0
"""Seconds for one to report; he then writes it down himself."""


class GivenStart(msgspec.Struct, frozen=True):
    place: QueuePlace
    lease: Lease
    cpus: int
    pipe: int
    """On which he hears that it is written down."""
    until: float
    """On the monotonic clock."""


class Report(msgspec.Struct, frozen=True):
    start: GivenStart
    child: ProcessId
    bound: Bound
    marked: bool


def is_offered(place: QueuePlace) -> bool:
    """Whether he can start so. One of another pid namespace would tell a number that means another process here."""
    own = os.stat("/proc/self/ns/pid").st_ino
    return place.foreseen is not None and [process.namespace for process in place.owner.processes[:1]] == [own]


def start_line(lease: Lease, cpus: int) -> str:
    """`cpus` are those that it is to be bound to."""
    variables = packed(lease_variables(lease, cpus, ()))
    words = (lease.id, cpuset_text(cpus), cpuset_text(lease.mems), lease.bind, "shared" * lease.pooled, variables)
    return " ".join([START, *(word or NOTHING for word in words)])


class Starts:
    """Who has not reported yet."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._open: dict[int, GivenStart] = {}

    def begin(self, place: QueuePlace, lease: Lease, cpus: int, pipe: int) -> None:
        self._open[place.ticket] = GivenStart(place, lease, cpus, pipe, time.monotonic() + PATIENCE)

    def __bool__(self) -> bool:
        """Whether anybody is still to be waited for. Who is gone or takes too long is not: his pipe ends, and he does
        without."""
        for ticket, start in list(self._open.items()):
            gone = all(_parent_of(process.pid) is None for process in start.place.owner.processes)
            if gone or time.monotonic() > start.until:
                self._close(ticket)
        return bool(self._open)

    def heard(self, data: bytes) -> None:
        """What the bell told: reports, among signs that mean nothing here."""
        lines = [line[len(REPORT) :] for line in data.replace(b"!", b"").splitlines() if line.startswith(REPORT)]
        reports = [report for report in map(self._read, lines) if report is not None]
        if not reports:
            return
        try:
            written = self._book.transact(lambda tx: {one.start.lease.id: _write(tx, one) for one in reports})
        except NumafitError:
            written = {}
        for report in reports:
            self._answer(report, written)

    def _answer(self, report: Report, written: Mapping[str, Lease | None]) -> None:
        lease = written.get(report.start.lease.id)
        line = LOST
        if lease is not None:
            told = [*lease.remarks, *start_sentences(lease, report.bound, report.start.place.request.cpus)]
            line = " ".join([WRITTEN, _as_word(_variable_notes(report.start)), _as_word(told)])
        with suppress(OSError):
            os.write(report.start.pipe, f"{line}\n".encode())
        self._close(report.start.place.ticket)

    def _read(self, line: bytes) -> Report | None:
        """None: it is none, or not what the kernel says of that process."""
        try:
            ticket, lease_id, pid, mems, policy, marked = line.decode().split()
            start = self._open[int(ticket)]
            owner = start.place.owner.processes[0]
            child = identify(int(pid))
            if start.lease.id != lease_id or child is None or _parent_of(child.pid) != owner.pid:
                return None
            nodes = parse_cpuset("" if mems == NOTHING else mems)
            directed = "" if policy == NOTHING else bytes.fromhex(policy).decode()
        except (KeyError, ValueError, IndexError, CpusetError, NumafitError):
            return None
        return Report(start, child, _bound(start, nodes, directed), marked == "1")

    def close(self) -> None:
        for ticket in list(self._open):
            self._close(ticket)

    def _close(self, ticket: int) -> None:
        os.close(self._open.pop(ticket).pipe)


def _bound(start: GivenStart, mems: int, policy: str) -> Bound:
    foreseen, lease = start.place.foreseen, start.lease
    assert foreseen is not None
    rung = foreseen.rung
    if rung not in CPUSET_RUNGS:
        rung = AFFINITY_AND_POLICY if policy else AFFINITY
    group = os.path.join(foreseen.folder, lease.id) if foreseen.folder else ""
    notes = tuple(note.replace("LEASE", lease.id) for note in foreseen.notes)
    return Bound(rung, start.cpus, mems, group, policy, notes)


def _variable_notes(start: GivenStart) -> list[str]:
    """What is said of his own variables, as where he starts without waiting."""
    assert start.place.foreseen is not None
    return merged(start.place.foreseen.variables, lease_variables(start.lease, start.cpus, ()))[1]


def _as_word(sentences: Sequence[str]) -> str:
    return "".join(f"numafit: {sentence}\n" for sentence in sentences).encode().hex() or NOTHING


def _write(tx: Transaction, report: Report) -> Lease | None:
    lease = tx.lease(report.start.lease.id)
    # Whose place it was may have begun anew and started by himself.
    if lease is None or len(lease.owners) != len(report.start.lease.owners):
        return None
    changed = replace(with_command(lease, report.child, report.bound), marked=report.marked)
    tx.update(changed)
    return changed


def _parent_of(pid: int) -> int | None:
    try:
        stat = read_stat(PROC / str(pid) / "stat")
    except (OSError, NumafitError):
        return 0
    return None if stat is None or stat.state in "ZX" else stat.parent
