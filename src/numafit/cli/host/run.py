"""`numafit run`: a command on free and aligned CPUs, memory and devices, held for as long as it runs."""

import os
import shlex
import signal
from collections.abc import Sequence

import click

from numafit.bits import cpuset_text
from numafit.cli.host.refusal import refuse
from numafit.cli.options.lease import LeaseOptions, lease_options
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import warn
from numafit.errors import InputError
from numafit.host.bind.target import CPUSET_RUNGS, Bound
from numafit.host.book.book import caller
from numafit.host.book.folder import VARIABLE
from numafit.host.book.queue import take
from numafit.host.environment import lease_variables, merged
from numafit.host.grant import Refused
from numafit.host.lease import Lease
from numafit.host.process.identity import identify
from numafit.host.run.command import run_leased, target_of
from numafit.host.run.supervise import finish
from numafit.host.session import Session, open_session

LINES = ("numactl", "docker", "systemd", "env")


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  numafit run --cpus 8 --memory 32Gi --gpus 2 -- python train.py
  numafit run --cpus 4 --policy single-numa-node --wait=10m -- make -j4
  numafit run --shared -- ./notebook.sh
  numafit run --cpus 8 --gpus 2 --dry-run
  numafit run --cpus 8 --print numactl -- ./solver""",
)
@lease_options
@click.option("--shared", is_flag=True, help="Run in what nobody holds exclusively, and follow it when it changes.")
@click.option("--strict", is_flag=True, help="Fail when the job cannot be held by a cpuset.")
@click.option("--no-env", is_flag=True, help="Set no variables for the command.")
@click.option("--explain", is_flag=True, help="Say why it was placed there.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when all goes well.")
@click.option("--dry-run", is_flag=True, help="Print the plan; take and start nothing.")
@click.option("--print", "line", type=OneOf(LINES), help="Print a line for another tool; take nothing.")
@click.option("--machine", "specs", multiple=True, metavar="SPEC", help="With --dry-run or --print: another box.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", help="With --dry-run.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(
    lease_options: LeaseOptions,
    shared: bool,
    strict: bool,
    no_env: bool,
    explain: bool,
    quiet: bool,
    dry_run: bool,
    line: str | None,
    specs: Sequence[str],
    output: str,
    command: Sequence[str],
) -> int:
    """Run COMMAND on CPUs, memory and devices that are free and near each other, and hold them while it runs.

    Without --cpus it runs in the shared pool. The command gets its signals, terminal and exit status as if numafit were
    not there. What it was bound with is told on standard error: a cgroup or a systemd scope where that may be made,
    else CPU affinity and memory policy.

    Exit status: that of the command; 75 when what was asked for is not free or cannot be aligned; 126 and 127 when the
    command cannot be started; 2 bad input.
    """
    request = lease_options.request
    if shared and request.cpus:
        raise InputError("shared work has no CPUs of its own", source="--cpus", cure="leave --cpus or --shared away")
    planning = dry_run or line is not None
    if specs and not planning:
        raise InputError("goes with --dry-run or --print only", source="--machine")
    if not command and (not planning or line in ("numactl", "systemd")):
        raise InputError("no command to run", cure="write it after --, like numafit run --cpus 2 -- make")
    if planning:
        from numafit.cli.host.plan import show_job_plan

        return show_job_plan(lease_options, specs, line, output, command, explain=explain)
    session = open_session(lease_options.folder, warn, devices=bool(request.devices))
    quiet = quiet and not explain
    return _run(session, lease_options, command, strict=strict, no_env=no_env, explain=explain, quiet=quiet)


def _run(
    session: Session,
    options: LeaseOptions,
    command: Sequence[str],
    *,
    strict: bool,
    no_env: bool,
    explain: bool,
    quiet: bool,
) -> int:
    watcher = identify(os.getpid())
    assert watcher is not None
    with session.book() as book:
        got = take(book, session.host, options.request, caller([watcher], shlex.join(command)), options.wait)
    if isinstance(got, Refused):
        return refuse(options, got)
    target = target_of(session, got)
    environment = dict(os.environ) if no_env else _environment(session, got, target.cpus)

    def report(lease: Lease, bound: Bound) -> None:
        try:
            if not quiet:
                _report(lease, bound, explain=explain)
        except OSError:
            # A command does not fail because nobody listens to what is said about it. Signals are blocked here: that
            # of the closed pipe would be kept, and passed on to the command.
            signal.sigtimedwait([signal.SIGPIPE], 0)

    status = run_leased(session, got, target, command, environment, watcher=watcher, strict=strict, report=report)
    return finish(status)


def _environment(session: Session, lease: Lease, cpus: int) -> dict[str, str]:
    ours = lease_variables(lease, cpus, session.host.cores)
    # The job's own numafit commands mean the same ledger, and a ledger that is made anew knows its jobs by it.
    ours[VARIABLE] = str(session.folder.absolute())
    environment, notes = merged(os.environ, ours)
    for note in notes:
        warn(note)
    return environment


def _report(lease: Lease, bound: Bound, *, explain: bool) -> None:
    parts = [f"CPUs {cpuset_text(bound.cpus)}" + (" of the shared pool" if lease.pooled else "")]
    parts.append(f"memory of node {cpuset_text(bound.mems)}" if bound.mems else "memory from anywhere")
    parts += [device for ids in lease.devices.values() for device in ids]
    how = f"{bound.rung} ({bound.memory_policy})" if bound.memory_policy else bound.rung
    warn(f"lease {lease.id}: {', '.join(parts)}; bound by {how}")
    if explain:
        warn(lease.sentence)
    # A stronger binding may be had by another user or on another host; who asks for reasons wants all of them.
    if bound.rung not in CPUSET_RUNGS or explain:
        for reason in bound.skipped:
            warn(f"not bound by {reason}")
