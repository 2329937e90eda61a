"""One resource's device plugin: answers the kubelet's calls on a socket, and sends a new list when devices change."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import grpc
import grpc.aio

from numafit.cluster.device.answers import allocated, device_list, options, preferred, require_units
from numafit.cluster.device.offer import ResourceOffer
from numafit.cluster.device.socket import Identity, identity
from numafit.cluster.wire import device_plugin_pb2 as wire
from numafit.cluster.wire.services import (
    ALLOCATE,
    GET_OPTIONS,
    GET_PREFERRED_ALLOCATION,
    LIST_AND_WATCH,
    PRE_START_CONTAINER,
    CallContext,
    add_answers,
)
from numafit.errors import InputError

T = TypeVar("T")

PRE_START_SECONDS = 30.0
"""So long the kubelet waits for it."""


class DevicePlugin:
    """`offer` may be replaced at any time (`change`); calls that run keep the one they began with."""

    def __init__(self, offer: ResourceOffer, socket: Path) -> None:
        self.offer = offer
        self.socket = socket
        self.watchers = 0
        """Kubelets that get the list of devices now."""
        self._changed = asyncio.Event()
        self._server: grpc.aio.Server | None = None
        self._identity: Identity | None = None

    @property
    def is_reachable(self) -> bool:
        """The socket that it listens at is still the one in the folder: a kubelet that starts removes all of them."""
        return self._server is not None and self._identity == identity(self.socket)

    async def start(self) -> None:
        """Raises InputError when the socket cannot be made."""
        await self.stop()
        try:
            self._remove_left_over()
        except OSError as error:
            raise InputError(f"cannot be replaced: {error.strerror}", source=str(self.socket)) from None
        server = grpc.aio.server()
        add_answers(
            server,
            {
                GET_OPTIONS: self._options,
                LIST_AND_WATCH: self._list_and_watch,
                GET_PREFERRED_ALLOCATION: self._preferred,
                ALLOCATE: self._allocate,
                PRE_START_CONTAINER: self._pre_start,
            },
        )
        try:
            server.add_insecure_port(f"unix:{self.socket}")
        except RuntimeError:
            raise InputError("no socket can be made here", source=str(self.socket), cure="run it as root") from None
        await server.start()
        self._server, self._identity = server, identity(self.socket)

    async def stop(self) -> None:
        """Streams end, and the socket goes away if it is still ours."""
        server, self._server = self._server, None
        if server is None:
            return
        ours = self._identity == identity(self.socket)
        await server.stop(None)
        if ours:
            self.socket.unlink(missing_ok=True)

    def change(self, offer: ResourceOffer) -> None:
        if offer != self.offer:
            self.offer = offer
            self._changed.set()
            self._changed = asyncio.Event()

    def _remove_left_over(self) -> None:
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.lstat(self.socket).st_mode):
                self.socket.unlink()

    async def _options(self, _request: wire.Empty, _context: CallContext) -> wire.DevicePluginOptions:
        return options(self.offer)

    async def _list_and_watch(
        self, _request: wire.Empty, _context: CallContext
    ) -> AsyncIterator[wire.ListAndWatchResponse]:
        self.watchers += 1
        try:
            while True:
                changed = self._changed
                yield device_list(self.offer)
                await changed.wait()
        finally:
            self.watchers -= 1

    async def _preferred(
        self, request: wire.PreferredAllocationRequest, context: CallContext
    ) -> wire.PreferredAllocationResponse:
        return await _or_refuse(lambda: preferred(self.offer, request), context)

    async def _allocate(self, request: wire.AllocateRequest, context: CallContext) -> wire.AllocateResponse:
        return await _or_refuse(lambda: allocated(self.offer, request), context)

    async def _pre_start(
        self, request: wire.PreStartContainerRequest, context: CallContext
    ) -> wire.PreStartContainerResponse:
        units = await _or_refuse(lambda: require_units(self.offer, request.devices_ids), context)
        if self.offer.pre_start:
            trouble = await _run((*self.offer.pre_start, *units))
            if trouble:
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, trouble)
        return wire.PreStartContainerResponse()


async def _or_refuse(make: Callable[[], T], context: CallContext) -> T:
    try:
        return make()
    except InputError as error:
        refuse: Awaitable[None] = context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        await refuse
        raise


async def _run(command: tuple[str, ...]) -> str:
    """What went wrong; empty when it ended well."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        return f"{command[0]} cannot be run: {error.strerror}"
    try:
        _, said = await asyncio.wait_for(process.communicate(), PRE_START_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"{command[0]} did not end in {PRE_START_SECONDS:g} seconds"
    if process.returncode == 0:
        return ""
    last = said.decode("utf-8", "replace").strip().rpartition("\n")[2][:300]
    return f"{command[0]} ended with {process.returncode}{': ' if last else ''}{last}"
