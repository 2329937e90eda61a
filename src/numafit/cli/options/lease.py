"""The options that ask for a part of this host, shared by all commands that take a lease."""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click
import msgspec

from numafit.amounts import parse_amount
from numafit.cli.options.one_of import OneOf
from numafit.errors import InputError
from numafit.host.request import POLICIES, PREFERENCES, JobRequest, Policy

F = TypeVar("F", bound=Callable[..., Any])

GPU = "nvidia.com/gpu"
FOREVER = "for ever"

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class LeaseOptions(msgspec.Struct, frozen=True):
    request: JobRequest
    wait: float | None = None
    """Seconds; None: not at all. Infinity: for ever."""
    folder: Path | None = None
    """Of the ledger, when it is not the usual one."""


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
    def wrapped(
        cpus: int,
        memory: str | None,
        gpus: int,
        devices: Sequence[str],
        policy: str,
        prefer: Sequence[str],
        name: str,
        wait: str | None,
        folder: Path | None,
        **rest: Any,
    ) -> Any:
        request = JobRequest(
            cpus=cpus,
            memory=_amount(memory),
            devices=_devices(gpus, devices),
            policy=cast(Policy, policy),
            prefer=tuple(dict.fromkeys(prefer)),
            name=_name(name),
        )
        options = LeaseOptions(request, _seconds(wait), folder)
        return command(lease_options=options, **rest)

    decorated: Any = wrapped
    for decorator in reversed(
        (
            click.option("--cpus", type=click.IntRange(0), default=0, help="Exclusive CPUs; 0: the shared pool."),
            click.option("--memory", metavar="SIZE", help="Memory to hold, like 32Gi."),
            click.option("--gpus", type=click.IntRange(0), default=0, help=f"The same as --device {GPU}=N."),
            click.option("--device", "devices", multiple=True, metavar="RESOURCE=N", help="Devices of a resource."),
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
                help="Wait for what is not free, first come first served; a time like 90s, 5m or 2h ends it.",
            ),
            state_option,
        )
    ):
        decorated = decorator(decorated)
    return decorated  # type: ignore[no-any-return]


def _amount(text: str | None) -> int:
    if text is None:
        return 0
    try:
        return parse_amount(text)
    except ValueError as error:
        raise InputError(str(error), source="--memory", cure="write it like 32Gi") from None


def _devices(gpus: int, specs: Sequence[str]) -> dict[str, int]:
    wanted = {GPU: gpus} if gpus else {}
    for spec in specs:
        resource, equals, count = spec.partition("=")
        if not equals or "/" not in resource or not (count.isascii() and count.isdecimal()) or len(count) > 6:
            raise InputError(
                "is not RESOURCE=N", source="--device", field=spec, cure="write it like example.com/fpga=1"
            )
        if resource in wanted:
            raise InputError(f"{resource} is asked for twice", source="--device")
        wanted[resource] = int(count)
    return {resource: count for resource, count in wanted.items() if count}


def _name(text: str) -> str:
    if len(text) > 100 or not text.isprintable():
        raise InputError("a name of at most 100 printable characters is needed", source="--name")
    return text


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    if text == FOREVER:
        return float("inf")
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([smhd]?)", text, re.ASCII)
    if found is None:
        raise InputError(f'"{text[:40]}" is not a time', source="--wait", cure="write it like 90s, 5m or 2h")
    return float(found[1]) * _UNITS[found[2]]
