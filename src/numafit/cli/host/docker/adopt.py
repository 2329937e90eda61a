"""`numafit docker adopt`: a running container under a lease."""

import click

from numafit.cli.host.refusal import refuse
from numafit.cli.options.asked import LeaseOptions
from numafit.cli.options.lease import lease_options
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.docker.engine import local_engine, local_podman
from numafit.host.grant import Refused
from numafit.host.run.adopt import adopt as adopt_container
from numafit.host.run.adopt import adopted_text
from numafit.host.session import open_session


@click.command(
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
    return adopt_running("docker", container, lease_options)


def adopt_running(client: str, container: str, lease_options: LeaseOptions) -> int:
    if lease_options.request.devices:
        raise InputError(
            "a running container keeps the devices that it has",
            source="--device",
            cure="leave --gpus and --device away",
        )
    address = local_podman() if client == "podman" else local_engine()
    got = adopt_container(
        open_session(lease_options.folder, warn), address, container, lease_options.request, lease_options.wait
    )
    if isinstance(got, Refused):
        return refuse(lease_options, got)
    if got.notes or not got.rung:
        warn(f"lease {got.id}: {'; '.join(got.notes) or 'the kernel does not show the processes of the container'}")
        return 1
    click.echo(f"lease {got.id}: {adopted_text(got)}; container {got.container[:12]}")
    return 0
