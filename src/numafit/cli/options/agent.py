"""`--agent ADDRESS`: the node that a running agent shows takes the place of --machine, --kubelet and --state."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from numafit.errors import InputError, KubeletError

F = TypeVar("F", bound=Callable[..., Any])

TAKEN = {"machines": "--machine", "kubelet": "--kubelet", "config_dir": "--config-dir", "state": "--state"}
"""What the agent tells."""


def agent_option(command: F) -> F:
    """Adds `--agent`; goes above `node_options`, whose parameters it fills."""

    @wraps(command)
    def wrapped(agent: str | None, **rest: Any) -> Any:
        if agent is None:
            return command(**rest)
        for name, option in TAKEN.items():
            if rest.get(name):
                raise InputError("does not go with --agent", source=option, cure="leave one of both away")
        import tempfile

        with tempfile.TemporaryDirectory(prefix="numafit-agent-") as folder:
            return command(**{**rest, **_node_of(agent, Path(folder))})

    option = click.option(
        "--agent", metavar="ADDRESS", help="Ask on top of what a running `numafit serve` shows (URL or unix socket)."
    )
    decorated: Any = option(wrapped)
    return decorated  # type: ignore[no-any-return]


def _node_of(agent: str, folder: Path) -> dict[str, Any]:
    """The options that describe the node of the agent, with its files in `folder`."""
    import msgspec

    from numafit.service.client import fetched
    from numafit.show.records.node import STATE_PATH, State

    state = fetched(agent, STATE_PATH, State)
    machine, kubelet, files = folder / "machine.json", folder / "kubelet.yaml", folder / "state"
    machine.write_bytes(msgspec.json.encode(state.machine))
    kubelet.write_text(state.kubelet)
    files.mkdir()
    for name, text in state.files.items():
        # Not every name that an answer may hold: only these are looked for.
        if Path(name).name == name:
            (files / name).write_text(text)
    try:
        active = state.active()
    except (msgspec.ValidationError, KubeletError):
        raise InputError("the agent tells of pods that are none", source=agent) from None
    options: dict[str, Any] = {"machines": (str(machine),), "kubelet": kubelet, "state": files, "active": active}
    context = click.get_current_context()
    if context.get_parameter_source("kube_version") is click.core.ParameterSource.DEFAULT:
        options["kube_version"] = state.version
    return options
