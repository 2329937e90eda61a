"""The leases of this host: taken, changed and freed, each in one transaction of the ledger on disk."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.errors import InputError, NumafitError
from numafit.host.bind.ladder import group_pids, remove_group
from numafit.host.book.bell import ring
from numafit.host.book.commands import Commands
from numafit.host.book.folder import make_folder
from numafit.host.book.line import behind, in_turn, lease_of, places
from numafit.host.book.store import DamagedError, Store
from numafit.host.book.tables import LeaseEvent, Transaction
from numafit.host.book.work import LEASE_VARIABLE, as_shared_work, can_be_seen, cgroup_of, is_in_use, move_to_pool
from numafit.host.grant import Owner, QueuePlace, Refused, bounded, check_quota, granted_to, kept_back, refused_data
from numafit.host.host import Host
from numafit.host.lease import Lease, LiveContainers, record_of
from numafit.host.pool import SharedPlace, shared_place
from numafit.host.process.identity import Liveness, ProcessId, user_name
from numafit.host.request import JobRequest
from numafit.host.this_machine import looked_at
from numafit.host.wake.foreseen import Foreseen

if TYPE_CHECKING:
    from numafit.host.place import Placed

T = TypeVar("T")

Warn = Callable[[str], None]
Watch = Callable[[Sequence[Lease]], LiveContainers | None]
"""Asks Docker which of the leases have a container that lives; None: it did not answer."""


def caller(processes: Sequence[ProcessId], command: str = "") -> Owner:
    uid = os.getuid()
    # It is only shown, and bytes that are no UTF-8 have no place in JSON.
    shown = command.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return Owner(tuple(processes), uid, user_name(uid), shown)


class Book:
    """Opened for one command; closed at its end."""

    def __init__(self, store: Store, watch: Watch | None = None, warn: Warn = lambda _: None) -> None:
        self._store = store
        self._watch = watch
        self._warn = warn
        self._commands = Commands(store.folder)
        self._entered: tuple[str, ...] = ()
        """Leases that run, which a new ledger was begun with and nobody was told of yet."""

    @property
    def folder(self) -> Path:
        return self._store.folder

    @classmethod
    def open(cls, folder: Path, watch: Watch | None = None, warn: Warn = lambda _: None) -> "Book":
        """Makes the ledger if there is none. One that turns out damaged is set aside and made anew from what runs."""
        group = make_folder(folder)
        # The store is asked to begin a ledger only after the book is there.
        book = cls(Store(folder, group=group, begin=lambda tx, lost: book._enter_running(tx, lost)), watch, warn)
        return book

    def close(self) -> None:
        self._store.close()

    def rest(self) -> None:
        """Before a fork."""
        self._store.rest()

    def __enter__(self) -> "Book":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading

    def leases(self, host: Host | None = None) -> list[Lease]:
        """Those that are in use; the others are freed on the way. With `host` shared work is moved, too."""
        return self._run(lambda tx: self.swept(tx, host))

    def lease(self, lease_id: str) -> Lease | None:
        return self._run(lambda tx: tx.lease(lease_id))

    def receive(self, lease: Lease, owner: Owner) -> None:
        """By one who was given his lease while he waited, by another who knows the program only and told no remarks."""
        self._commands.keep(owner.uid, lease.id, owner.command)
        for remark in lease.remarks:
            self._warn(remark)

    def opened_command(self, owner: Owner) -> tuple[int, bytes]:
        """See `Commands.opened`."""
        return self._commands.opened(owner.uid, owner.command)

    def commands(self) -> dict[tuple[int, str], str]:
        """User and lease -> the command line of its job, where the ledger itself names only its program and the caller
        may read more."""
        return self._commands.known()

    def history(self, limit: int, before: int | None = None) -> list[LeaseEvent]:
        return self._run(lambda tx: tx.history(limit, before))

    def waiting(self) -> list[QueuePlace]:
        """In the order in which they are asked."""
        from numafit.host.backfill import in_order

        return in_order(self._run(places))

    def is_waiting(self, ticket: int) -> bool:
        return self._run(lambda tx: tx.is_waiting(ticket))

    # Taking

    def take(
        self, host: Host, request: JobRequest, owner: Owner, *, ticket: int | None = None, quiet: bool = False
    ) -> Lease | Refused:
        """`ticket` is the caller's own place in the queue. One who will wait is `quiet`: a refusal is kept out of the
        history, and where others wait he gets nothing here but the reason: the one who watches decides for all."""
        host = looked_at(host, request)
        remarks: list[str] = []
        request = bounded(host, request, owner)
        whole, owner = owner.command, replace(owner, command=self._commands.shown(owner.command))

        def run(tx: Transaction) -> Lease | Refused:
            leases = self.swept(tx, None)
            if quiet and tx.is_waiting():
                return behind(host, leases, request, owner)
            # Most of it is shared work on a host without quotas where nobody waits: that starts without the engine.
            shared = None if host.quotas.users or host.quotas.groups else shared_place(host, leases, request)
            if shared is not None and not places(tx):
                return self.give(tx, host, leases, shared, owner)
            answer = granted_to(host, leases, request, owner)
            if not isinstance(answer, Refused):
                answer = in_turn(host, leases, places(tx), QueuePlace(owner, request, 0.0, ticket=ticket or 0), answer)
            if isinstance(answer, Refused):
                from numafit.host.spread import place_job

                if not place_job(host, (), request).admitted:
                    answer = replace(answer, never=True)
                if not quiet and not answer.ahead:
                    tx.note("refused", "", owner.user, refused_data(owner, answer, request))
                return answer
            remarks[:] = (*(host.usage.unseen if host.usage is not None else ()), *answer.remarks)
            if ticket is not None:
                tx.dequeue(ticket)
            return self.give(tx, host, leases, answer, owner)

        taken = self._run(run)
        for remark in remarks:
            self._warn(remark)
        if isinstance(taken, Lease):
            self._commands.keep(owner.uid, taken.id, whole)
        return taken

    def give(
        self, tx: Transaction, host: Host, leases: Sequence[Lease], placed: "Placed | SharedPlace", owner: Owner
    ) -> Lease:
        """Inside a transaction; `leases` are those of now."""
        lease = lease_of(placed, owner, host, {lease.id for lease in leases})
        tx.insert(lease)
        tx.note("taken", lease.id, owner.user, record_of(lease))
        if lease.exclusive:
            _move_shared(tx, host, [*leases, lease], owner.processes)
        return lease

    def enqueue(
        self,
        host: Host,
        request: JobRequest,
        owner: Owner,
        *,
        until: float | None = None,
        ready: Callable[[int], None] = lambda ticket: None,
        foreseen: Foreseen | None = None,
    ) -> int:
        """A place in the queue, until a time of CLOCK_BOOTTIME; `ready` is told its ticket before anybody else can see
        it. Refused at once: what would not fit on an idle host either."""
        from numafit.host.spread import place_job

        request = bounded(host, request, owner)
        check_quota(host, request, owner)
        placed = place_job(host, (), request)
        if not placed.admitted:
            why = kept_back(host, request)
            raise InputError(
                why or f"{request.words()} would not fit this host if nobody held anything",
                source="--wait",
                cure="" if why else "ask for less, or with another --policy",
            )
        cpus, mems = (cpuset_text(mask) if mask else "" for mask in (host.allowed_cpus, host.allowed_mems))

        def run(tx: Transaction) -> int:
            around = tx.lease(os.environ.get(LEASE_VARIABLE, ""))
            if around is not None and not host.usable_cpus & ~around.exclusive:
                raise InputError(
                    f"this process is a part of the lease {around.label}, which holds every CPU that it may use: it "
                    "would wait for its own end",
                    source="--wait",
                    cure="start it outside of that job",
                )
            shown = replace(owner, command=self._commands.shown(owner.command))
            ticket = tx.enqueue(QueuePlace(shown, request, time.time(), until, cpus, mems, foreseen=foreseen))
            ready(ticket)
            return ticket

        return self._run(run)

    def leave_queue(self, ticket: int) -> None:
        self._run(lambda tx: tx.dequeue(ticket))

    # Changing

    def change(self, lease_id: str, edit: Callable[[Lease], Lease], event: str = "") -> Lease | None:
        """None: the lease is gone."""

        def run(tx: Transaction) -> Lease | None:
            lease = tx.lease(lease_id)
            if lease is None:
                return None
            changed = edit(lease)
            tx.update(changed)
            if event:
                tx.note(event, lease_id, changed.user, record_of(changed))
            return changed

        return self._run(run)

    def add(self, lease: Lease, event: str) -> None:
        """A lease that was placed elsewhere (a container that is adopted, a ledger that is made anew)."""

        def run(tx: Transaction) -> None:
            tx.insert(lease)
            tx.note(event, lease.id, lease.user, record_of(lease))

        self._run(run)

    def within(self, action: Callable[[Transaction, list[Lease]], T]) -> T:
        """One transaction of `moves`, which is given the leases in use."""
        return self._run(lambda tx: action(tx, self.swept(tx, None)))

    def release(self, lease_id: str, host: Host | None = None, *, event: str = "released") -> Lease | None:
        """Free it, whoever uses it. None: it was gone already."""

        def run(tx: Transaction) -> Lease | None:
            found = tx.lease(lease_id)
            if found is not None:
                _free(tx, found, event)
                if host is not None and found.exclusive:
                    _move_shared(tx, host, tx.leases())
            return found

        return self._run(run)

    def give_up(self, lease: Lease, host: Host) -> None:
        """Free it though its job may run. What can be seen of the job goes on in the shared pool until it ends; the
        lease of one that cannot is freed altogether."""
        if lease.until is not None or not can_be_seen(lease):
            self.release(lease.id, host)
        else:
            self.change(lease.id, as_shared_work, "released")
            self.leases(host)

    def finish(self, lease_id: str, host: Host, watcher: ProcessId) -> Lease | None:
        """The job has ended, says the process that watched over it. The lease that stays when others still use it."""

        def run(tx: Transaction) -> Lease | None:
            found = tx.lease(lease_id)
            if found is None:
                return None
            rest = replace(found, owners=tuple(owner for owner in found.owners if owner != watcher))
            if is_in_use(rest, _Once(self._watch, [rest])):
                tx.update(rest)
                return rest
            _free(tx, found, "released")
            if found.exclusive:
                _move_shared(tx, host, tx.leases())
            return None

        return self._run(run)

    def follow(self, lease_id: str, host: Host) -> Lease | None:
        """Move the processes of one shared lease to where the pool is now, if they are elsewhere."""

        def run(tx: Transaction) -> Lease | None:
            leases = tx.leases()
            found = next((lease for lease in leases if lease.id == lease_id), None)
            if found is not None and found.pooled:
                change = move_to_pool(host, leases, found)
                if change is not None:
                    tx.update(change)
                    return change
            return found

        return self._run(run)

    def transact(self, action: Callable[[Transaction], T]) -> T:
        """One transaction, all or nothing."""
        return self._run(action)

    # Inside a transaction

    def swept(self, tx: Transaction, host: Host | None) -> list[Lease]:
        leases = tx.leases()
        containers = _Once(self._watch, leases)
        kept: list[Lease] = []
        freed: list[Lease] = []
        liveness = Liveness()
        for lease in leases:
            (kept if is_in_use(lease, containers, liveness=liveness) else freed).append(lease)
        for lease in freed:
            _free(tx, lease, "freed")
        return kept if host is None else _move_shared(tx, host, kept)

    def _run(self, action: Callable[[Transaction], T]) -> T:
        try:
            return self._committed(action)
        except DamagedError as error:
            self._check_sight(str(error))
            aside = self._store.set_aside()
            if aside is not None:
                self._warn(f"{error}; it lies in {aside} now, and a new one is made from what runs")
        return self._committed(action)

    def _committed(self, action: Callable[[Transaction], T]) -> T:
        with self._store.write() as tx:
            result = action(tx)
        if tx.loosened:
            ring(self._store.folder)
        if self._entered:
            self._warn(f"the ledger was made anew; leases that run and were entered: {', '.join(self._entered)}")
            self._entered = ()
        return result

    def _check_sight(self, what: str) -> None:
        """The variables of a job may be read by its own user and by root."""
        if os.geteuid() not in (0, self._store.folder.stat().st_uid):
            raise NumafitError(f"{what} (let root run `numafit ps`: only he sees the jobs of all users, to enter them)")

    def _enter_running(self, tx: Transaction, lost: bool) -> None:
        if lost:
            self._check_sight(f"{self._store.path}: the ledger is gone")
        # Only a ledger that is new or lost is made anew; every command opens one (2 ms).
        from numafit.host.book.rebuild import running_leases

        found = running_leases(ledger=self._store.folder, named=not lost)
        for lease in found:
            lease = replace(lease, command=self._commands.shown(lease.command))
            tx.insert(lease)
            tx.note("rebuilt", lease.id, lease.user, record_of(lease))
        self._entered = tuple(lease.label for lease in found)


class _Once:
    """Docker is asked when the first container is in question, and only then."""

    def __init__(self, watch: Watch | None, leases: Sequence[Lease]) -> None:
        self._watch = watch
        self._leases = leases
        self._answer: list[LiveContainers | None] = []

    def __call__(self) -> LiveContainers | None:
        if not self._answer:
            self._answer.append(self._watch(self._leases) if self._watch is not None else None)
        return self._answer[0]


def _free(tx: Transaction, lease: Lease, event: str) -> None:
    tx.delete(lease.id)
    tx.note(event, lease.id, lease.user, record_of(lease))
    # A search through all cgroups is worth it only where a process may have been killed in the midst of binding.
    cgroup = cgroup_of(lease) if event == "freed" else lease.cgroup
    if cgroup:
        remove_group(cgroup)


def _is_inside(processes: Sequence[ProcessId], lease: Lease) -> bool:
    if not processes or not lease.cgroup:
        return False
    return not {process.pid for process in processes}.isdisjoint(group_pids(lease.cgroup))


def _move_shared(tx: Transaction, host: Host, leases: Sequence[Lease], taker: Sequence[ProcessId] = ()) -> list[Lease]:
    """The pool has changed: shared work follows it, as far as this user may move it. A cgroup in which the taker itself
    runs comes later: he could not bind his new job to CPUs that he had just been moved off."""
    result = []
    for lease in leases:
        change = (
            move_to_pool(host, leases, lease) if lease.pooled and lease.rung and not _is_inside(taker, lease) else None
        )
        if change is not None:
            tx.update(change)
        result.append(change or lease)
    return result
