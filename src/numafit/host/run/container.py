"""`docker run` or `podman run` under a lease: written down before it can start anything, watched over, and read back
from the kernel.
"""

import os
from collections.abc import Callable, Sequence
from threading import Thread

from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.errors import NumafitError
from numafit.host.bind import kernel
from numafit.host.bind.target import NONE, Bound
from numafit.host.docker.command_line import DockerRun
from numafit.host.docker.containers import RUNNING, rung_of
from numafit.host.docker.engine import PODMAN, DockerContainer, labelled, stop
from numafit.host.docker.options import label_flags, placement_flags, variable_flags
from numafit.host.lease import Lease
from numafit.host.pool import shared_cpus
from numafit.host.process.identity import PROC, ProcessId, identify
from numafit.host.run.ending import GRACE
from numafit.host.run.supervise import supervise
from numafit.host.session import Session

LOOK_SECONDS = 0.25
"""How often the engine is asked for a container that is about to start."""


def run_container(
    session: Session,
    lease: Lease,
    run: DockerRun,
    words: Sequence[str],
    *,
    address: str,
    variables: bool,
    watcher: ProcessId,
    report: Callable[[Lease], None],
    grace: float = GRACE,
) -> int:
    """The status of the `docker` or `podman` command; negative: the signal that ended it. `words` are the user's own
    after `docker run`, `watcher` is this process."""
    known: list[Lease] = []

    def started(pid: int, _bound: Bound) -> None:
        child = identify(pid)
        with session.book() as book:
            changed = book.change(lease.id, lambda old: replace(old, owners=(*old.owners, *([child] if child else ()))))
        if changed is None:
            raise NumafitError(f"the lease {lease.id} was released before the container could start")

    def tick() -> None:
        if not known:
            found = _recorded(session, lease)
            if found is not None:
                known.append(found)
                report(found)
        elif lease.pooled:
            with session.book() as book:
                book.follow(lease.id, session.host)

    def over() -> None:
        found = known[0] if known else _recorded(session, lease)
        if found is None:
            session.warn("the time of the job is over, and its container is not to be seen: it is not ended")
            return
        session.warn(f"the job has run for {lease.seconds:g} s, as long as it may: its container is stopped")
        # The engine answers when it is done: signals are passed on meanwhile.
        Thread(target=stop, args=(found.engine, found.container, grace), daemon=True).start()
        with session.book() as book:
            book.change(lease.id, lambda old: old, "expired")

    try:
        lease = _prepared(session, lease, address)
        client = "podman" if address.startswith(PODMAN) else "docker"
        added = placement_flags(lease, lease.bound, session.host.machine, run, client)
        for note in added.notes:
            session.warn(note)
        flags = [
            *added.flags,
            *label_flags(lease, client),
            *(variable_flags(lease, lease.bound, run) if variables else ()),
        ]
        status = supervise(
            [client, "run", *flags, *words],
            os.environ,
            prepare=lambda: Bound(NONE, 0, 0),
            started=started,
            tick=tick,
            every=LOOK_SECONDS,
            alarms=((lease.seconds, over),) if lease.seconds else (),
        )
        tick()
    finally:
        rest = _finished(session, lease, watcher)
    if rest is not None and not run.is_on("detach"):
        session.warn(f"the container still runs: the lease {lease.id} stays until it ends")
    return status


def _prepared(session: Session, lease: Lease, address: str) -> Lease:
    """Which engine and which CPUs are written down before anything starts."""
    with session.book() as book:
        cpus = lease.exclusive or shared_cpus(session.host, book.leases(), lease)
        changed = book.change(lease.id, lambda old: replace(old, engine=address, bound=cpus))
    if changed is None:
        raise NumafitError(f"the lease {lease.id} was released before the container could start")
    return changed


def _recorded(session: Session, lease: Lease) -> Lease | None:
    """The lease with the container that the engine shows for it; None: it shows none that runs."""
    found = [one for one in labelled(lease.engine, lease.id) or () if one.state in RUNNING and one.pid]
    if not found:
        return None
    with session.book() as book:
        return book.change(lease.id, lambda old: read_back(old, found[0]))


def read_back(lease: Lease, container: DockerContainer) -> Lease:
    """The lease with what the kernel says of the container's first process."""
    wanted = lease.exclusive or lease.bound
    rung = rung_of(lease.engine)
    lease = replace(lease, container=container.id, rung=rung, notes=())
    try:
        status = kernel.status(PROC / str(container.pid))
    except OSError:
        # It has ended, or its processes are not to be seen from here: nothing is claimed.
        return replace(lease, rung="")
    reasons = []
    if status.cpus & ~wanted:
        reasons.append(f"the kernel lets the container use CPUs {cpuset_text(status.cpus)}")
    if lease.forced_mems and status.mems & ~lease.forced_mems:
        reasons.append(f"the kernel lets its memory come from node {cpuset_text(status.mems)}")
    return replace(lease, rung=NONE if reasons else rung, notes=tuple(reasons))


def _finished(session: Session, lease: Lease, watcher: ProcessId) -> Lease | None:
    """The lease if its container lives on."""
    try:
        with session.book() as book:
            return book.finish(lease.id, session.host, watcher)
    except NumafitError as error:
        session.warn(f"the lease {lease.id} is looked at again by the next command: {error}")
        return None
