"""The sockets of one simulated node, for as long as it is there: made anew whenever its kubelet starts."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from numafit.cluster.sim.kubelet import SimulatedKubelet
from numafit.cluster.sim.sockets.folder import make_folders, plugins_socket, pod_resources_socket
from numafit.cluster.sim.sockets.lister import PodResourcesLister
from numafit.cluster.sim.sockets.registry import PluginRegistry
from numafit.cluster.sim.sockets.releases import has_pod_resources
from numafit.cluster.sim.sockets.remote import RemotePlugin
from numafit.cluster.sim.sockets.resources import swept
from numafit.decision.history.event import Event, StopPlugin
from numafit.decision.history.situation import Situation
from numafit.managers.device.plugin import Plugin
from numafit.managers.device.registration import GRACE_PERIOD
from numafit.workload.pod import Pod

LOOK_SECONDS = 0.2
"""Between two looks whether the kubelet still runs."""

SWEEP_SECONDS = 1.0


class Turn(Protocol):
    """Something is done to the kubelet, in a thread, and nobody else touches that kubelet meanwhile. It is called with
    the time, in seconds since 1970."""

    def __call__(self, work: Callable[[float], Any], /) -> Awaitable[Any]: ...


async def serve_sockets(
    kubelet: SimulatedKubelet, folder: Path, turn: Turn, *, grace_seconds: float = GRACE_PERIOD
) -> None:
    """Until it is cancelled. Raises InputError where no socket can be made in the folder."""
    make_folders(folder)
    node = _Node(kubelet, turn)
    while True:
        while kubelet.situation.down:
            await asyncio.sleep(LOOK_SECONDS)
        lister = PodResourcesLister(node, asyncio.get_running_loop().time)
        registry = PluginRegistry(node, folder, grace_seconds)
        try:
            if has_pod_resources(kubelet.situation.node.settings):
                pod_resources_socket(folder).unlink(missing_ok=True)
                await lister.start(pod_resources_socket(folder))
            await registry.start()
            await _until_it_ends(kubelet)
        finally:
            await registry.stop()
            await lister.stop()
            for socket in (plugins_socket(folder), pod_resources_socket(folder)):
                with suppress(OSError):
                    socket.unlink(missing_ok=True)
        for resource in tuple(kubelet.situation.plugins):
            await node.happen(StopPlugin(resource))
        await node.forget_plugins()


async def _until_it_ends(kubelet: SimulatedKubelet) -> None:
    """Or has ended and started again."""
    starts = kubelet.starts
    while not kubelet.situation.down and kubelet.starts == starts:
        await asyncio.sleep(LOOK_SECONDS)


class _Node:
    """The kubelet as its sockets meet it."""

    def __init__(self, kubelet: SimulatedKubelet, turn: Turn) -> None:
        self._kubelet = kubelet
        self._turn = turn

    @property
    def situation(self) -> Situation:
        return self._kubelet.situation

    @property
    def known(self) -> tuple[Pod, ...]:
        return tuple([played.pod for played in tuple(self._kubelet.pods.values())])

    async def use(self, plugin: RemotePlugin) -> None:
        await self._turn(partial(self._use, plugin.link.resource, plugin))

    async def forget_plugins(self) -> None:
        """The next kubelet knows nothing of what they wanted, before they register with it."""
        for resource, plugin in tuple(self.situation.node.device.plugins.items()):
            if isinstance(plugin, RemotePlugin):
                await self._turn(partial(self._use, resource, Plugin()))

    def _use(self, resource: str, plugin: Plugin, now: float) -> None:
        self._kubelet.use_plugin(resource, plugin)

    async def happen(self, event: Event) -> None:
        await self._turn(lambda now: self._kubelet.happen(event, now))

    async def freed(self) -> None:
        if swept(self.situation) is not self.situation:
            sweep = asyncio.ensure_future(self._turn(self._sweep))
            # A plugin that hangs keeps the node, but not who asks it.
            await asyncio.wait({sweep}, timeout=SWEEP_SECONDS)

    def _sweep(self, now: float) -> None:
        self._kubelet.situation = swept(self._kubelet.situation)
