"""A device plugin at the other end of a socket, as the engine meets it: its answers are waited for.

The engine decides in a thread of the node, where nothing else of that node is decided meanwhile; the calls are made by
the event loop. A kubelet does the same: Allocate and GetPreferredAllocation belong to its sync loop, have no time
limit, and a plugin that hangs keeps every pod of the node waiting (1.20 to 1.37). When its process ends, so does the
call.
"""

import asyncio
import concurrent.futures
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import grpc
import grpc.aio

from numafit.cluster.sim.kubelet import DecisionInterrupted
from numafit.cluster.wire import device_plugin_pb2 as wire
from numafit.cluster.wire.services import ALLOCATE, GET_OPTIONS, GET_PREFERRED_ALLOCATION, PRE_START_CONTAINER
from numafit.managers.device.plugin import Plugin, PluginError

DIAL_SECONDS = 10.0
PRE_START_SECONDS = 30.0
STOPPED = "endpoint … has been stopped"
_READ_FAILED = ("Socket closed", "Connection reset", "recvmsg", "Broken pipe", "GOAWAY")
_CHANNEL = (("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 1000))

T = TypeVar("T")


def go_error(error: grpc.aio.AioRpcError) -> str:
    """As a kubelet prints it."""
    name = "".join(word.capitalize() for word in error.code().name.split("_"))
    name = {"Cancelled": "Canceled", "Ok": "OK"}.get(name, name)
    text = error.details() or ""
    if error.code() is grpc.StatusCode.UNAVAILABLE and any(sign in text for sign in _READ_FAILED):
        text = "error reading from server: EOF"
    return f"rpc error: code = {name} desc = {text}"


class PluginLink:
    """The connection to one plugin. `open` and `close` belong to the event loop, the rest to the node's thread."""

    def __init__(self, resource: str, socket: Path) -> None:
        self.resource = resource
        self.socket = socket
        self.options = wire.DevicePluginOptions()
        self.closed = False
        self._interrupted = False
        self._loop = asyncio.get_running_loop()
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self.channel = grpc.aio.insecure_channel(f"unix:{socket}", options=_CHANNEL)

    async def open(self) -> None:
        """Raises PluginError where nobody answers at the socket."""
        try:
            await asyncio.wait_for(self.channel.channel_ready(), DIAL_SECONDS)
        except TimeoutError:
            raise PluginError("failed to dial device plugin: context deadline exceeded") from None

    async def ask_options(self) -> None:
        try:
            self.options = await GET_OPTIONS.ask(self.channel, wire.Empty(), None)
        except grpc.aio.AioRpcError as error:
            raise PluginError(f"failed to get device plugin options: {go_error(error)}") from None

    async def close(self) -> None:
        self.closed = True
        await self.channel.close()

    def interrupt(self) -> None:
        """Whoever waits for an answer gets none, and decides nothing."""
        self._interrupted = True
        for future in tuple(self._waiting):
            future.cancel()

    # --- from the node's thread --------------------------------------------------------------------------------------

    def preferred(self, available: frozenset[str], must_include: frozenset[str], size: int) -> tuple[str, ...]:
        asked = wire.ContainerPreferredAllocationRequest(
            available_deviceIDs=sorted(available), must_include_deviceIDs=sorted(must_include), allocation_size=size
        )
        request = wire.PreferredAllocationRequest(container_requests=[asked])
        answer = self._wait(GET_PREFERRED_ALLOCATION.ask(self.channel, request, None))
        return tuple(answer.container_responses[0].deviceIDs) if answer.container_responses else ()

    def allocate(self, ids: frozenset[str]) -> bytes:
        asked = wire.ContainerAllocateRequest(devices_ids=sorted(ids))
        answer = self._wait(ALLOCATE.ask(self.channel, wire.AllocateRequest(container_requests=[asked]), None))
        if not answer.container_responses:
            raise PluginError("no containers return in allocation response ")
        # Go writes maps in any order, numafit sorts their keys.
        return answer.container_responses[0].SerializeToString(deterministic=True)

    def pre_start(self, ids: frozenset[str]) -> None:
        request = wire.PreStartContainerRequest(devices_ids=sorted(ids))
        try:
            self._wait(PRE_START_CONTAINER.ask(self.channel, request, PRE_START_SECONDS))
        except PluginError as error:
            raise PluginError(f"device plugin PreStartContainer rpc failed with err: {error}") from None

    def _wait(self, asked: Coroutine[Any, Any, T]) -> T:
        future: concurrent.futures.Future[T] | None = None
        try:
            if self.closed or self._interrupted:
                asked.close()
                raise PluginError(STOPPED)
            future = asyncio.run_coroutine_threadsafe(asked, self._loop)
            self._waiting.add(future)
            if self._interrupted:
                # Between the two looks.
                future.cancel()
            return future.result()
        except grpc.aio.AioRpcError as error:
            problem = go_error(error)
        except (PluginError, grpc.aio.UsageError, concurrent.futures.CancelledError, asyncio.CancelledError):
            problem = STOPPED
        finally:
            if future is not None:
                self._waiting.discard(future)
        if self._interrupted:
            raise DecisionInterrupted(self.resource)
        raise PluginError(problem)


class RemotePlugin(Plugin, frozen=True, kw_only=True):
    link: PluginLink

    def answers(self, available: frozenset[str], must_include: frozenset[str], size: int) -> Iterator[tuple[str, ...]]:
        yield self.link.preferred(available, must_include, size)

    def allocate(self, ids: frozenset[str]) -> bytes:
        return self.link.allocate(ids)

    def pre_start(self, ids: frozenset[str]) -> None:
        if self.link.options.pre_start_required:
            self.link.pre_start(ids)


def remote_plugin(link: PluginLink) -> RemotePlugin:
    offered = link.options.get_preferred_allocation_available
    return RemotePlugin("first" if offered else "none", link=link)
