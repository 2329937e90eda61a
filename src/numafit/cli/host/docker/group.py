"""The group of commands about containers, each loaded only when it is called."""

import click

from numafit.cli.commands import LazyCommand, LazyGroup

COMMANDS: dict[str, LazyCommand] = {
    "adopt": LazyCommand("numafit.cli.host.docker.adopt:adopt", "Put a running container under a lease."),
    "compose": LazyCommand(
        "numafit.cli.host.docker.compose:compose", "Plan the services of a compose file; write a file that pins them."
    ),
    "plan": LazyCommand("numafit.cli.host.docker.plan:plan", "Print the options for Docker; take nothing."),
    "run": LazyCommand("numafit.cli.host.docker.run:run", "Start a container under a lease."),
}


class DockerGroup(LazyGroup):
    table = COMMANDS


@click.group(
    cls=DockerGroup,
    epilog="""\b
Examples:
  numafit docker run --cpus 8 --gpus 2 -- --rm pytorch python train.py
  numafit docker plan --machine dgx-a100 --cpus 8 --gpus 2 -- pytorch
  numafit docker adopt web --cpus 4""",
)
def docker() -> None:
    """Run containers on CPUs, memory and GPUs that are free and near each other, and hold them while they live."""
