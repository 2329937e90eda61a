"""`numafit docker run`: a container under a lease, as `docker run` starts it."""

import os
import shlex
from collections.abc import Sequence

import click
from msgspec.structs import replace

from numafit.cli.host.refusal import refuse
from numafit.cli.host.waiting import back_from_waiting, take
from numafit.cli.options.asked import LeaseOptions, limited, seconds_of
from numafit.cli.options.lease import lease_options, time_options
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.book.book import caller
from numafit.host.docker.command_line import parse_docker_run
from numafit.host.docker.engine import local_engine, local_podman
from numafit.host.docker.options import check_gpu_names, check_options
from numafit.host.grant import Refused
from numafit.host.lease import PENDING, Lease
from numafit.host.process.identity import identify
from numafit.host.run.adopt import adopted_text
from numafit.host.run.container import run_container
from numafit.host.run.ending import GRACE
from numafit.host.run.supervise import finish
from numafit.host.session import look_around, open_session


@click.command(
    context_settings={"allow_interspersed_args": False},
    short_help="Start a container under a lease.",
    epilog="""\b
Examples:
  numafit docker run --cpus 8 --memory 32Gi --gpus 2 -- --rm -it pytorch python train.py
  numafit docker run --cpus 4 --wait=10m -- -d --name web --restart unless-stopped nginx
  numafit docker run --cpus 8 --gpus 2 --dry-run -- pytorch""",
)
@lease_options
@time_options
@click.option("--no-env", is_flag=True, help="Give the container no NUMAFIT_ variables.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when all goes well.")
@click.option("--dry-run", is_flag=True, help="Print the docker command; take and start nothing.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- [DOCKER RUN OPTIONS] IMAGE [COMMAND]...")
def run(
    lease_options: LeaseOptions,
    time_limit: str | None,
    grace: str | None,
    no_env: bool,
    quiet: bool,
    dry_run: bool,
    words: Sequence[str],
) -> int:
    """Start a container under a lease, as `docker run` does.

    numafit adds --cpuset-cpus, --gpus, labels, with --memory also --cpuset-mems and --memory, and for several GPUs
    --shm-size. The lease lives as long as the container, also with -d and after a restart of the Docker engine.
    Signals, terminal and exit status are those of the docker command. Without --cpus the container runs in the shared
    pool, and is moved when that changes.

    Exit status: that of docker; 75 when what was asked for is not free or cannot be aligned; 2 bad input, or options
    for Docker that contradict the lease.
    """
    lease_options = limited(lease_options, time_limit)
    seconds = seconds_of(grace, "--grace")
    return start_container("docker", lease_options, words, no_env=no_env, quiet=quiet, dry_run=dry_run, grace=seconds)


def start_container(
    client: str,
    lease_options: LeaseOptions,
    words: Sequence[str],
    *,
    no_env: bool,
    quiet: bool,
    dry_run: bool,
    grace: float | None = None,
) -> int:
    """`client` is docker or podman."""
    wanted = parse_docker_run(words)
    if lease_options.request.seconds and wanted.is_on("detach"):
        cure = "leave -d away, or start the container with `timeout` in front of its command"
        raise InputError("nobody stays with a detached container to end it", source="--time", cure=cure)
    check_options(wanted, lease_options.request)
    if dry_run:
        from numafit.cli.host.docker.plan import show_docker_plan

        return show_docker_plan(lease_options, wanted, words, (), "text", client)
    address = local_podman() if client == "podman" else local_engine()
    request = replace(lease_options.request, name=lease_options.request.name or wanted.value("name") or "")
    back = back_from_waiting(lease_options)
    told = quiet or back is not None
    session = open_session(lease_options.folder, warn, devices=bool(request.devices), quiet=told)
    check_gpu_names(request, session.host.machine)
    watcher = identify(os.getpid())
    assert watcher is not None
    text = shlex.join([client, "run", wanted.image, *wanted.command])
    owner = replace(caller([watcher], text), container=PENDING)
    with session.book() as book:
        look_around(book, session.host, warn)
        got = take(session, book, replace(lease_options, request=request), owner, quiet=quiet, back=back)
    if isinstance(got, Refused):
        return refuse(lease_options, got)

    late: list[str] = []

    def report(lease: Lease) -> None:
        if lease.notes:
            # A terminal that the container has is not to be written into.
            (late.append if wanted.is_on("tty") else warn)(f"lease {lease.id}: {'; '.join(lease.notes)}")
        elif lease.rung and not quiet and not wanted.is_on("tty"):
            warn(
                f"lease {lease.id}: {adopted_text(lease)}; bound by {client.title()}, container {lease.container[:12]}"
            )

    status = run_container(
        session,
        got,
        wanted,
        words,
        address=address,
        variables=not no_env,
        watcher=watcher,
        report=report,
        grace=GRACE if grace is None else grace,
    )
    for text in late:
        warn(text)
    return finish(status)
