"""`numafit docker plan`: the options for Docker, and the review of a script, as text and as JSON."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec

from numafit.cli.inputs import read_text
from numafit.cli.lease_options import LeaseOptions
from numafit.cli.output import warn
from numafit.cli.run_plan import stage
from numafit.errors import InputError
from numafit.host.book import Refused
from numafit.host.docker_flags import DockerRun, docker_lines
from numafit.host.docker_options import check_gpu_names
from numafit.host.docker_plan import Plan, Review, Written, equivalent, plan_for, review
from numafit.machine.bits import cpuset_text, mask_of


def show_plan(options: LeaseOptions, run: DockerRun, words: Sequence[str], specs: Sequence[str], output: str) -> int:
    host, leases = stage(options, specs)
    check_gpu_names(options.request, host.machine)
    planned = plan_for(host, leases, options.request, run)
    if isinstance(planned, Refused):
        from numafit.cli.run import refuse

        return refuse(options, planned)
    for note in planned.added.notes:
        warn(note)
    if output == "json":
        click.echo(_json(_plan_record(planned)))
    else:
        click.echo(shlex.join([*(["docker", "run"] if run.image else []), *planned.added.flags, *words]))
    return 0


def show_review(options: LeaseOptions, file: Path, specs: Sequence[str], output: str) -> int:
    host, leases = stage(options, specs)
    lines = docker_lines(read_text(file), str(file))
    if not lines:
        raise InputError("has no `docker run` line", source=str(file))
    reviews = review(host, leases, lines)
    if output == "json":
        click.echo(_json({"lines": [_review_record(one) for one in reviews]}))
    else:
        click.echo("\n\n".join(_review_text(one, str(file)) for one in reviews))
    return 1 if any(one.faulty for one in reviews) else 0


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def _plan_record(plan: Plan) -> dict[str, object]:
    lease = plan.lease
    return {
        "flags": plan.added.flags,
        "notes": plan.added.notes,
        "cpus": cpuset_text(plan.cpus),
        "exclusive": bool(lease.exclusive),
        "nodes": cpuset_text(lease.nodes),
        "mems": cpuset_text(lease.mems),
        "memory": lease.memory,
        "devices": lease.devices,
    }


def _review_record(one: Review) -> Mapping[str, object]:
    return {
        "line": one.line.number,
        "name": one.line.run.value("name") or "",
        "image": one.line.run.image,
        "wanted": one.written.request,
        "faults": one.written.faults,
        "clashes": one.clashes,
        "refused": one.refused,
        "plan": _plan_record(one.plan) if one.plan is not None else None,
        "command": shlex.join(equivalent(one.written, one.line.run)),
    }


def _review_text(one: Review, file: str) -> str:
    name = one.line.run.value("name") or one.line.run.image
    rows = [("as written", _written_text(one.written))]
    rows += [("wrong", fault) for fault in (*one.written.faults, *one.clashes)]
    if one.plan is not None:
        rows.append(("numafit adds", shlex.join(one.plan.added.flags)))
    else:
        rows.append(("refused", one.refused))
    rows.append(("run it as", shlex.join(equivalent(one.written, one.line.run))))
    width = max(len(title) for title, _ in rows)
    body = "\n".join(f"  {title.ljust(width)}  {text}" for title, text in rows)
    return f"{file}:{one.line.number}: {name}: {one.written.request.words()}\n{body}"


def _written_text(written: Written) -> str:
    parts = [f"CPUs {cpuset_text(written.cpus)}" if written.cpus else "any CPUs"]
    parts.append(f"memory of node {cpuset_text(written.mems)}" if written.mems else "memory of any node")
    for gpu in written.gpus:
        node = cpuset_text(mask_of(gpu.numa or ()))
        parts.append(f"{gpu.label or gpu.id}" + (f" (node {node})" if node else ""))
    return ", ".join(parts)
