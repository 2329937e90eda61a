"""`numafit docker`: containers on CPUs, memory and GPUs that are held for them."""

from collections.abc import Sequence
from pathlib import Path

import click

from numafit.cli.options.lease import LeaseOptions, lease_options
from numafit.cli.options.machine import machine_option
from numafit.cli.terminal import warn
from numafit.errors import InputError

REMOTE = ("tcp://", "http://", "https://", "ssh://")
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@click.group(
    epilog="""\b
Examples:
  numafit docker run --cpus 8 --gpus 2 -- --rm pytorch python train.py
  numafit docker plan --machine dgx-a100 --cpus 8 --gpus 2 -- pytorch
  numafit docker adopt web --cpus 4""",
)
def docker() -> None:
    """Run containers on CPUs, memory and GPUs that are free and near each other, and hold them while they live."""


@docker.command(
    context_settings={"allow_interspersed_args": False},
    short_help="Start a container under a lease.",
    epilog="""\b
Examples:
  numafit docker run --cpus 8 --memory 32Gi --gpus 2 -- --rm -it pytorch python train.py
  numafit docker run --cpus 4 --wait=10m -- -d --name web --restart unless-stopped nginx
  numafit docker run --cpus 8 --gpus 2 --dry-run -- pytorch""",
)
@lease_options
@click.option("--no-env", is_flag=True, help="Give the container no NUMAFIT_ variables.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when all goes well.")
@click.option("--dry-run", is_flag=True, help="Print the docker command; take and start nothing.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- [DOCKER RUN OPTIONS] IMAGE [COMMAND]...")
def run(lease_options: LeaseOptions, no_env: bool, quiet: bool, dry_run: bool, words: Sequence[str]) -> int:
    """Start a container under a lease, as `docker run` does.

    numafit adds --cpuset-cpus, --cpuset-mems, --gpus, --memory, labels and, for several GPUs, --shm-size. The lease
    lives as long as the container, also with -d and after a restart of the Docker engine. Signals, terminal and exit
    status are those of the docker command. Without --cpus the container runs in the shared pool, and is moved when
    that changes.

    Exit status: that of docker; 75 when what was asked for is not free or cannot be aligned; 2 bad input, or options
    for Docker that contradict the lease.
    """
    import os
    import shlex

    from msgspec.structs import replace

    from numafit.cli.host.run import refuse
    from numafit.host.book.book import caller
    from numafit.host.book.queue import take
    from numafit.host.book.strays import reenter, stray_text
    from numafit.host.docker.command_line import parse_docker_run
    from numafit.host.docker.options import check_gpu_names, check_options
    from numafit.host.grant import Refused
    from numafit.host.lease import PENDING, Lease
    from numafit.host.process.identity import identify
    from numafit.host.run.container import run_container
    from numafit.host.run.supervise import finish
    from numafit.host.session import here

    wanted = parse_docker_run(words)
    check_options(wanted, lease_options.request)
    if dry_run:
        from numafit.cli.host.plan import show_docker_plan

        return show_docker_plan(lease_options, wanted, words, (), "text")
    address = local_engine()
    request = replace(lease_options.request, name=lease_options.request.name or wanted.value("name") or "")
    place = here(lease_options.folder, warn, devices=bool(request.devices))
    check_gpu_names(request, place.host.machine)
    watcher = identify(os.getpid())
    assert watcher is not None
    text = shlex.join(["docker", "run", wanted.image, *wanted.command])
    owner = replace(caller([watcher], text), container=PENDING)
    with place.book() as book:
        for stray in reenter(book):
            warn(stray_text(stray))
        got = take(book, place.host, request, owner, lease_options.wait)
    if isinstance(got, Refused):
        return refuse(lease_options, got)

    late: list[str] = []

    def report(lease: Lease) -> None:
        from numafit.host.run.adopt import adopted_text

        if lease.notes:
            # A terminal that the container has is not to be written into.
            (late.append if wanted.is_on("tty") else warn)(f"lease {lease.id}: {'; '.join(lease.notes)}")
        elif lease.rung and not quiet and not wanted.is_on("tty"):
            warn(f"lease {lease.id}: {adopted_text(lease)}; bound by Docker, container {lease.container[:12]}")

    status = run_container(
        place, got, wanted, words, address=address, variables=not no_env, watcher=watcher, report=report
    )
    for text in late:
        warn(text)
    return finish(status)


@docker.command(
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
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- DOCKER RUN OPTIONS IMAGE [COMMAND]...]")
def plan(
    lease_options: LeaseOptions, specs: Sequence[str], file: Path | None, output: str, words: Sequence[str]
) -> int:
    """Print the options that `numafit docker run` would give to Docker, as a line to paste; take nothing.

    With --file, each `docker run` line of a script is compared with the machine: what is wrong with it as it stands,
    what it shares with lines before it, and what numafit would make of it.

    Exit status: 0; 75 when what was asked for is not free or cannot be aligned; with --file 1 when something is wrong
    with a line; 2 bad input.
    """
    from numafit.cli.host.plan import show_docker_plan, show_review
    from numafit.host.docker.command_line import DockerRun, parse_docker_run
    from numafit.host.docker.options import check_options

    if file is not None:
        if words or lease_options.request.holds:
            raise InputError("the lines of the file say what is wanted", source="--file", cure="leave the rest away")
        return show_review(lease_options, file, specs, output)
    wanted = parse_docker_run(words) if words else DockerRun((), "")
    check_options(wanted, lease_options.request)
    return show_docker_plan(lease_options, wanted, words, specs, output)


@docker.command(
    short_help="Put a running container under a lease.",
    epilog="""\b
Examples:
  numafit docker adopt web --cpus 4
  numafit docker adopt training --cpus 16 --memory 64Gi --policy single-numa-node""",
)
@click.argument("container")
@lease_options
def adopt(container: str, lease_options: LeaseOptions) -> int:
    """Put a running CONTAINER under a lease, and pin it with `docker update`.

    The GPUs that it has come into the lease with it. On cgroup v1, memory that it has already stays where it is.
    Without --cpus it joins the shared pool.

    Exit status: 0; 75 when what was asked for is not free or cannot be aligned; 1 when the kernel does not show what
    was set; 2 bad input.
    """
    from numafit.cli.host.run import refuse
    from numafit.host.grant import Refused
    from numafit.host.run.adopt import adopt as adopt_container
    from numafit.host.run.adopt import adopted_text
    from numafit.host.session import here

    if lease_options.request.devices:
        raise InputError(
            "a running container keeps the devices that it has",
            source="--device",
            cure="leave --gpus and --device away",
        )
    address = local_engine()
    got = adopt_container(
        here(lease_options.folder, warn), address, container, lease_options.request, lease_options.wait
    )
    if isinstance(got, Refused):
        return refuse(lease_options, got)
    if got.notes or not got.rung:
        warn(f"lease {got.id}: {'; '.join(got.notes) or 'the kernel does not show the processes of the container'}")
        return 1
    click.echo(f"lease {got.id}: {adopted_text(got)}; container {got.container[:12]}")
    return 0


def local_engine() -> str:
    """The address of the engine. Raises `InputError` when it does not answer, or runs its containers elsewhere."""
    import os

    from numafit.host.docker.engine import Silent, engine_address, kernel_of

    address = engine_address()
    host = address.partition("://")[2].rpartition(":")[0] or address.partition("://")[2]
    if address.startswith(REMOTE) and host not in LOCAL_NAMES:
        raise InputError(
            "its containers run on another machine", source=address, cure="run numafit there, or unset DOCKER_HOST"
        )
    try:
        kernel = kernel_of(address)
    except Silent as reason:
        raise InputError(
            f"the Docker engine does not answer: {reason}", cure="start it, or set DOCKER_HOST; `docker info` must work"
        ) from None
    if kernel and kernel != os.uname().release:
        raise InputError(
            f"its containers run on another kernel ({kernel}), such as that of a virtual machine",
            source=address,
            cure="run numafit there",
        )
    return address
