"""A command with a lease, held for as long as it runs; without click, so that it starts quickly."""

import gc
import os
import shlex
import signal
from collections.abc import Sequence

from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.cli.host.refusal import refuse
from numafit.cli.host.waiting import take
from numafit.cli.options.asked import LeaseOptions, limited, seconds_of
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.bind.target import CPUSET_RUNGS, INTERLEAVE, POLICY, Bound
from numafit.host.book.book import caller
from numafit.host.book.folder import VARIABLE
from numafit.host.environment import HOST, lease_variables, merged
from numafit.host.grant import Refused
from numafit.host.lease import Lease
from numafit.host.process.identity import identify
from numafit.host.run.command import run_leased, target_of
from numafit.host.run.ending import GRACE
from numafit.host.run.launcher import launcher_note
from numafit.host.run.resumed import has_lease
from numafit.host.run.supervise import finish
from numafit.host.session import Session, look_around, open_session


def run_job(
    options: LeaseOptions,
    command: Sequence[str],
    *,
    time_limit: str | None,
    grace: str | None,
    shared: bool,
    strict: bool,
    no_env: bool,
    omp: bool,
    explain: bool,
    quiet: bool,
) -> int:
    options = checked(options, time_limit, shared=shared, no_env=no_env, omp=omp)
    grace_seconds = seconds_of(grace, "--grace")
    require_command(command)
    request = options.request
    if note := launcher_note(command, several=bool(request.ranks) or sum(request.devices.values()) > 1):
        warn(note)
    quiet = quiet and not explain
    # Who has waited was given his lease by another, who knew the host.
    given = has_lease()
    session = open_session(options.folder, warn, devices=bool(request.devices), quiet=quiet, pool=given)
    if request.memory and not quiet and not given:
        for note in session.host.notes:
            warn(note)
    return _run(
        session,
        options,
        command,
        strict=strict,
        no_env=no_env,
        omp=omp,
        explain=explain,
        quiet=quiet,
        grace=GRACE if grace_seconds is None else grace_seconds,
    )


def checked(options: LeaseOptions, time_limit: str | None, *, shared: bool, no_env: bool, omp: bool) -> LeaseOptions:
    """With `--time`, and nothing asked for that contradicts itself."""
    cpus = options.request.cpus
    if shared and cpus:
        raise InputError("shared work has no CPUs of its own", source="--cpus", cure="leave --cpus or --shared away")
    if omp and not cpus:
        raise InputError("CPUs of the shared pool come and go", source="--omp", cure="ask for some with --cpus")
    if omp and no_env:
        raise InputError("is done by variables", source="--omp", cure="leave --no-env or --omp away")
    return limited(options, time_limit)


def require_command(command: Sequence[str]) -> None:
    if not command:
        raise InputError("no command to run", cure="write it after --, like numafit run --cpus 2 -- make")


def _run(
    session: Session,
    options: LeaseOptions,
    command: Sequence[str],
    *,
    strict: bool,
    no_env: bool,
    omp: bool,
    explain: bool,
    quiet: bool,
    grace: float,
) -> int:
    watcher = identify(os.getpid())
    assert watcher is not None
    with session.book() as book:
        if not has_lease():
            look_around(book, session.host, warn)
        got = take(session, book, options, caller([watcher], shlex.join(command)), quiet=quiet)
        if isinstance(got, Refused):
            return refuse(options, got)
        target = target_of(session, book, got)
    environment = dict(os.environ) if no_env else _environment(session, got, target.cpus, omp=omp)

    def report(lease: Lease, bound: Bound) -> None:
        try:
            if not quiet:
                _report(lease, bound, options.request.cpus, explain=explain)
        except OSError:
            # A command does not fail because nobody listens to what is said about it. Signals are blocked here: that
            # of the closed pipe would be kept, and passed on to the command.
            signal.sigtimedwait([signal.SIGPIPE], 0)
        # From here on it waits, perhaps for days; what is loaded is no garbage.
        gc.freeze()
        gc.enable()

    status = run_leased(
        session, got, target, command, environment, watcher=watcher, strict=strict, report=report, grace=grace
    )
    return finish(status)


def _environment(session: Session, lease: Lease, cpus: int, *, omp: bool) -> dict[str, str]:
    ours = lease_variables(lease, cpus, session.host.cores if omp else (), omp=omp)
    # The job's own numafit commands mean the same ledger, and a ledger that is made anew knows its jobs by it.
    ours[VARIABLE] = str(session.folder.absolute())
    ours[HOST] = os.uname().nodename
    environment, notes = merged(os.environ, ours)
    for note in notes:
        warn(note)
    return environment


def _memory_words(lease: Lease, bound: Bound) -> str:
    nodes = cpuset_text(bound.mems)
    way = bound.memory_policy.partition(" ")[0]
    where = f"memory of node {nodes}{' first' if way == 'preferred' else ''}" if nodes else "memory from anywhere"
    if way == INTERLEAVE:
        where = f"memory interleaved over node {nodes}"
    return where + (f", at most {size_text(lease.limit_memory)}" if lease.limit_memory else "")


def _report(lease: Lease, bound: Bound, asked: int, *, explain: bool) -> None:
    whole = f" (whole cores, {asked} asked for)" if 0 < asked < lease.exclusive.bit_count() else ""
    parts = [f"CPUs {cpuset_text(bound.cpus)}" + (" of the shared pool" if lease.pooled else whole)]
    parts.append(_memory_words(lease, bound))
    parts += [device for ids in lease.devices.values() for device in ids]
    how = f"{bound.rung} ({bound.memory_policy})" if bound.memory_policy else bound.rung
    warn(f"lease {lease.id}: {', '.join(parts)}; bound by {how}")
    if explain:
        warn(lease.sentence)
        for number, part in enumerate(lease.shares):
            warn(f"rank {number}: {part.words()}")
    # A stronger binding may be had by another user or on another host; who asks for reasons wants all of them.
    for reason in bound.skipped:
        if bound.rung not in CPUSET_RUNGS or explain or reason.startswith(POLICY):
            warn(f"not bound by {reason}")
