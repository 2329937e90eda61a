"""The kubelet's sockets: what is generated is what the .proto files say, and the tables of calls agree with them."""

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import FileDescriptor

from numafit.cluster.wire import device_plugin_pb2 as plugin
from numafit.cluster.wire import pod_resources_pb2 as resources
from numafit.cluster.wire.services import (
    ALLOCATE,
    CALLS,
    GET_OPTIONS,
    LIST_AND_WATCH,
    AnyCall,
    CallContext,
    add_answers,
)

ROOT = Path(__file__).resolve().parents[3]


def said_by(file: FileDescriptor) -> set[tuple[str, str, str, str, bool]]:
    return {
        (service.full_name, method.name, method.input_type.name, method.output_type.name, method.server_streaming)
        for service in file.services_by_name.values()
        for method in service.methods
    }


def said_by_table(call: AnyCall) -> tuple[str, str, str, str, bool]:
    return call.service, call.name, call.request.DESCRIPTOR.name, call.response.DESCRIPTOR.name, call.stream


def test_the_table_of_calls_is_that_of_the_proto_files() -> None:
    assert {said_by_table(call) for call in CALLS} == said_by(plugin.DESCRIPTOR) | said_by(resources.DESCRIPTOR)


@pytest.mark.skipif(importlib.util.find_spec("grpc_tools") is None, reason="grpcio-tools is not installed")
def test_what_is_generated_is_what_the_proto_files_make(tmp_path: Path) -> None:
    """As `./dev wire check` compares it."""
    folder = ROOT / "src/numafit/cluster/wire"
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I", "src", f"--python_out={tmp_path}"]
    command += [f"--pyi_out={tmp_path}", *(str(path.relative_to(ROOT)) for path in sorted(folder.glob("*.proto")))]
    subprocess.run(command, cwd=ROOT, check=True)
    made = {path.name: path.read_text() for path in (tmp_path / "numafit/cluster/wire").iterdir()}
    assert made == {path.name: path.read_text() for path in folder.glob("*_pb2.py*")}


def test_bytes_are_those_of_the_kubelet() -> None:
    """By hand from names and numbers: field 1 of a list holds id, health, and a topology of one NUMA node."""
    device = plugin.Device(ID="a", health="Healthy", topology=plugin.TopologyInfo(nodes=[plugin.NUMANode(ID=1)]))
    inner = b"\x0a\x01a\x12\x07Healthy\x1a\x04\x0a\x02\x08\x01"
    listed = plugin.ListAndWatchResponse(devices=[device])
    assert listed.SerializeToString() == b"\x0a" + bytes([len(inner)]) + inner


def test_calls_cross_a_socket(tmp_path: Path) -> None:
    """One answer, many answers, and a call that nobody answers."""

    async def options(_request: plugin.Empty, _context: CallContext) -> plugin.DevicePluginOptions:
        return plugin.DevicePluginOptions(pre_start_required=True)

    async def listed(_request: plugin.Empty, _context: CallContext) -> AsyncIterator[plugin.ListAndWatchResponse]:
        for name in "ab":
            yield plugin.ListAndWatchResponse(devices=[plugin.Device(ID=name)])

    async def talk() -> None:
        server = grpc.aio.server()
        add_answers(server, {GET_OPTIONS: options, LIST_AND_WATCH: listed})
        server.add_insecure_port(f"unix:{tmp_path}/s")
        await server.start()
        async with grpc.aio.insecure_channel(f"unix:{tmp_path}/s") as channel:
            assert (await GET_OPTIONS.ask(channel, plugin.Empty(), 5)).pre_start_required
            lists = [answer async for answer in LIST_AND_WATCH.watch(channel, plugin.Empty())]
            assert [each.devices[0].ID for each in lists] == ["a", "b"]
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await ALLOCATE.ask(channel, plugin.AllocateRequest(), 5)
            assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        await server.stop(None)

    asyncio.run(talk())
