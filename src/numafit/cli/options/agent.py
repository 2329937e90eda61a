"""`--agent ADDRESS`: the node that a running agent shows takes the place of --machine, --kubelet and --state."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click
import msgspec

from numafit.cli.options.node import AgentNode
from numafit.errors import InputError, KubeletError
from numafit.ledger.state_files import STATE_FILES
from numafit.settings.read.loader import ConfigFile

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
        return command(**rest, agent=_shown_by(agent))

    option = click.option(
        "--agent", metavar="ADDRESS", help="Ask on top of what a running `numafit serve` shows (URL or unix socket)."
    )
    decorated: Any = option(wrapped)
    return decorated  # type: ignore[no-any-return]


def _shown_by(agent: str) -> AgentNode:
    from numafit.machine.read.recognise import source_of
    from numafit.service.client import fetched
    from numafit.show.records.node import STATE_PATH, State

    state = fetched(agent, STATE_PATH, State)
    # Not every name that an answer may hold: only these are looked for.
    files = {name: state.files[name] for name in STATE_FILES if name in state.files}
    try:
        active = state.active()
    except (msgspec.ValidationError, KubeletError):
        raise InputError("the agent tells of pods that are none", source=agent) from None
    try:
        facts = state.node_facts()
    except (msgspec.ValidationError, KubeletError):
        raise InputError("what the agent tells of its node is not understood", source=agent) from None
    machine = source_of(msgspec.json.encode(state.machine), "machine.json")
    kubelet = ConfigFile("kubelet.yaml", state.kubelet)
    return AgentNode(machine, kubelet, files, active, state.version, state.assumed, facts)
