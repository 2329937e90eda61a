"""A simulated node with its sockets, and plugins that do what a test says."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message

from numafit.cluster.sim.kubelet import SimulatedKubelet
from numafit.cluster.sim.life import PlayedPod
from numafit.cluster.sim.sockets.service import serve_sockets
from numafit.cluster.wire import device_plugin_pb2 as wire
from numafit.cluster.wire.services import (
    ALLOCATE,
    GET_OPTIONS,
    GET_PREFERRED_ALLOCATION,
    LIST_AND_WATCH,
    PRE_START_CONTAINER,
    REGISTER,
    AnyCall,
    CallContext,
    add_answers,
)
from numafit.workload.pod import Pod
from tests.cluster.device.fake_kubelet import until
from tests.cluster.sim.nodes import bound, kubelet, uid

FPGA = "example.com/fpga"


class Stage:
    """One node; `add` decides in its thread, as the fleet does."""

    def __init__(self, folder: Path, release: str = "1.36.4", config: dict[str, Any] | None = None) -> None:
        self.folder = folder
        self.kubelet: SimulatedKubelet = kubelet(config, release)
        self.started: list[ScriptedPlugin] = []
        self._threads = ThreadPoolExecutor(max_workers=1)

    def plugin(self, name: str = "plugin.sock", **options: bool) -> "ScriptedPlugin":
        """It ends with the stage."""
        self.started.append(ScriptedPlugin(self.plugins, name, **options))
        return self.started[-1]

    async def turn(self, work: Callable[[float], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, time.time())

    async def add(self, *pods: Pod) -> PlayedPod:
        """The last of them, as it stands then."""
        await self.turn(lambda now: self.kubelet.add([bound(own) for own in pods], now))
        return self.kubelet.pods[pods[-1].uid]

    @property
    def plugins(self) -> Path:
        return self.folder / "device-plugins"

    def devices(self, resource: str = FPGA) -> dict[str, bool]:
        """Id -> whether it is healthy, of what the kubelet knows."""
        ledger = self.kubelet.situation.ledger.device
        return {name: name in ledger.healthy.get(resource, ()) for name in ledger.devices.get(resource, {})}

    def held(self, pod: str, resource: str = FPGA) -> frozenset[str]:
        found = self.kubelet.situation.ledger.device.held[uid(pod)]["c"]
        return found[resource].ids


@asynccontextmanager
async def serving(stage: Stage, **more: Any) -> AsyncIterator[Stage]:
    service = asyncio.create_task(serve_sockets(stage.kubelet, stage.folder, stage.turn, **more))
    await until(lambda: service.done() or (stage.plugins / "kubelet.sock").exists())
    if service.done():
        await service
    try:
        yield stage
    finally:
        service.cancel()
        await asyncio.gather(service, return_exceptions=True)
        for plugin in stage.started:
            await plugin.stop()


class ScriptedPlugin:
    """A plugin on its socket. Its answers can be replaced: by values, or by what they do."""

    def __init__(self, folder: Path, name: str, **options: bool) -> None:
        self.folder, self.name = folder, name
        self.options = wire.DevicePluginOptions(**options)
        self.devices: tuple[wire.Device, ...] = (device("a", 0), device("b", 1))
        self.allocated: list[list[str]] = []
        self.preferred: list[tuple[list[str], list[str], int]] = []
        self.prepared: list[list[str]] = []
        self.instead: dict[AnyCall, Callable[[Any, CallContext], Awaitable[Message]]] = {}
        self._changed = asyncio.Event()
        self._server: grpc.aio.Server | None = None

    async def start(self) -> "ScriptedPlugin":
        self._server = grpc.aio.server()
        plain: Mapping[AnyCall, Any] = {
            GET_OPTIONS: self._options,
            LIST_AND_WATCH: self._list,
            ALLOCATE: self._by_test(ALLOCATE, self._allocate),
            GET_PREFERRED_ALLOCATION: self._by_test(GET_PREFERRED_ALLOCATION, self._prefer),
            PRE_START_CONTAINER: self._by_test(PRE_START_CONTAINER, self._prepare),
        }
        add_answers(self._server, plain)
        self._server.add_insecure_port(f"unix:{self.folder / self.name}")
        await self._server.start()
        return self

    async def register(self, **more: Any) -> None:
        request = wire.RegisterRequest(**{"version": "v1beta1", "endpoint": self.name, "resource_name": FPGA, **more})
        async with grpc.aio.insecure_channel(f"unix:{self.folder}/kubelet.sock") as channel:
            await REGISTER.ask(channel, request, 20)

    def show(self, *devices: wire.Device) -> None:
        self.devices = devices
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)

    def _by_test(self, call: AnyCall, plain: Callable[[Any, CallContext], Awaitable[Message]]) -> Any:
        async def answer(request: Any, context: CallContext) -> Message:
            return await self.instead.get(call, plain)(request, context)

        return answer

    async def _options(self, request: wire.Empty, context: CallContext) -> Message:
        return self.options

    async def _list(self, request: wire.Empty, context: CallContext) -> AsyncIterator[Message]:
        while True:
            changed = self._changed
            yield wire.ListAndWatchResponse(devices=self.devices)
            await changed.wait()

    async def _allocate(self, request: wire.AllocateRequest, context: CallContext) -> Message:
        (asked,) = request.container_requests
        self.allocated.append(list(asked.devices_ids))
        envs = {"USED": ",".join(asked.devices_ids), "EMPTY": ""}
        return wire.AllocateResponse(container_responses=[wire.ContainerAllocateResponse(envs=envs)])

    async def _prefer(self, request: wire.PreferredAllocationRequest, context: CallContext) -> Message:
        (asked,) = request.container_requests
        offered, must = list(asked.available_deviceIDs), list(asked.must_include_deviceIDs)
        self.preferred.append((offered, must, asked.allocation_size))
        answer = (must + [name for name in reversed(offered) if name not in must])[: asked.allocation_size]
        return wire.PreferredAllocationResponse(
            container_responses=[wire.ContainerPreferredAllocationResponse(deviceIDs=answer)]
        )

    async def _prepare(self, request: wire.PreStartContainerRequest, context: CallContext) -> Message:
        self.prepared.append(list(request.devices_ids))
        return wire.PreStartContainerResponse()


def device(name: str, node: int | None = 0, health: str = "Healthy") -> wire.Device:
    place = None if node is None else wire.TopologyInfo(nodes=[wire.NUMANode(ID=node)])
    return wire.Device(ID=name, health=health, topology=place)


def refusing(code: grpc.StatusCode, text: str) -> Callable[[Any, CallContext], Awaitable[Message]]:
    async def refuse(request: Any, context: CallContext) -> Message:
        await context.abort(code, text)
        raise AssertionError

    return refuse
