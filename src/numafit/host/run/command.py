"""A command under a lease: bound, recorded before it runs, watched over, and the lease freed when it has ended."""

import os
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from numafit.errors import NumafitError
from numafit.host.bind.ladder import bind_self, group_pids, remove_group
from numafit.host.bind.marking import mark_self
from numafit.host.bind.target import Bound, Target
from numafit.host.book.book import Book
from numafit.host.book.work import LEASE_VARIABLE, with_command
from numafit.host.lease import Lease
from numafit.host.pool import shared_cpus
from numafit.host.process.identity import ProcessId, identify
from numafit.host.run.ending import GRACE, TimeLimit
from numafit.host.run.resumed import Resumed, RunningChild
from numafit.host.run.supervise import supervise
from numafit.host.session import Session

FOLLOW_SECONDS = 1.0
"""How often shared work looks whether the pool has changed."""


def run_leased(
    session: Session,
    lease: Lease,
    target: Target,
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    watcher: ProcessId,
    strict: bool,
    report: Callable[[Lease, Bound], None],
    grace: float = GRACE,
    running: RunningChild | None = None,
) -> int:
    """The status of the command; negative: the signal that ended it. `watcher` is this process. `running`: it was
    started already, bound and written down."""

    def over() -> None:
        with session.book() as book:
            book.change(lease.id, lambda old: old, "expired")

    cgroups: list[str] = [lease.cgroup] if running is not None else []
    limit = TimeLimit(lease.seconds, grace, session.warn, over) if lease.seconds else None

    def prepare() -> Bound:
        mark_self(lease.id)
        return bind_self(lease.id, target, strict=strict)

    def started(pid: int, bound: Bound) -> None:
        cgroups.append(bound.cgroup)
        child = identify(pid)
        with session.book() as book:
            changed = book.change(lease.id, lambda old: with_command(old, child, bound))
            if lease.pooled:
                # Who took CPUs since this job looked at the pool could not move it: nobody knew where it was.
                followed = book.follow(lease.id, session.host)
                bound = replace(bound, cpus=followed.bound) if followed is not None else bound
            elif LEASE_VARIABLE in os.environ:
                # Inside shared work, which could not be moved before the new job had left it.
                book.leases(session.host)
        if changed is None:
            raise NumafitError(f"the lease {lease.id} was released before the command could start")
        if limit is not None:
            limit.begin(changed)
        report(changed, bound)

    def tick() -> None:
        with session.book() as book:
            book.follow(lease.id, session.host)

    try:
        return supervise(
            command,
            environment,
            prepare=prepare,
            started=started,
            tick=tick if lease.pooled else None,
            every=FOLLOW_SECONDS,
            alarms=limit.alarms if limit is not None else (),
            running=running,
        )
    finally:
        if limit is not None:
            limit.settle()
        _finish(session, lease, watcher)
        # It goes with the lease, unless the ledger was lost meanwhile; what still runs in there keeps it.
        for cgroup in cgroups:
            if not group_pids(cgroup):
                remove_group(cgroup)


def stay_with(session: Session, back: Resumed, command: Sequence[str], watcher: ProcessId) -> int:
    """As `run_leased`, with a command that runs already. Whatever became of its lease or of the ledger, it is not left
    alone."""
    assert back.child is not None
    lease = None
    try:
        with session.book() as book:
            lease = book.lease(back.rest)
    except NumafitError as error:
        session.warn(str(error))
    lease = lease or Lease(id=back.rest, name="", uid=os.getuid(), user="", since=0.0)
    target = Target(lease.exclusive)
    return run_leased(
        session,
        lease,
        target,
        command,
        {},
        watcher=watcher,
        strict=False,
        report=lambda lease, bound: None,
        running=back.child,
    )


def target_of(session: Session, book: Book, lease: Lease) -> Target:
    cpus = lease.exclusive or shared_cpus(session.host, book.leases(), lease)
    return Target(cpus, lease.mems, lease.bind, lease.limit_memory)


def _finish(session: Session, lease: Lease, watcher: ProcessId) -> None:
    try:
        with session.book() as book:
            rest = book.finish(lease.id, session.host, watcher)
    except NumafitError as error:
        session.warn(f"the lease {lease.id} could not be freed now, the next command frees it: {error}")
        return
    if rest is not None:
        session.warn(f"processes of the job still run: the lease {lease.id} stays until they end")
