"""Keeps one plugin known to the kubelet: registers it, and again whenever the kubelet was made anew or forgot it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import grpc
import grpc.aio

from numafit.cluster.device.answers import VERSION, options
from numafit.cluster.device.plugin import DevicePlugin
from numafit.cluster.device.socket import KUBELET, Identity, identity
from numafit.cluster.wire import device_plugin_pb2 as wire
from numafit.cluster.wire.services import REGISTER
from numafit.errors import InputError

Say = Callable[[str], None]

LOOK_SECONDS = 0.5
"""Between two looks at the sockets."""
ANSWER_SECONDS = 10.0
"""The kubelet dials back before it answers, and gives that so long."""
AGAIN_SECONDS = 5.0
"""After a refusal; another kubelet is asked at once."""
FORGOTTEN_SECONDS = 15.0
"""A kubelet that does not watch for so long does not know the plugin any more."""
_CODES = {
    grpc.StatusCode.UNAVAILABLE: "it does not answer at its socket",
    grpc.StatusCode.DEADLINE_EXCEEDED: f"it did not answer in {ANSWER_SECONDS:g} seconds",
}


class Registration:
    """Run `keep` as a task; cancel it and then stop the plugin to end it."""

    def __init__(self, plugin: DevicePlugin, folder: Path, say: Say) -> None:
        self.plugin = plugin
        self.kubelet = folder / KUBELET
        self._say = say
        self._said = ""
        self._known_to: Identity | None = None
        """The kubelet that registered it last."""
        self._refused_by: Identity | None = None
        self._again = 0.0
        """When the kubelet that refused it is asked again, by the clock of the loop."""
        self._unwatched = 0.0
        """Since when nobody watches, by the clock of the loop; 0 while somebody does."""

    async def keep(self) -> None:
        while True:
            try:
                await self.look()
            except InputError as error:
                self._tell(str(error))
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Raises InputError when there is no socket for the plugin, or the kubelet refuses it."""
        found = identity(self.kubelet)
        if found is None:
            self._known_to = None
            self._tell(f"waiting for a kubelet at {self.kubelet}")
            return
        if not self.plugin.is_reachable:
            # A starting kubelet empties the folder first and listens then: what is made before that would go again.
            await self.plugin.start()
            self._known_to = None
        if (found != self._known_to or self._is_forgotten()) and not self._is_too_early(found):
            self._refused_by, self._again = found, asyncio.get_running_loop().time() + AGAIN_SECONDS
            await self._register()
            self._refused_by, self._known_to, self._unwatched = None, found, 0.0
            self._tell(f"registered with the kubelet: {self._counted()}")

    def _is_too_early(self, kubelet: Identity) -> bool:
        return kubelet == self._refused_by and asyncio.get_running_loop().time() < self._again

    def _is_forgotten(self) -> bool:
        now = asyncio.get_running_loop().time()
        if self.plugin.watchers:
            self._unwatched = 0.0
        elif not self._unwatched:
            self._unwatched = now
        return bool(self._unwatched) and now - self._unwatched > FORGOTTEN_SECONDS

    async def _register(self) -> None:
        offer = self.plugin.offer
        request = wire.RegisterRequest(
            version=VERSION,
            endpoint=self.plugin.socket.name,
            resource_name=offer.resource,
            options=options(offer),
        )
        async with grpc.aio.insecure_channel(f"unix:{self.kubelet}") as channel:
            try:
                await REGISTER.ask(channel, request, ANSWER_SECONDS)
            except grpc.aio.AioRpcError as error:
                why = _CODES.get(error.code()) or error.details() or error.code().name
                raise InputError(f"the kubelet does not take the plugin: {why}") from None

    def _counted(self) -> str:
        units = self.plugin.offer.units().values()
        sick = sum(1 for offered in units if not offered.device.healthy)
        return f"{len(units)} devices, {sick} unhealthy" if sick else f"{len(units)} devices"

    def _tell(self, text: str) -> None:
        """Each thing once, until something else happened."""
        if text != self._said or text.startswith("registered"):
            self._said = text
            self._say(f"{self.plugin.offer.resource}: {text}")
