"""`numafit run --dry-run` and `--print`: the plan, as words, as JSON, or as a line for another tool."""

from collections.abc import Mapping, Sequence

import click
import msgspec

from numafit.cli.lease_options import LeaseOptions
from numafit.cli.output import warn
from numafit.host.book import Refused, sentence_about, sentence_of
from numafit.host.environment import LEASE
from numafit.host.equivalent import LINES, env_lines
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.lease_variables import lease_variables
from numafit.host.place import Placed
from numafit.host.planned import Planned, planned
from numafit.machine.bits import cpuset_text, mask_of
from numafit.quantity import Quantity


def show_plan(
    options: LeaseOptions,
    specs: Sequence[str],
    line: str | None,
    output: str,
    command: Sequence[str],
    *,
    explain: bool,
) -> int:
    host, leases = stage(options, specs, devices=bool(options.request.devices))
    plan = planned(host, leases, options.request)
    if isinstance(plan, Refused):
        from numafit.cli.run import REFUSED

        warn(f"no lease for {options.request.words()}: {sentence_of(plan)}")
        return REFUSED
    variables = lease_variables(plan.lease, plan.cpus, host.cores)
    # Who exports them holds nothing: a process with this one would be taken for a part of a job.
    del variables[LEASE]
    if line == "env":
        click.echo(env_lines(variables))
    elif line == "docker":
        click.echo(_docker_line(plan, host, command))
    elif line is not None:
        click.echo(LINES[line](plan.cpus, plan.lease.mems, command))
    elif output == "json":
        click.echo(_json(plan.placed, plan.cpus, variables))
    else:
        click.echo(_text(plan.placed, plan.cpus, explain=explain))
    if line is not None:
        warn("nothing is held: another job may get the same CPUs and devices")
    return 0


def stage(options: LeaseOptions, specs: Sequence[str], *, devices: bool = True) -> tuple[Host, list[Lease]]:
    """What is planned on: this host with what is held now, or another machine, of which nobody holds anything and for
    which no ledger is needed."""
    if specs:
        from numafit.cli.machine_option import resolve_machine

        return Host(resolve_machine(specs).machine), []
    from numafit.host.session import here

    place = here(options.folder, warn, devices=devices)
    with place.book() as book:
        return place.host, book.leases()


def _docker_line(plan: Planned, host: Host, words: Sequence[str]) -> str:
    """As `numafit docker plan` has it; `words` are options for Docker, the image and its command."""
    import shlex

    from numafit.host.docker_flags import DockerRun, parse_docker_run
    from numafit.host.docker_options import placement_flags

    run = parse_docker_run(words) if words else DockerRun((), "")
    added = placement_flags(plan.lease, plan.cpus, host.machine, run)
    for note in added.notes:
        warn(note)
    return shlex.join(["docker", "run", *added.flags, *words])


def _text(placed: Placed, cpus: int, *, explain: bool) -> str:
    kind = "exclusive" if placed.exclusive else "shared"
    rows = [
        ("CPUs", f"{cpuset_text(cpus)} ({cpus.bit_count()}, {kind})"),
        ("NUMA nodes", cpuset_text(placed.nodes) or "any"),
        ("memory", _memory(placed)),
    ]
    rows += [(resource, ", ".join(ids)) for resource, ids in placed.devices.items()]
    rows.append(("aligned", "yes" if placed.decision.containers["lease"].affinity[1] else "no: it crosses NUMA nodes"))
    if explain:
        rows.append(("why", sentence_about(placed)))
        if placed.gpu_reason:
            rows.append(("GPUs", placed.gpu_reason))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in rows)


def _memory(placed: Placed) -> str:
    if not placed.memory:
        return f"not held, from node {cpuset_text(placed.mems)}"
    return ", ".join(
        f"{Quantity(block.size, 0, 'BinarySI')} on node {cpuset_text(mask_of(block.numa))}" for block in placed.memory
    )


def _json(placed: Placed, cpus: int, variables: Mapping[str, str]) -> str:
    value = {
        "cpus": cpuset_text(cpus),
        "exclusive": bool(placed.exclusive),
        "nodes": cpuset_text(placed.nodes),
        "mems": cpuset_text(placed.mems),
        "memory": placed.memory,
        "devices": placed.devices,
        "aligned": placed.decision.containers["lease"].affinity[1],
        "sentence": sentence_about(placed),
        "gpuReason": placed.gpu_reason,
        "environment": variables,
    }
    return msgspec.json.format(msgspec.json.encode(value)).decode()
