"""`numafit run --dry-run` and `--print`: the plan, as words, as JSON, or as a line for another tool."""

from collections.abc import Mapping, Sequence

import click
import msgspec

from numafit.cli.output import warn
from numafit.host.book import Refused, sentence_about, sentence_of
from numafit.host.environment import LEASE
from numafit.host.equivalent import LINES, env_lines
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.lease_variables import lease_variables
from numafit.host.place import Placed, place
from numafit.host.pool import shared_cpus
from numafit.host.request import Request
from numafit.host.session import Here
from numafit.machine.bits import cpuset_text, mask_of
from numafit.quantity import Quantity


def show_plan(
    here: Here,
    request: Request,
    specs: Sequence[str],
    line: str | None,
    output: str,
    command: Sequence[str],
    *,
    explain: bool,
) -> int:
    """For another machine nobody holds anything."""
    host, leases = _stage(here, specs)
    placed = place(host, leases, request)
    if not placed.admitted:
        from numafit.cli.run import REFUSED

        warn(f"no lease for {request.words()}: {sentence_of(Refused(placed))}")
        return REFUSED
    lease = _planned(placed)
    cpus = placed.exclusive or shared_cpus(host, leases, lease)
    variables = lease_variables(lease, cpus, host.cores)
    # Who exports them holds nothing: a process with this one would be taken for a part of a job.
    del variables[LEASE]
    if line == "env":
        click.echo(env_lines(variables))
    elif line is not None:
        click.echo(LINES[line]((cpus, placed.mems, placed.devices, request.memory), command))
    elif output == "json":
        click.echo(_json(placed, cpus, variables))
    else:
        click.echo(_text(placed, cpus, explain=explain))
    if line is not None:
        warn("nothing is held: another job may get the same CPUs and devices")
    return 0


def _stage(here: Here, specs: Sequence[str]) -> tuple[Host, list[Lease]]:
    if specs:
        from numafit.cli.machine_option import resolve_machine

        return Host(resolve_machine(specs).machine), []
    with here.book() as book:
        return here.host, book.leases()


def _planned(placed: Placed) -> Lease:
    return Lease(
        "planned",
        placed.request.name,
        0,
        "",
        0.0,
        exclusive=placed.exclusive,
        nodes=placed.nodes,
        mems=placed.mems,
        memory=placed.memory,
        devices=placed.devices,
    )


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
