"""This machine as a source: what the kernel tells of it, and the leases that are held on it.

It is also the agent of the host: leases of those who are gone are freed, and shared work follows the pool.
"""

import asyncio
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from numafit.errors import NumafitError
from numafit.host.audit.holders import lease_promises
from numafit.host.audit.survey import Survey
from numafit.host.audit.watch import AuditWatch
from numafit.host.bind.ladder import remove_orphans
from numafit.host.book.store import FILE
from numafit.host.book.tables import LeaseEvent
from numafit.host.lease import Lease
from numafit.host.meter import Meter
from numafit.host.place import OUTSIDE, ledger_of, node_of
from numafit.host.request import JobRequest
from numafit.host.session import look_around, open_session
from numafit.ledger.ledger import Ledger
from numafit.service.leases import Leases
from numafit.service.node import Audited, Change, Happening, ShownNode, ViewedNode
from numafit.service.sources.wake import Wake
from numafit.settings.example import example_kubelet
from numafit.settings.versions import DEFAULT_VERSION
from numafit.show.records.audit import audit_record
from numafit.show.records.ledger import OUTSIDE_KIND, Known
from numafit.show.records.time import now_text, time_text
from numafit.show.words import device_labels

LOOK_SECONDS = 1.0
"""Between two looks at the file of the ledger."""
SWEEP_SECONDS = 10.0
"""Between two sweeps: who is gone, and where does shared work run?"""
AUDIT_SECONDS = 60.0
MOST_ENTRIES = 100
RELEASES = ("released", "freed")
WORDS = {
    "freed": "was freed: its job has ended",
    "released": "was released",
    "moved": "was moved with the shared pool",
    "adopted": "was adopted",
    "extended": "was extended",
    "expired": "has run as long as it may and is being ended",
    "cancelled": "was cancelled",
    "rebuilt": "was found running, after the ledger was damaged",
}


class HostSource:
    def __init__(self, folder: Path | None = None) -> None:
        self.session = open_session(folder, _warn)
        self.leases = Leases(self.session)
        machine = self.session.host.machine
        self.meter = Meter(machine)
        # A question about pods asks a kubelet that would run here; leases themselves need none.
        kubelet = example_kubelet(machine, self.session.host.reserved_cpus)
        self.place = ShownNode(machine, host_name(), "live", kubelet, str(DEFAULT_VERSION), assumed=True)
        self.idle = self.place.stage()
        self.node = node_of(self.session.host, JobRequest(memory=1))
        self.last: int | None = None
        self.before: Sequence[Lease] | None = None
        self.audited = 0.0
        self.warned: set[str] = set()
        self.watch = AuditWatch(machine)

    async def changes(self) -> AsyncIterator[Change]:
        """A sweep comes every ten seconds, and at once when an owner of a lease ends or Docker tells of a container."""
        wake = Wake()
        stamp: object = None
        swept = -SWEEP_SECONDS
        try:
            while True:
                sweep = time.monotonic() - swept >= SWEEP_SECONDS
                if sweep or self._stamp() != stamp:
                    leases, entries = await asyncio.to_thread(self._look, sweep)
                    wake.watch(leases)
                    if sweep:
                        swept = time.monotonic()
                    for change in self._told(leases, entries):
                        yield change
                    # A sweep may have written; what it wrote has been read.
                    stamp = self._stamp()
                if time.monotonic() - self.audited > AUDIT_SECONDS:
                    self.audited = time.monotonic()
                    audited = await asyncio.to_thread(self._audit)
                    if audited is not None:
                        yield replace(self._change(leases), audited=audited)
                if await wake.wait(LOOK_SECONDS):
                    swept = -SWEEP_SECONDS
        finally:
            wake.close()

    def _stamp(self) -> object:
        return tuple(_stamp_of(self.session.folder / f"{FILE}{ending}") for ending in ("", "-wal"))

    def _look(self, sweep: bool) -> tuple[list[Lease], list[LeaseEvent]]:
        """The leases, and what has happened since the last look, oldest first."""
        if sweep:
            self._read_anew()
        with self.session.book() as book:
            if sweep:
                look_around(book, self.session.host, self._warn_once)
            leases = book.leases(self.session.host if sweep else None)
            if sweep:
                remove_orphans([lease.id for lease in leases])
            entries = book.history(MOST_ENTRIES)
        last, self.last = self.last, entries[0].number if entries else 0
        return leases, [entry for entry in reversed(entries) if last is not None and entry.number > last]

    def _read_anew(self) -> None:
        try:
            self.session.read_anew()
        except NumafitError as error:
            # A mistake in `host.yaml` must not end who frees leases.
            self._warn_once(f"{error}; what was read before counts")

    def _warn_once(self, message: str) -> None:
        """A container that has no lease is there at every sweep."""
        if message not in self.warned:
            self.warned.add(message)
            _warn(message)

    def _told(self, leases: Sequence[Lease], entries: Sequence[LeaseEvent]) -> Iterator[Change]:
        before, self.before = self.before, leases
        change = self._change(leases)
        if not entries and leases != before:
            yield change
        for entry in entries:
            yield replace(change, happened=_happened(entry))

    def _change(self, leases: Sequence[Lease]) -> Change:
        host = self.session.host
        stage = replace(self.idle, ledger=_placed(ledger_of(host, self.idle.node, leases)))
        viewed = ViewedNode(self.node, _placed(ledger_of(host, self.node, leases)))
        return Change(stage, {lease.id: _known(lease) for lease in leases} | OUTSIDE_KNOWN, viewed=viewed)

    def _audit(self) -> Audited | None:
        try:
            promises = lease_promises(self.session.folder, self.session.host.machine)
            report = self.watch.look(promises, Survey.of_promises)
        except NumafitError as error:
            _warn(f"no audit: {error}")
            return None
        return Audited(
            Counter(found.code for found in report.findings),
            report.seconds,
            report.jobs,
            self.watch.totals,
            report.allocations,
            self.watch.allocations,
            audit_record(report, now_text(), device_labels(self.session.host.machine)),
        )


def host_name() -> str:
    return socket.gethostname() or "this machine"


OUTSIDE_KNOWN = {OUTSIDE: Known("not for this agent", kind=OUTSIDE_KIND)}


def _placed(ledger: Ledger) -> Ledger:
    """Without the one who stands for what this process may not use, if that is nothing."""
    if OUTSIDE in ledger.cpu.entries:
        return ledger
    return replace(ledger, active={uid: pod for uid, pod in ledger.active.items() if uid != OUTSIDE})


def _known(lease: Lease) -> Known:
    return Known(lease.name or lease.command[:60] or lease.id, time_text(lease.since), "lease", lease.user, lease.rung)


def _happened(entry: LeaseEvent) -> Happening:
    if entry.event == "refused":
        return Happening("lease", entry.command or entry.user, entry.sentence, refused=True, reason=entry.reason)
    name = entry.name or entry.command or entry.lease
    sentence = entry.sentence if entry.event == "taken" else f"{name} {WORDS.get(entry.event, entry.event)}."
    kind = "release" if entry.event in RELEASES else "lease"
    return Happening(kind, name, sentence, uid=entry.lease)  # type: ignore[arg-type]


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _warn(message: str) -> None:
    print(f"numafit: {message}", file=sys.stderr, flush=True)
