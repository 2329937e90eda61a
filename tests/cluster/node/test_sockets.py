import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc.aio
import pytest

from numafit.cluster.node.sockets import SilentKubelet, SocketAnswer, asked
from numafit.cluster.wire import pod_resources_pb2 as wire
from numafit.cluster.wire.services import GET_ALLOCATABLE_RESOURCES, CallContext, add_answers


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short: a socket lies in it."""
    with tempfile.TemporaryDirectory(prefix="nf-") as name:
        yield Path(name)


async def answered(folder: Path) -> SocketAnswer:
    async def offer(
        request: wire.AllocatableResourcesRequest, context: CallContext
    ) -> wire.AllocatableResourcesResponse:
        topology = wire.TopologyInfo(nodes=[wire.NUMANode(ID=1)])
        devices = [
            wire.ContainerDevices(resource_name="lab.io/gpu", device_ids=["g1"], topology=topology),
            wire.ContainerDevices(resource_name="lab.io/nic", device_ids=["n0"]),
        ]
        return wire.AllocatableResourcesResponse(devices=devices, cpu_ids=[0, 1])

    (folder / "pod-resources").mkdir()
    server = grpc.aio.server()
    add_answers(server, {GET_ALLOCATABLE_RESOURCES: offer})
    server.add_insecure_port(f"unix:{folder / 'pod-resources' / 'kubelet.sock'}")
    await server.start()
    try:
        return await asked(folder)
    finally:
        await server.stop(0)


def test_devices_come_with_their_numa_nodes(folder: Path) -> None:
    told = asyncio.run(answered(folder))
    assert {(own.resource, own.id, own.numa) for own in told.devices} == {
        ("lab.io/gpu", "g1", (1,)),
        ("lab.io/nic", "n0", None),
    }


def test_a_kubelet_that_does_not_answer_is_told(folder: Path) -> None:
    with pytest.raises(SilentKubelet, match="there is no socket"):
        asyncio.run(asked(folder))
    (folder / "pod-resources").mkdir()
    (folder / "pod-resources" / "kubelet.sock").write_text("")
    with pytest.raises(SilentKubelet, match="UNAVAILABLE"):
        asyncio.run(asked(folder))
