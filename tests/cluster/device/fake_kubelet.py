"""The kubelet's side of the device plugin interface, for tests: a registry that dials back, watches and allocates."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from numafit.cluster.wire import device_plugin_pb2 as wire
from numafit.cluster.wire.services import (
    ALLOCATE,
    GET_OPTIONS,
    GET_PREFERRED_ALLOCATION,
    LIST_AND_WATCH,
    PRE_START_CONTAINER,
    REGISTER,
    CallContext,
    add_answers,
)

PATIENCE = 20.0


class FakeKubelet:
    """Like the real one it empties the folder when it starts, then listens, and dials each plugin that registers."""

    def __init__(self, folder: Path, *, refusal: str = "", watches: bool = True) -> None:
        self.folder = folder
        self.refusal = refusal
        self.watches = watches
        self.registered: list[wire.RegisterRequest] = []
        self.devices: dict[str, list[wire.Device]] = {}
        """The last list of each resource; gone when its stream ended."""
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._server: grpc.aio.Server | None = None

    async def start(self) -> "FakeKubelet":
        for path in self.folder.iterdir():
            if not path.is_dir():
                path.unlink()
        self._server = grpc.aio.server()
        add_answers(self._server, {REGISTER: self._register})
        self._server.add_insecure_port(f"unix:{self.folder}/kubelet.sock")
        await self._server.start()
        return self

    async def kill(self) -> None:
        """Connections break; its socket stays behind, as after SIGKILL, or goes: both happen."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for channel in self._channels.values():
            await channel.close()
        if self._server is not None:
            await self._server.stop(None)

    async def _register(self, request: wire.RegisterRequest, context: CallContext) -> wire.Empty:
        self.registered.append(request)
        if self.refusal:
            await context.abort(grpc.StatusCode.UNKNOWN, self.refusal)
        channel = grpc.aio.insecure_channel(f"unix:{self.folder / request.endpoint}")
        self._channels[request.resource_name] = channel
        await GET_OPTIONS.ask(channel, wire.Empty(), 5)
        if self.watches:
            self._tasks.append(asyncio.create_task(self._watch(request.resource_name, channel)))
        return wire.Empty()

    async def _watch(self, resource: str, channel: grpc.aio.Channel) -> None:
        with suppress(grpc.aio.AioRpcError):
            async for answer in LIST_AND_WATCH.watch(channel, wire.Empty()):
                self.devices[resource] = list(answer.devices)
        self.devices.pop(resource, None)

    def health(self, resource: str) -> dict[str, str]:
        return {device.ID: device.health for device in self.devices.get(resource, ())}

    async def allocate(self, resource: str, *ids: str) -> wire.ContainerAllocateResponse:
        request = wire.AllocateRequest(container_requests=[wire.ContainerAllocateRequest(devices_ids=ids)])
        answer = await ALLOCATE.ask(self._channels[resource], request, 5)
        return answer.container_responses[0]

    async def prefer(self, resource: str, available: list[str], required: list[str], size: int) -> list[str]:
        asked = wire.ContainerPreferredAllocationRequest(
            available_deviceIDs=available, must_include_deviceIDs=required, allocation_size=size
        )
        request = wire.PreferredAllocationRequest(container_requests=[asked])
        answer = await GET_PREFERRED_ALLOCATION.ask(self._channels[resource], request, 5)
        return list(answer.container_responses[0].deviceIDs)

    async def pre_start(self, resource: str, *ids: str) -> None:
        request = wire.PreStartContainerRequest(devices_ids=ids)
        await PRE_START_CONTAINER.ask(self._channels[resource], request, 40)


async def until(holds: Callable[[], Any]) -> None:
    """Waits until something holds; what it was at the end is in the message otherwise."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, holds()
        await asyncio.sleep(0.02)


async def refused(call: Awaitable[Any]) -> tuple[str, str]:
    """Code and text."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error.code().name, error.details() or ""
    raise AssertionError("it was not refused")
