"""The options that ask for a part of this host, shared by all commands that take a lease."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import click

from numafit.cli.options.asked import FOREVER, GPU, lease_asked
from numafit.cli.options.one_of import OneOf
from numafit.host.bind.target import WAYS
from numafit.host.request import POLICIES, PREFERENCES

F = TypeVar("F", bound=Callable[..., Any])

ASKED = tuple(signature(lease_asked).parameters)
MOST_RANKS = 4096
RANKS_HELP = "So many processes: each gets a part of its own, near its GPU. See `numafit rank`."


def state_option(command: F) -> F:
    """Adds `--state-dir`, and hands it to the command as `folder`."""
    return click.option(
        "--state-dir",
        "folder",
        type=click.Path(path_type=Path, file_okay=False, readable=False),
        help="Folder of the ledger; default that of the host, or the user's own.",
    )(command)


def lease_options(command: F) -> F:
    """Adds the options, and hands them to the command as one `lease_options: LeaseOptions`."""

    @wraps(command)
    def wrapped(**given: Any) -> Any:
        asked = {name: given.pop(name) for name in ASKED}
        return command(lease_options=lease_asked(**asked), **given)

    decorated: Any = wrapped
    for decorator in reversed(
        (
            click.option("--cpus", type=click.IntRange(0), default=0, help="Exclusive CPUs; 0: the shared pool."),
            click.option("--memory", metavar="SIZE", help="Memory to hold, like 32Gi."),
            click.option("--gpus", type=click.IntRange(0), default=0, help=f"The same as --device {GPU}=N."),
            click.option("--device", "devices", multiple=True, metavar="RESOURCE=N", help="Devices of a resource."),
            click.option("--ranks", type=click.IntRange(0, MOST_RANKS), default=0, help=RANKS_HELP),
            click.option("--cpus-per-rank", type=click.IntRange(0), default=0, help="Exclusive CPUs of each rank."),
            click.option("--cpus-per-gpu", type=click.IntRange(0), default=0, help="Exclusive CPUs near each GPU."),
            click.option("--threads", is_flag=True, help="Single threads of cores; without it, whole cores."),
            click.option("--like-kubelet", is_flag=True, help="Place exactly as a kubelet would, good or not."),
            click.option(
                "--policy",
                type=OneOf(POLICIES),
                default="best-effort",
                show_default=True,
                help="restricted and single-numa-node refuse what cannot be aligned.",
            ),
            click.option(
                "--prefer",
                multiple=True,
                type=OneOf(list(PREFERENCES)),
                help="How CPUs are picked; may be repeated.",
            ),
            click.option("--name", default="", help="A name to show for the lease."),
            click.option(
                "--wait",
                is_flag=False,
                flag_value=FOREVER,
                metavar="[TIME]",
                help="Wait for what is not free; others pass if they delay nobody. A time like 5m or 2h ends it.",
            ),
            click.option(
                "--priority",
                type=click.IntRange(-100, 100),
                default=0,
                help="Who waits with a higher one comes first; above 0 for root, or as host.yaml allows.",
            ),
            state_option,
            # Memory
            click.option(
                "--memory-bind",
                type=OneOf(WAYS),
                help="Where memory may come from; default: bind with --memory, else prefer.",
            ),
            click.option("--interleave", is_flag=True, help="The same as --memory-bind interleave."),
            click.option(
                "--node", "on_nodes", metavar="LIST", help="CPUs and memory of these NUMA nodes, like 0 or 0,2."
            ),
            click.option("--limit-memory", metavar="SIZE", help="Memory that it may use at most (memory.max)."),
        )
    ):
        decorated = decorator(decorated)
    return decorated  # type: ignore[no-any-return]


def time_options(command: F) -> F:
    """Adds `--time` and `--grace`, for commands that stay with the job; hands them on as texts."""
    time = click.option("--time", "time_limit", metavar="TIME", help="End the job after a time like 90s, 5m or 2h.")
    grace = click.option("--grace", metavar="TIME", help="From SIGTERM to SIGKILL, with --time.  [default: 30s]")
    return time(grace(command))
