"""The kubelet's registry of device plugins: who registers is dialled, watched, and told to the kubelet as events.

Where two plugins offer one resource it does what the release does, by keeping the same lists: up to 1.24 the end of one
counts if no other came after it; from 1.25 to 1.36 any end disconnects the one that came last; in 1.37 each socket is a
plugin of its own.
"""

import asyncio
import os
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import grpc
import grpc.aio
from google.protobuf.message import Message

from numafit.cluster.device.answers import VERSION
from numafit.cluster.device.socket import PLUGINS
from numafit.cluster.sim.sockets.folder import plugins_socket, remove_stale
from numafit.cluster.sim.sockets.releases import socket_rules
from numafit.cluster.sim.sockets.remote import PluginLink, RemotePlugin, remote_plugin
from numafit.cluster.wire import device_plugin_pb2 as wire
from numafit.cluster.wire.services import LIST_AND_WATCH, REGISTER, CallContext, add_answers
from numafit.decision.history.event import Event, ForgetPlugin, ListDevices, StartPlugin, StopPlugin
from numafit.decision.history.situation import Situation
from numafit.machine.model import Device
from numafit.managers.device.plugin import PluginError
from numafit.managers.device.registration import GRACE_PERIOD
from numafit.workload.api_server import is_extended_name

HEALTHY = "Healthy"


class RegistryNode(Protocol):
    """To whom plugins register."""

    @property
    def situation(self) -> Situation: ...

    async def use(self, plugin: RemotePlugin) -> None:
        """It is asked for its resource from now on."""
        ...

    async def happen(self, event: Event) -> None: ...


class PluginRegistry:
    """One for each start of the kubelet."""

    def __init__(self, node: RegistryNode, folder: Path, grace_seconds: float = GRACE_PERIOD) -> None:
        self._node = node
        self._folder = folder
        self._grace = grace_seconds
        settings = node.situation.node.settings
        self._rules = socket_rules(settings)
        self._end = settings.behaviour.device_plugin_end
        self._links: dict[str, list[PluginLink]] = {}
        """Resource -> plugins whose end will be noticed, in the order in which they came; up to 1.36 only the last."""
        self._asked: dict[str, dict[Path, PluginLink]] = {}
        """Resource -> socket -> plugins that may be asked to allocate; looked at by 1.37 only."""
        self._open: set[PluginLink] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._forgetting: dict[str, asyncio.Task[None]] = {}
        self._server: grpc.aio.Server | None = None

    async def start(self) -> None:
        remove_stale(self._folder, sockets_only=self._rules.sockets_only)
        self._server = grpc.aio.server()
        add_answers(self._server, {REGISTER: self._register})
        self._server.add_insecure_port(f"unix:{plugins_socket(self._folder)}")
        await self._server.start()
        # Resources that only the checkpoint tells of are given up, too.
        device = self._node.situation.ledger.device
        for resource in device.healthy:
            if resource not in device.connected:
                self._forget_later(resource)

    async def stop(self) -> None:
        """As a kubelet ends: plugins see their streams break, and the socket is gone."""
        for link in tuple(self._open):
            link.interrupt()
        tasks = [*self._tasks, *self._forgetting.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for link in tuple(self._open):
            await link.close()
        if self._server is not None:
            await self._server.stop(None)

    # --- registrations -----------------------------------------------------------------------------------------------

    async def _register(self, request: wire.RegisterRequest, context: CallContext) -> Message:
        problem = registration_problem(request)
        if not problem:
            link = PluginLink(request.resource_name, self._endpoint(request.endpoint))
            if not self._rules.dials_first:
                link.options = request.options
                self._run(self._connect_later(link))
                return wire.Empty()
            try:
                await self._connect(link)
            except PluginError as error:
                problem = str(error)
        if problem:
            await context.abort(grpc.StatusCode.UNKNOWN, problem)
        return wire.Empty()

    def _endpoint(self, name: str) -> Path:
        """As Go joins it: a slash at its beginning does not lead out of the folder."""
        return Path(os.path.normpath(f"{self._folder / PLUGINS}/{name}"))

    async def _connect_later(self, link: PluginLink) -> None:
        try:
            await link.open()
        except (PluginError, asyncio.CancelledError):
            await link.close()
            return
        self._links.setdefault(link.resource, [])[:] = [link]
        self._registered(link)

    async def _connect(self, link: PluginLink) -> None:
        links = self._links.setdefault(link.resource, [])
        links[:] = [*(links if self._end == "last" else ()), link]
        try:
            await link.open()
            await link.ask_options()
            if self._end == "last" and link.socket in self._asked.get(link.resource, {}):
                raise PluginError(f"device plugin already connected: {link.socket}")
        except (PluginError, asyncio.CancelledError):
            # One of the same socket goes with it, so its end will not be noticed (1.37).
            links[:] = [other for other in links if other.socket != link.socket] if self._end == "last" else []
            await link.close()
            raise
        self._registered(link)

    def _registered(self, link: PluginLink) -> None:
        self._open.add(link)
        self._asked.setdefault(link.resource, {})[link.socket] = link
        forgetting = self._forgetting.pop(link.resource, None)
        if forgetting is not None:
            forgetting.cancel()
        # A plugin that does not wait for the answer is known all the same.
        self._run(self._watch(link))

    # --- lists -------------------------------------------------------------------------------------------------------

    async def _watch(self, link: PluginLink) -> None:
        resource = link.resource
        await self._node.use(remote_plugin(link))
        with suppress(grpc.aio.AioRpcError, grpc.aio.UsageError):
            async for answer in LIST_AND_WATCH.watch(link.channel, wire.Empty()):
                known = resource in self._node.situation.plugins
                await self._node.happen((ListDevices if known else StartPlugin)(resource, devices_of(resource, answer)))
        await self._ended(link)

    async def _ended(self, link: PluginLink) -> None:
        links = self._links.get(link.resource, [])
        await self._close(link)
        if self._end == "newest":
            if links and links[-1] is link:
                links.clear()
                await self._stopped(link.resource)
            return
        if self._end == "any":
            if links:
                other = links.pop()
                await self._close(other)
                await self._stopped(link.resource)
            return
        if link in links:
            links.remove(link)
            asked = self._asked[link.resource]
            del asked[link.socket]
            if asked:
                # Any of those that are left, in a kubelet; here the one that came first.
                await self._node.use(remote_plugin(next(iter(asked.values()))))
            else:
                await self._stopped(link.resource)

    async def _close(self, link: PluginLink) -> None:
        self._open.discard(link)
        if not link.closed:
            await link.close()

    async def _stopped(self, resource: str) -> None:
        await self._node.happen(StopPlugin(resource))
        self._forget_later(resource)

    def _forget_later(self, resource: str) -> None:
        async def forget() -> None:
            await asyncio.sleep(self._grace)
            self._forgetting.pop(resource, None)
            await self._node.happen(ForgetPlugin(resource))

        before = self._forgetting.pop(resource, None)
        if before is not None:
            before.cancel()
        self._forgetting[resource] = asyncio.create_task(forget())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def registration_problem(request: wire.RegisterRequest) -> str:
    """The kubelet's text for a plugin that it does not take (all releases); empty where it takes it."""
    if request.version != VERSION:
        quoted = request.version.replace("\\", "\\\\").replace('"', '\\"')
        return f'requested API version "{quoted}" is not supported by kubelet. Supported version is ["{VERSION}"]'
    name = request.resource_name
    if not is_extended_name(name):
        return f'the ResourceName "{name}" is invalid'
    return ""


def devices_of(resource: str, answer: wire.ListAndWatchResponse) -> tuple[Device, ...]:
    return tuple(
        Device(
            resource,
            device.ID,
            tuple(node.ID for node in device.topology.nodes) if device.HasField("topology") else None,
            device.health == HEALTHY,
        )
        for device in answer.devices
    )
