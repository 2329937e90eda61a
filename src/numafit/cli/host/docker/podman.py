"""`numafit podman`: the same for containers of Podman, which has no engine that runs."""

from collections.abc import Sequence

import click

from numafit.cli.host.docker.adopt import adopt_running
from numafit.cli.host.docker.run import start_container
from numafit.cli.options.asked import LeaseOptions, limited, seconds_of
from numafit.cli.options.lease import lease_options, time_options


@click.group(
    epilog="""\b
Examples:
  numafit podman run --cpus 8 --memory 32Gi -- --rm pytorch python train.py
  numafit podman adopt web --cpus 4"""
)
def podman() -> None:
    """Run Podman's containers on CPUs, memory and GPUs that are free and near each other, and hold them meanwhile."""


@podman.command(
    context_settings={"allow_interspersed_args": False},
    short_help="Start a container under a lease.",
    epilog="""\b
Examples:
  numafit podman run --cpus 8 --memory 32Gi --gpus 2 -- --rm -it pytorch python train.py
  numafit podman run --cpus 4 --wait=10m -- -d --name web nginx""",
)
@lease_options
@time_options
@click.option("--no-env", is_flag=True, help="Give the container no NUMAFIT_ variables.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when all goes well.")
@click.option("--dry-run", is_flag=True, help="Print the podman command; take and start nothing.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- [PODMAN RUN OPTIONS] IMAGE [COMMAND]...")
def run(
    lease_options: LeaseOptions,
    time_limit: str | None,
    grace: str | None,
    no_env: bool,
    quiet: bool,
    dry_run: bool,
    words: Sequence[str],
) -> int:
    """Start a container under a lease, as `podman run` does.

    As `numafit docker run`, but for GPUs, which are named by the Container Device Interface (--device
    nvidia.com/gpu=UUID). The containers are those of the calling user.

    Exit status: that of podman; 75 when what was asked for is not free or cannot be aligned; 2 bad input, or options
    for Podman that contradict the lease.
    """
    lease_options = limited(lease_options, time_limit)
    seconds = seconds_of(grace, "--grace")
    return start_container("podman", lease_options, words, no_env=no_env, quiet=quiet, dry_run=dry_run, grace=seconds)


@podman.command(
    short_help="Put a running container under a lease.",
    epilog="""\b
Examples:
  numafit podman adopt web --cpus 4""",
)
@click.argument("container")
@lease_options
def adopt(container: str, lease_options: LeaseOptions) -> int:
    """Put a running CONTAINER of Podman under a lease, and pin it with `podman update`.

    Podman forgets the CPUs of an update when the container is started again; then it must be adopted again.

    Exit status: 0; 75 when what was asked for is not free or cannot be aligned; 1 when the kernel does not show what
    was set; 2 bad input.
    """
    return adopt_running("podman", container, lease_options)
