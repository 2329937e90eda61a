"""The agent as a process: it begins, serves its metrics, and ends when it is told to."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import msgspec

from numafit.cluster.kube.access import Access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.signals import stop_event
from numafit.cluster.node.agent import AgentOptions, NodeAgent
from numafit.cluster.node.configz import CONFIGZ
from numafit.cluster.node.metrics import AgentCounts, serve_metrics
from numafit.cluster.node.process import config_text
from numafit.cluster.node.recordings import RecordingFolder
from numafit.errors import InputError


class MetricsPlace(msgspec.Struct, frozen=True):
    address: str
    port: int
    """0: they are not served."""


def serve_node(
    access: Access,
    options: AgentOptions,
    metrics: MetricsPlace,
    say: Callable[[str], None],
    beside: Callable[[KubeApi, ApiHealth], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Until SIGTERM or Ctrl-C. Raises InputError when it cannot begin. `beside`: what else the agent does."""
    counts, health = AgentCounts(), ApiHealth()
    if options.config not in ("", CONFIGZ):
        _check_config(options)
    if options.recordings is not None:
        RecordingFolder(options.recordings).prepare()
    end = serve_metrics(metrics.address, metrics.port, counts, health) if metrics.port else lambda: None

    async def until_told() -> None:
        stop = stop_event()
        async with KubeApi(access) as api:
            works = [asyncio.create_task(NodeAgent(api, options, counts, health, say).run())]
            if beside is not None:
                works.append(asyncio.create_task(beside(api, health)))
            told = asyncio.create_task(stop.wait())
            await asyncio.wait({*works, told}, return_when=asyncio.FIRST_COMPLETED)
            for task in (*works, told):
                task.cancel()
            for work in works:
                with suppress(asyncio.CancelledError):
                    await work

    try:
        asyncio.run(until_told())
    finally:
        end()


def _check_config(options: AgentOptions) -> None:
    """One that is named has to be there: defaults in its place would be wrong for ever."""
    try:
        config_text(options.root, options.config)
    except InputError as error:
        cure = "a path of the host, or `configz`"
        raise InputError(f"{error.source}: {error.message}", source="--kubelet-config", cure=cure) from None
