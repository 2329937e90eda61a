"""`numafit docker plan`: the options for Docker as a line to paste, and a review of the lines of a script."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from numafit.cli.files import read_text
from numafit.cli.host.plan import planning_host
from numafit.cli.host.refusal import refuse
from numafit.cli.options.answer import check_option
from numafit.cli.options.asked import LeaseOptions
from numafit.cli.options.lease import lease_options
from numafit.cli.options.machine import machine_option
from numafit.cli.options.one_of import OneOf
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.docker.command_line import DockerRun, docker_lines, parse_docker_run, unread_lines
from numafit.host.docker.options import check_gpu_names, check_options
from numafit.host.docker.plan import plan_for, review
from numafit.host.grant import Refused
from numafit.show.json import json_text
from numafit.show.records.docker import docker_plan_record, review_record
from numafit.show.text.docker import review_text


@click.command(
    context_settings={"allow_interspersed_args": False},
    short_help="Print the options for Docker; take nothing.",
    epilog="""\b
Examples:
  numafit docker plan --cpus 8 --gpus 2
  numafit docker plan --cpus 8 --gpus 2 --machine dgx-h100 -- -d training
  numafit docker plan --file start.sh --machine box.yaml""",
)
@lease_options
@machine_option
@click.option("--file", "file", type=click.Path(path_type=Path), help="Review the `docker run` lines of a script.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
@check_option("something is wrong with a line of --file")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- DOCKER RUN OPTIONS IMAGE [COMMAND]...]")
def plan(
    lease_options: LeaseOptions,
    specs: Sequence[str],
    file: Path | None,
    output: str,
    check: bool,
    words: Sequence[str],
) -> int:
    """Print the options that `numafit docker run` would give to Docker, as a line to paste; take nothing.

    With --file, each `docker run` line of a script is compared with the machine: what is wrong with it as it stands,
    what it shares with lines before it, and what numafit would make of it.

    Exit status: 0; 75 when what was asked for is not free or cannot be aligned; with --file and --check 1 when
    something is wrong with a line; 2 bad input.
    """
    if file is not None:
        if words or lease_options.request.holds:
            raise InputError("the lines of the file say what is wanted", source="--file", cure="leave the rest away")
        return 1 if show_review(lease_options, file, specs, output) and check else 0
    if check:
        raise InputError("goes with --file only", source="--check")
    wanted = parse_docker_run(words) if words else DockerRun((), "")
    check_options(wanted, lease_options.request)
    return show_docker_plan(lease_options, wanted, words, specs, output)


def show_docker_plan(
    options: LeaseOptions,
    run: DockerRun,
    words: Sequence[str],
    specs: Sequence[str],
    output: str,
    client: str = "docker",
) -> int:
    host, leases = planning_host(options, specs)
    check_gpu_names(options.request, host.machine)
    planned = plan_for(host, leases, options.request, run, client)
    if isinstance(planned, Refused):
        return refuse(options, planned)
    for note in planned.added.notes:
        warn(note)
    if output == "json":
        click.echo(json_text(docker_plan_record(planned)))
    else:
        click.echo(shlex.join([*([client, "run"] if run.image else []), *planned.added.flags, *words]))
    return 0


def show_review(options: LeaseOptions, file: Path, specs: Sequence[str], output: str) -> bool:
    """Whether something is wrong with a line."""
    host, leases = planning_host(options, specs)
    text = read_text(file)
    lines = docker_lines(text, str(file))
    unread = unread_lines(text)
    for number, line in unread:
        warn(f"{file}:{number}: not read: {line[:80]} (only a line that begins with `docker run` is)")
    if not lines:
        raise InputError(f"has no `docker run` line{' that can be read' if unread else ''}", source=str(file))
    reviews = review(host, leases, lines, str(file))
    for one in reviews:
        for name, value in one.written.unknown.items():
            warn(f"{file}:{one.line.number}: --{name} {value[:40]} is not known here, and left out of the plan")
    if output == "json":
        click.echo(json_text(review_record(reviews)))
    else:
        # Not folded: there are commands in it, to be copied.
        click.echo("\n\n".join(review_text(one, str(file)) for one in reviews))
    return any(one.faulty for one in reviews)
