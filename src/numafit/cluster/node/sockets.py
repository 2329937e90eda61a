"""The kubelet's PodResources socket: devices with their NUMA nodes, and what the containers of which pod were given."""

from collections.abc import Mapping
from pathlib import Path

import grpc
import grpc.aio
import msgspec
from google.protobuf.json_format import MessageToJson

from numafit.cluster.wire import pod_resources_pb2 as wire
from numafit.cluster.wire.services import GET_ALLOCATABLE_RESOURCES, LIST_POD_RESOURCES
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
    cpus: Mapping[str, frozenset[int]] = {}
    """`namespace/name container` -> exclusive CPUs; those that hold none are left out."""


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
            listed = await LIST_POD_RESOURCES.ask(channel, wire.ListPodResourcesRequest(), SECONDS)
        except grpc.aio.AioRpcError as error:
            raise SilentKubelet(f"{socket} answers {error.code().name}: {error.details()}") from None
    return SocketAnswer(_devices(offered), _cpus(listed))


def _devices(offered: wire.AllocatableResourcesResponse) -> tuple[Device, ...]:
    if not offered.devices:
        return ()
    text = MessageToJson(wire.AllocatableResourcesResponse(devices=offered.devices), preserving_proto_field_name=True)
    return read_podresources(text, SOCKET).devices


def _cpus(listed: wire.ListPodResourcesResponse) -> dict[str, frozenset[int]]:
    return {
        f"{pod.namespace}/{pod.name} {container.name}": frozenset(container.cpu_ids)
        for pod in listed.pod_resources
        for container in pod.containers
        if container.cpu_ids
    }
