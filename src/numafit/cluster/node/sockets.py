"""The kubelet's PodResources socket: devices with their NUMA nodes.

What containers were given the state files tell better, by UID; the socket knows names only.
"""

from pathlib import Path

import grpc
import grpc.aio
import msgspec
from google.protobuf.json_format import MessageToJson

from numafit.cluster.wire import pod_resources_pb2 as wire
from numafit.cluster.wire.services import GET_ALLOCATABLE_RESOURCES
from numafit.machine.model import Device
from numafit.machine.read.podresources import read_podresources

SOCKET = "pod-resources/kubelet.sock"
LARGEST = 64 << 20
"""Bytes of an answer."""
SECONDS = 5.0
"""For an answer."""


class SocketAnswer(msgspec.Struct, frozen=True):
    """What the kubelet said last."""

    devices: tuple[Device, ...]
    """Those that it may give to pods: the healthy ones."""


class SilentKubelet(Exception):
    """It does not answer; the text says why."""


async def asked(folder: Path) -> SocketAnswer:
    """Of the kubelet whose folder this is. Raises SilentKubelet."""
    socket = folder / SOCKET
    if not socket.exists():
        raise SilentKubelet(f"there is no socket {socket}")
    async with grpc.aio.insecure_channel(
        f"unix:{socket}", options=[("grpc.max_receive_message_length", -1)]
    ) as channel:
        try:
            offered = await GET_ALLOCATABLE_RESOURCES.ask(channel, wire.AllocatableResourcesRequest(), SECONDS)
        except grpc.aio.AioRpcError as error:
            raise SilentKubelet(f"{socket} answers {error.code().name}: {error.details()}") from None
    return SocketAnswer(_devices(offered))


def _devices(offered: wire.AllocatableResourcesResponse) -> tuple[Device, ...]:
    if not offered.devices:
        return ()
    text = MessageToJson(wire.AllocatableResourcesResponse(devices=offered.devices), preserving_proto_field_name=True)
    return read_podresources(text, SOCKET).devices
