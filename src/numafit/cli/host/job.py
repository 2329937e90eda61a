"""A command with a lease, held for as long as it runs; without click, so that it starts quickly."""

import gc
import os
import shlex
import signal
from collections.abc import Sequence

from numafit.cli.host.refusal import refuse
from numafit.cli.host.waiting import back_from_waiting, take
from numafit.cli.options.asked import LeaseOptions, limited, seconds_of
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.announce import start_sentences
from numafit.host.bind.target import Bound
from numafit.host.book.book import caller
from numafit.host.book.folder import VARIABLE
from numafit.host.environment import HOST, lease_variables, merged
from numafit.host.grant import Refused
from numafit.host.lease import Lease
from numafit.host.process.identity import identify
from numafit.host.run.asked import StartAsked
from numafit.host.run.command import run_leased, stay_with, target_of
from numafit.host.run.ending import GRACE
from numafit.host.run.launcher import launcher_note
from numafit.host.run.resumed import Resumed
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
    back = back_from_waiting(options)
    note = launcher_note(command, several=bool(request.ranks) or sum(request.devices.values()) > 1)
    # Who comes back from waiting has said it before.
    if note and back is None:
        warn(note)
    quiet = quiet and not explain
    # Who has waited was given his lease by another, who knew the host.
    given = back is not None and back.has_lease
    told = quiet or back is not None
    session = open_session(options.folder, warn, devices=bool(request.devices), quiet=told, pool=given)
    if request.memory and not told:
        for note in session.host.notes:
            warn(note)
    return _run(
        session,
        options,
        command,
        back,
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
    back: Resumed | None,
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
    if back is not None and back.child is not None:
        _settle()
        return finish(stay_with(session, back, command, watcher))
    with session.book() as book:
        if back is None or not back.has_lease:
            look_around(book, session.host, warn)
        asked = None
        if options.wait is not None and not omp and not explain:
            asked = StartAsked(command, no_env=no_env, strict=strict, quiet=quiet)
        owner = caller([watcher], shlex.join(command))
        got = take(session, book, options, owner, quiet=quiet, back=back, asked=asked)
        if isinstance(got, Refused):
            return refuse(options, got)
        target = target_of(session, book, got)
    environment = dict(os.environ) if no_env else _environment(session, got, target.cpus, omp=omp)

    def report(lease: Lease, bound: Bound) -> None:
        try:
            if not quiet:
                for sentence in start_sentences(lease, bound, options.request.cpus, explain=explain):
                    warn(sentence)
        except OSError:
            # A command does not fail because nobody listens to what is said about it. Signals are blocked here: that
            # of the closed pipe would be kept, and passed on to the command.
            signal.sigtimedwait([signal.SIGPIPE], 0)
        _settle()

    status = run_leased(
        session, got, target, command, environment, watcher=watcher, strict=strict, report=report, grace=grace
    )
    return finish(status)


def _settle() -> None:
    """From here on it waits, perhaps for days; what is loaded is no garbage."""
    gc.freeze()
    gc.enable()


def _environment(session: Session, lease: Lease, cpus: int, *, omp: bool) -> dict[str, str]:
    ours = lease_variables(lease, cpus, session.host.cores if omp else (), omp=omp)
    # The job's own numafit commands mean the same ledger, and a ledger that is made anew knows its jobs by it.
    ours[VARIABLE] = str(session.folder.absolute())
    ours[HOST] = os.uname().nodename
    environment, notes = merged(os.environ, ours)
    for note in notes:
        warn(note)
    return environment
