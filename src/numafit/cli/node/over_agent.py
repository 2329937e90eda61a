"""`numafit node switch --over-agent`: the same from anywhere, by the agent of the node."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from numafit.cli.files import read_text
from numafit.cli.options.answer import ANSWERED, FAILED
from numafit.cli.options.live import ClusterOptions, new_access
from numafit.cli.terminal import answer, this_screen
from numafit.cli.warning import warn
from numafit.cluster.orders.words import KEPT, MESSAGE, PLAN, PLANNED, REFUSED, SAME, SWITCHED, TEXT, UNDONE, UNFINISHED
from numafit.errors import InputError
from numafit.show.json import json_text

if TYPE_CHECKING:
    from numafit.cluster.kube.access import Access
    from numafit.cluster.orders.asker import OrderAsker
    from numafit.cluster.orders.order import OrderMap

T = TypeVar("T")

NAMESPACE = "numafit"
DECLINED = "declined"
ON_NODE_ONLY = {
    "config": "--config",
    "kubelet_dir": "--kubelet-dir",
    "kubelet_env": "--kubelet-env",
    "config_dir": "--config-dir",
    "specs": "--machine",
    "devices": "--device",
    "stop_command": "--stop-command",
    "start_command": "--start-command",
    "state": "--state",
}
"""Parameter -> the option: what an agent knows better, and takes from nobody."""


class AskedSwitch(NamedTuple):
    """What was typed."""

    new: Path | None
    changes: tuple[str, ...]
    node: str | None
    namespace: str
    keep_pods: bool
    force: bool
    delete_emptydir_data: bool
    drain_timeout: float
    ready_timeout: float
    settle: float
    cluster: ClusterOptions
    dry_run: bool
    yes: bool
    goes_on: bool
    undo: bool
    output: str


def switch_over_agent(asked: AskedSwitch) -> int:
    _checked(asked)
    access = new_access(asked.cluster)
    if asked.goes_on or asked.undo:
        order = _speak(access, asked, lambda asker: asker.go_on(undo=asked.undo))
        if order.status != PLANNED or asked.undo:
            return _follow(access, asked)
    else:
        order = _order(access, asked)
    return _approve(access, asked, order)


def _checked(asked: AskedSwitch) -> None:
    context = click.get_current_context()
    for name, option in ON_NODE_ONLY.items():
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise InputError("does not go with --over-agent", source=option, cure="the agent is told that at its start")
    if not asked.node:
        raise InputError("it is not said which node", source="--over-agent", cure="name it by --node")
    if asked.goes_on and asked.undo:
        raise InputError("--continue and --undo do not go together")
    given = (asked.new is not None) + bool(asked.changes)
    if asked.goes_on or asked.undo:
        if given:
            raise InputError("no other configuration can be given", source="--undo" if asked.undo else "--continue")
    elif given != 1:
        why = "NEW and --set are two" if given else "it is not said which configuration"
        raise InputError(why, cure="name a file, or fields by --set")


def _order(access: "Access", asked: AskedSwitch) -> "OrderMap":
    from numafit.cluster.orders.order import SwitchWish

    config = "" if asked.new is None else read_text(asked.new)
    if asked.new is not None and not config.strip():
        raise InputError("is empty", source=str(asked.new))
    wish = SwitchWish(
        asked.changes,
        asked.keep_pods,
        asked.force,
        asked.delete_emptydir_data,
        asked.drain_timeout,
        asked.ready_timeout,
        asked.settle,
    )
    return _speak(access, asked, lambda asker: asker.order(config, wish))


def _approve(access: "Access", asked: AskedSwitch, order: "OrderMap") -> int:
    """Until the plan that was shown is the one that is carried out."""
    while True:
        if order.status != PLANNED:
            break
        try:
            _show(asked, order)
            agreed = not asked.dry_run and _agreed(asked)
        except BaseException:
            _speak(access, asked, lambda asker: asker.remove())
            raise
        if not agreed:
            _speak(access, asked, lambda asker: asker.remove())
            return _end(asked, order, PLANNED if asked.dry_run else DECLINED)
        try:
            order = _speak(access, asked, partial(_approved, plan=order))
        except KeyboardInterrupt:
            _left(asked)
            raise
        if order.status == PLANNED and asked.output == "text":
            warn("the node has changed meanwhile, and this is its plan now")
    if order.status in (REFUSED, SAME):
        if order.said(TEXT):
            _show(asked, order)
        _speak(access, asked, lambda asker: asker.remove())
        if order.status == REFUSED and not order.said(PLAN):
            raise InputError(f"refused by the agent: {order.said(MESSAGE)}", source=f"node {asked.node}")
        if order.status == SAME and asked.output == "text":
            click.echo("\nThe kubelet has this configuration already: there is nothing to do.")
        return _end(asked, order, "")
    return _follow(access, asked)


def _approved(asker: "OrderAsker", plan: "OrderMap") -> "Awaitable[OrderMap]":
    return asker.approve(plan)


def _follow(access: "Access", asked: AskedSwitch) -> int:
    try:
        order = _speak(access, asked, lambda asker: asker.followed(lambda line: click.echo(line, err=True)))
    except KeyboardInterrupt:
        _left(asked)
        raise
    if order.status == PLANNED:
        # Its agent ended before it had begun, and the node has changed since.
        return _approve(access, asked, order)
    if order.status != UNFINISHED:
        _speak(access, asked, lambda asker: asker.remove())
    if asked.output == "text":
        kept = order.said(KEPT)
        if order.status == SWITCHED:
            click.echo(f"Done. What there was before is in {kept} on the node.")
        elif order.status == UNDONE:
            happened = f" What happened stands in {kept} on the node." if kept else ""
            click.echo(f"All is as it was before.{happened}")
        elif order.status == UNFINISHED:
            click.echo("Not finished: --continue tries again, --undo goes back; so they do on the node itself.")
        else:
            click.echo(f"Not done: {order.said(MESSAGE)}.")
    return _end(asked, order, "")


def _show(asked: AskedSwitch, order: "OrderMap") -> None:
    if asked.output == "text":
        answer(order.said(TEXT), this_screen())


def _end(asked: AskedSwitch, order: "OrderMap", outcome: str) -> int:
    from msgspec.structs import replace

    found = order.answer()
    if outcome:
        found = replace(found, outcome=outcome)
    if asked.output == "json":
        click.echo(json_text(found))
    return ANSWERED if found.outcome in (PLANNED, UNDONE if asked.undo else SWITCHED) else FAILED


def _agreed(asked: AskedSwitch) -> bool:
    if asked.yes:
        return True
    if not sys.stdin.isatty():
        raise InputError("there is nobody to ask", cure="--yes does what the plan says, --dry-run only shows it")
    return click.confirm("\nDo this now?", default=False, err=True)


def _left(asked: AskedSwitch) -> None:
    words = f"numafit node switch --over-agent --node {asked.node}"
    words += f" --namespace {asked.namespace}" if asked.namespace != NAMESPACE else ""
    warn(f"the switch goes on without you (`{words} --continue` follows it, --undo brings back what ran before)")


def _speak(access: "Access", asked: AskedSwitch, say: "Callable[[OrderAsker], Awaitable[T]]") -> T:
    from numafit.cluster.kube.api import KubeApi
    from numafit.cluster.orders.asker import OrderAsker

    async def spoken() -> T:
        async with KubeApi(access) as api:
            return await say(OrderAsker(api, asked.namespace, asked.node or ""))

    return asyncio.run(spoken())
