"""`numafit run`: a command on free and aligned CPUs, memory and devices, held for as long as it runs."""

import os
import shlex
import signal
from collections.abc import Sequence

import click

from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.cli.host.refusal import refuse
from numafit.cli.host.waiting import take
from numafit.cli.options.lease import LeaseOptions, lease_options, limited, seconds_of, time_options
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import warn
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

LINES = ("numactl", "docker", "systemd", "env")


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  numafit run --cpus 8 --memory 32Gi --gpus 2 -- python train.py
  numafit run --cpus 4 --policy single-numa-node --wait=10m -- make -j4
  numafit run --cpus 8 --time 8h --grace 2m -- ./solver
  numafit run --shared -- ./notebook.sh
  numafit run --cpus 8 --omp -- ./openmp-solver
  numafit run --gpus 8 --ranks 8 --cpus-per-rank 4 -- torchrun ... numafit rank -- train.sh
  numafit run --cpus 8 --gpus 2 --dry-run
  numafit run --cpus 8 --print numactl -- ./solver""",
)
@lease_options
@time_options
@click.option("--shared", is_flag=True, help="Run in what nobody holds exclusively, and follow it when it changes.")
@click.option("--strict", is_flag=True, help="Fail when the job cannot be held by a cpuset.")
@click.option("--no-env", is_flag=True, help="Set no variables for the command.")
@click.option("--omp", is_flag=True, help="Pin each thread of one OpenMP program: OMP_PLACES and GOMP_CPU_AFFINITY.")
@click.option("--explain", is_flag=True, help="Say why it was placed there.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when all goes well.")
@click.option("--dry-run", is_flag=True, help="Print the plan; take and start nothing.")
@click.option("--print", "line", type=OneOf(LINES), help="Print a line for another tool; take nothing.")
@click.option("--machine", "specs", multiple=True, metavar="SPEC", help="With --dry-run or --print: another box.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", help="With --dry-run.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(
    lease_options: LeaseOptions,
    time_limit: str | None,
    grace: str | None,
    shared: bool,
    strict: bool,
    no_env: bool,
    omp: bool,
    explain: bool,
    quiet: bool,
    dry_run: bool,
    line: str | None,
    specs: Sequence[str],
    output: str,
    command: Sequence[str],
) -> int:
    """Run COMMAND on CPUs, memory and devices that are free and near each other, and hold them while it runs.

    Without --cpus it runs in the shared pool. Exclusive CPUs are whole cores. Where GPUs lie on several NUMA nodes,
    CPUs and memory go to each of these in proportion, and with --ranks each process has a part of its own. The command
    gets its signals, terminal and exit status as if numafit were not there. What it was bound with is told on standard
    error: a cgroup or a systemd scope where that may be made, else CPU affinity and memory policy.

    Exit status: that of the command; 75 when what was asked for is not free or cannot be aligned; 126 and 127 when the
    command cannot be started; 2 bad input.
    """
    lease_options = limited(lease_options, time_limit)
    grace_seconds = seconds_of(grace, "--grace")
    request = lease_options.request
    if shared and request.cpus:
        raise InputError("shared work has no CPUs of its own", source="--cpus", cure="leave --cpus or --shared away")
    planning = dry_run or line is not None
    if specs and not planning:
        raise InputError("goes with --dry-run or --print only", source="--machine")
    if not command and (not planning or line in ("numactl", "systemd")):
        raise InputError("no command to run", cure="write it after --, like numafit run --cpus 2 -- make")
    _check_omp(omp, no_env, request.cpus)
    if planning:
        from numafit.cli.host.plan import show_job_plan

        return show_job_plan(lease_options, specs, line, output, command, explain=explain, omp=omp)
    if note := launcher_note(command, several=bool(request.ranks) or sum(request.devices.values()) > 1):
        warn(note)
    quiet = quiet and not explain
    devices = bool(request.devices) and not has_lease()
    session = open_session(lease_options.folder, warn, devices=devices, quiet=quiet)
    if request.memory and not quiet:
        for note in session.host.notes:
            warn(note)
    return _run(
        session,
        lease_options,
        command,
        strict=strict,
        no_env=no_env,
        omp=omp,
        explain=explain,
        quiet=quiet,
        grace=GRACE if grace_seconds is None else grace_seconds,
    )


def _check_omp(omp: bool, no_env: bool, cpus: int) -> None:
    if omp and not cpus:
        raise InputError("CPUs of the shared pool come and go", source="--omp", cure="ask for some with --cpus")
    if omp and no_env:
        raise InputError("is done by variables", source="--omp", cure="leave --no-env or --omp away")


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
        look_around(book, session.host, warn)
        got = take(session, book, options, caller([watcher], shlex.join(command)), quiet=quiet)
    if isinstance(got, Refused):
        return refuse(options, got)
    target = target_of(session, got)
    environment = dict(os.environ) if no_env else _environment(session, got, target.cpus, omp=omp)

    def report(lease: Lease, bound: Bound) -> None:
        try:
            if not quiet:
                _report(lease, bound, options.request.cpus, explain=explain)
        except OSError:
            # A command does not fail because nobody listens to what is said about it. Signals are blocked here: that
            # of the closed pipe would be kept, and passed on to the command.
            signal.sigtimedwait([signal.SIGPIPE], 0)

    status = run_leased(
        session, got, target, command, environment, watcher=watcher, strict=strict, report=report, grace=grace
    )
    return finish(status)


def _environment(session: Session, lease: Lease, cpus: int, *, omp: bool) -> dict[str, str]:
    ours = lease_variables(lease, cpus, session.host.cores, omp=omp)
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
