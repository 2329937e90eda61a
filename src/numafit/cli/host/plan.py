"""Plans that take nothing: `numafit run --dry-run` and `--print`."""

import shlex
from collections.abc import Sequence

import click

from numafit.cli.host.refusal import REFUSED
from numafit.cli.options.asked import LeaseOptions
from numafit.cli.options.machine import resolve_machine
from numafit.cli.terminal import answer, this_screen
from numafit.cli.warning import warn
from numafit.host.environment import CUDA, LEASE, lease_variables, nvidia_gpus
from numafit.host.grant import PlannedLease, Refused, planned_lease, sentence_of
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.show.json import json_text
from numafit.show.records.plan import job_plan_record
from numafit.show.text.plan import TOOL_LINES, env_lines, plan_text


def show_job_plan(
    options: LeaseOptions,
    specs: Sequence[str],
    line: str | None,
    output: str,
    command: Sequence[str],
    *,
    explain: bool,
    omp: bool,
) -> int:
    host, leases = planning_host(options, specs, devices=bool(options.request.devices))
    plan = planned_lease(host, leases, options.request)
    if isinstance(plan, Refused):
        warn(f"no lease for {options.request.words()}: {sentence_of(plan)}")
        return REFUSED
    for remark in (*(host.usage.unseen if host.usage is not None else ()), *plan.placed.remarks):
        warn(remark)
    variables = lease_variables(plan.lease, plan.cpus, host.cores, omp=omp)
    # Who exports them holds nothing: a process with this one would be taken for a part of a job.
    del variables[LEASE]
    if line == "env":
        click.echo(env_lines(variables))
    elif line == "docker":
        click.echo(_docker_line(plan, host, command))
    elif line is not None:
        gpus = [f"{CUDA}={variables[CUDA]}"] if CUDA in variables else []
        click.echo(" ".join([*gpus, TOOL_LINES[line](plan.cpus, plan.lease, command)]))
        if unnamed := _unnamed(plan, gpus=not gpus):
            warn(f"this line does not give it {unnamed}: the command has to be told to use {_it(unnamed)}")
    elif output == "json":
        click.echo(json_text(job_plan_record(plan.placed, plan.cpus, variables)))
    else:
        screen = this_screen()
        answer(plan_text(plan.placed, plan.cpus, explain=explain, screen=screen), screen)
    if line in ("numactl", "env") and plan.lease.limit_memory:
        warn("this line does not limit its memory: --print systemd and --print docker do")
    if line is not None:
        warn("nothing is held: another job may get the same CPUs and devices")
    return 0


def _unnamed(plan: PlannedLease, *, gpus: bool) -> str:
    """The devices of the plan that a line for another tool says nothing of."""
    shown = set() if gpus else set(nvidia_gpus(plan.lease.devices))
    ids = [one for ids in plan.lease.devices.values() for one in ids if one.partition("::")[0] not in shown]
    return ", ".join(ids)


def _it(names: str) -> str:
    return "them" if "," in names else "it"


def planning_host(options: LeaseOptions, specs: Sequence[str], *, devices: bool = True) -> tuple[Host, list[Lease]]:
    """What is planned on: this host with what is held now, or another machine, of which nobody holds anything and for
    which no ledger is needed."""
    if specs:
        return Host(resolve_machine(specs).machine), []
    from numafit.host.session import has_ledger, open_session
    from numafit.host.this_machine import looked_at

    session = open_session(options.folder, warn, devices=devices)
    if options.request.memory:
        for note in session.host.notes:
            warn(note)
    if not has_ledger(session.folder):
        return looked_at(session.host, options.request), []
    with session.book() as book:
        return looked_at(session.host, options.request), book.leases()


def _docker_line(plan: PlannedLease, host: Host, words: Sequence[str]) -> str:
    """As `numafit docker plan` has it; `words` are options for Docker, the image and its command."""
    from numafit.host.docker.command_line import DockerRun, parse_docker_run
    from numafit.host.docker.options import placement_flags

    run = parse_docker_run(words) if words else DockerRun((), "")
    added = placement_flags(plan.lease, plan.cpus, host.machine, run)
    for note in added.notes:
        warn(note)
    return shlex.join(["docker", "run", *added.flags, *words])
