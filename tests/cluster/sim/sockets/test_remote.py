"""Decisions with a real plugin: what it is asked, what becomes of its answers, and of those that do not come."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message

from numafit.cluster.sim.kubelet import DecisionInterrupted
from numafit.cluster.sim.sockets.remote import go_error
from numafit.cluster.wire import device_plugin_pb2 as wire
from numafit.cluster.wire.pod_resources_pb2 import ListPodResourcesRequest
from numafit.cluster.wire.services import (
    ALLOCATE,
    GET_PREFERRED_ALLOCATION,
    LIST_POD_RESOURCES,
    PRE_START_CONTAINER,
    CallContext,
)
from numafit.decision.files import state_files
from numafit.ledger.files.allocate_response import AllocateResponse, decode_response
from numafit.ledger.files.device import read_device
from numafit.ledger.state_files import DEVICE_FILE
from numafit.workload.pod import Pod
from tests.cluster.device.fake_kubelet import until
from tests.cluster.sim.nodes import from_spec, pod, uid
from tests.cluster.sim.sockets.stage import FPGA, ScriptedPlugin, Stage, device, refusing, serving

FREE: dict[str, Any] = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}}


def wants(name: str, count: int = 1, cpu: str = "2") -> Pod:
    return pod(name, cpu=cpu, **{FPGA: str(count)})


def told(
    folder: Path, story: Callable[[Stage, ScriptedPlugin], Awaitable[None]], config: Any = None, **options: bool
) -> None:
    """The plugin has registered, with four devices on two nodes."""
    stage = Stage(folder, config=config)

    async def tell() -> None:
        async with serving(stage):
            plugin = await stage.plugin(**options).start()
            plugin.devices = (device("a", 0), device("b", 0), device("c", 1), device("d", 1))
            await plugin.register()
            await until(lambda: stage.devices())
            await story(stage, plugin)

    asyncio.run(tell())


def test_allocate_is_called_and_its_answer_is_in_the_checkpoint(tmp_path: Path) -> None:
    async def story(stage: Stage, plugin: ScriptedPlugin) -> None:
        played = await stage.add(wants("p", 2))
        assert played.admitted
        assert plugin.allocated == [["a", "b"]]
        assert not plugin.preferred
        situation = stage.kubelet.situation
        text = state_files(situation.node, situation.ledger)[DEVICE_FILE]
        (entry,) = read_device(text, situation.node.settings.behaviour).entries or ()
        assert decode_response(entry.response) == AllocateResponse(envs={"USED": "a,b", "EMPTY": ""})
        assert entry.response == b"\n\x09\n\x05EMPTY\x12\x00\n\x0b\n\x04USED\x12\x03a,b"

    told(tmp_path, story)


def test_the_plugin_chooses_among_aligned_devices(tmp_path: Path) -> None:
    async def story(stage: Stage, plugin: ScriptedPlugin) -> None:
        await stage.add(wants("p"))
        assert (plugin.preferred, plugin.allocated) == ([(["a", "b"], [], 1)], [["b"]])
        assert stage.held("p") == {"b"}

    told(tmp_path, story, get_preferred_allocation_available=True)


def test_a_plugin_that_fails_to_allocate_rejects_the_pod_with_its_error(tmp_path: Path) -> None:
    async def story(stage: Stage, plugin: ScriptedPlugin) -> None:
        plugin.instead[ALLOCATE] = refusing(grpc.StatusCode.FAILED_PRECONDITION, "no firmware")
        played = await stage.add(wants("p"))
        assert (played.phase, played.reason) == ("Failed", "UnexpectedAdmissionError")
        text = "rpc error: code = FailedPrecondition desc = no firmware"
        assert played.message == f"Pod was rejected: Allocate failed due to {text}, which is unexpected"
        del plugin.instead[ALLOCATE]
        plugin.instead[GET_PREFERRED_ALLOCATION] = refusing(grpc.StatusCode.UNKNOWN, "no idea")
        played = await stage.add(wants("q"))
        text = "device plugin GetPreferredAllocation rpc failed with err: rpc error: code = Unknown desc = no idea"
        assert played.message == f"Pod was rejected: Allocate failed due to {text}, which is unexpected"
        del plugin.instead[GET_PREFERRED_ALLOCATION]
        assert (await stage.add(wants("r"))).admitted

    told(tmp_path, story, get_preferred_allocation_available=True)


def test_an_answer_for_no_container_rejects_the_pod(tmp_path: Path) -> None:
    async def nothing(request: Any, context: CallContext) -> Message:
        return wire.AllocateResponse()

    async def story(stage: Stage, plugin: ScriptedPlugin) -> None:
        plugin.instead[ALLOCATE] = nothing
        played = await stage.add(wants("p"))
        assert "no containers return in allocation response" in played.message

    told(tmp_path, story)


def test_an_answer_that_prefers_nothing_leaves_the_choice_to_the_kubelet(tmp_path: Path) -> None:
    async def nothing(request: Any, context: CallContext) -> Message:
        return wire.PreferredAllocationResponse()

    async def story(stage: Stage, plugin: ScriptedPlugin) -> None:
        plugin.instead[GET_PREFERRED_ALLOCATION] = nothing
        await stage.add(wants("p"))
        assert stage.held("p") == {"a"}

    told(tmp_path, story, get_preferred_allocation_available=True)


def hanging(begun: asyncio.Event, free: asyncio.Event) -> Callable[[Any, CallContext], Awaitable[Message]]:
    async def hang(request: Any, context: CallContext) -> Message:
        begun.set()
        await free.wait()
        return wire.AllocateResponse(container_responses=[wire.ContainerAllocateResponse()])

    return hang


def test_while_a_plugin_hangs_nothing_else_of_the_node_is_decided(tmp_path: Path) -> None:
    """As with a kubelet, which waits in its sync loop and without a limit."""

    async def story(stage: Stage, plugin: ScriptedPlugin) -> None:
        begun, free = asyncio.Event(), asyncio.Event()
        plugin.instead[ALLOCATE] = hanging(begun, free)
        first = asyncio.create_task(stage.add(wants("p")))
        await begun.wait()
        second = asyncio.create_task(stage.add(pod("plain", cpu="1")))
        await asyncio.sleep(0.3)
        assert not first.done()
        assert not second.done()
        assert uid("plain") not in stage.kubelet.pods
        # Who asks it is answered, and another list is taken when its turn comes.
        async with grpc.aio.insecure_channel(f"unix:{tmp_path}/pod-resources/kubelet.sock") as channel:
            assert not (await LIST_POD_RESOURCES.ask(channel, ListPodResourcesRequest(), 5)).pod_resources
        plugin.show(device("a"))
        free.set()
        assert (await first).admitted
        assert (await second).admitted
        await until(lambda: stage.devices() == {"a": True})

    told(tmp_path, story)


def test_the_end_of_a_plugin_ends_the_call_that_hangs(tmp_path: Path) -> None:
    async def story(stage: Stage, plugin: ScriptedPlugin) -> None:
        begun = asyncio.Event()
        plugin.instead[ALLOCATE] = hanging(begun, asyncio.Event())
        first = asyncio.create_task(stage.add(wants("p")))
        await begun.wait()
        await plugin.stop()
        played = await first
        assert played.reason == "UnexpectedAdmissionError"
        assert "Allocate failed due to " in played.message

    told(tmp_path, story)


def test_a_node_that_ends_while_a_plugin_hangs_decides_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def tell() -> None:
        begun = asyncio.Event()
        async with serving(stage):
            plugin = await stage.plugin().start()
            plugin.instead[ALLOCATE] = hanging(begun, asyncio.Event())
            await plugin.register()
            await until(lambda: stage.devices())
            first = asyncio.create_task(stage.add(wants("p")))
            await begun.wait()
        with pytest.raises(DecisionInterrupted):
            await first

    asyncio.run(tell())
    assert uid("p") not in stage.kubelet.situation.ledger.active
    assert stage.kubelet.pods[uid("p")].phase == "Pending"


def test_containers_are_prepared_by_the_plugin_before_they_start(tmp_path: Path) -> None:
    async def story(stage: Stage, plugin: ScriptedPlugin) -> None:
        await stage.add(wants("p", 2))
        assert plugin.prepared == [["a", "b"]]
        plugin.instead[PRE_START_CONTAINER] = refusing(grpc.StatusCode.UNKNOWN, "not now")
        played = await stage.add(wants("q"))
        assert played.admitted
        assert stage.kubelet.situation.unstarted == ((uid("q"), ("c",)),)
        del plugin.instead[PRE_START_CONTAINER]
        plugin.show(*plugin.devices)
        await until(lambda: not stage.kubelet.situation.unstarted)
        assert plugin.prepared[1:] == [["c"]]

    told(tmp_path, story, pre_start_required=True)


def test_what_is_missing_beside_aligned_devices_is_asked_for_with_those(tmp_path: Path) -> None:
    """Three devices, two of them near: those are taken, and must be part of the answer."""
    best = {**FREE, "topologyManagerPolicy": "best-effort"}

    async def story(stage: Stage, plugin: ScriptedPlugin) -> None:
        first = from_spec(
            "p",
            {
                "containers": [
                    {"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "2", "memory": "64Mi", FPGA: "1"}}}
                ]
            },
        )
        await stage.add(first, wants("q", 3))
        assert plugin.preferred[0] == (["a", "b"], [], 1)
        assert stage.held("q") | stage.held("p") == {"a", "b", "c", "d"}

    told(tmp_path, story, best, get_preferred_allocation_available=True)


def test_errors_read_as_a_kubelet_prints_them() -> None:
    def error(code: grpc.StatusCode, text: str | None) -> str:
        return go_error(grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), text))

    assert error(grpc.StatusCode.CANCELLED, "x") == "rpc error: code = Canceled desc = x"
    assert error(grpc.StatusCode.RESOURCE_EXHAUSTED, None) == "rpc error: code = ResourceExhausted desc = "
    read = "rpc error: code = Unavailable desc = error reading from server: EOF"
    assert error(grpc.StatusCode.UNAVAILABLE, "Socket closed") == read
