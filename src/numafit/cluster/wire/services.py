"""The services of the kubelet's sockets as tables of their calls: by them a server answers and a client asks."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache
from typing import Any, Generic, TypeVar

import grpc
import grpc.aio
import msgspec
from google.protobuf.message import Message

from numafit.cluster.wire import device_plugin_pb2 as plugin
from numafit.cluster.wire import pod_resources_pb2 as resources

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

CallContext = grpc.aio.ServicerContext[Any, Any]
"""Of a call that is being answered."""


@cache
def _hold_thread() -> None:
    """grpc ends its own thread with the last channel or server, and waits for that: for ever, if they are collected
    while one of their calls is still open. Held once, it runs until the process ends (grpcio 1.76)."""
    grpc.aio.init_grpc_aio()


class RemoteCall(msgspec.Struct, Generic[Request, Response], frozen=True):
    """One request. `stream`: as many answers as there are, else one."""

    service: str
    name: str
    request: type[Request]
    response: type[Response]
    stream: bool = False

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"

    async def ask(self, channel: grpc.aio.Channel, request: Request, timeout_seconds: float | None) -> Response:
        """Raises `grpc.aio.AioRpcError`. Without a limit it waits until one end goes away."""
        _hold_thread()
        asked: Any = channel.unary_unary(
            self.path,
            request_serializer=self.request.SerializeToString,
            response_deserializer=self.response.FromString,
        )
        answer: Response = await asked(request, timeout=timeout_seconds)
        return answer

    def watch(self, channel: grpc.aio.Channel, request: Request) -> AsyncIterator[Response]:
        """Until one end goes away; raises `grpc.aio.AioRpcError` then."""
        _hold_thread()
        asked: Any = channel.unary_stream(
            self.path,
            request_serializer=self.request.SerializeToString,
            response_deserializer=self.response.FromString,
        )
        answers: AsyncIterator[Response] = asked(request)
        return answers


_REGISTRATION, _PLUGIN, _LISTER = "v1beta1.Registration", "v1beta1.DevicePlugin", "v1.PodResourcesLister"
_OLD_LISTER = "v1alpha1.PodResourcesLister"

REGISTER = RemoteCall(_REGISTRATION, "Register", plugin.RegisterRequest, plugin.Empty)

GET_OPTIONS = RemoteCall(_PLUGIN, "GetDevicePluginOptions", plugin.Empty, plugin.DevicePluginOptions)
LIST_AND_WATCH = RemoteCall(_PLUGIN, "ListAndWatch", plugin.Empty, plugin.ListAndWatchResponse, stream=True)
GET_PREFERRED_ALLOCATION = RemoteCall(
    _PLUGIN, "GetPreferredAllocation", plugin.PreferredAllocationRequest, plugin.PreferredAllocationResponse
)
ALLOCATE = RemoteCall(_PLUGIN, "Allocate", plugin.AllocateRequest, plugin.AllocateResponse)
PRE_START_CONTAINER = RemoteCall(
    _PLUGIN, "PreStartContainer", plugin.PreStartContainerRequest, plugin.PreStartContainerResponse
)

LIST_POD_RESOURCES = RemoteCall(_LISTER, "List", resources.ListPodResourcesRequest, resources.ListPodResourcesResponse)
GET_ALLOCATABLE_RESOURCES = RemoteCall(
    _LISTER,
    "GetAllocatableResources",
    resources.AllocatableResourcesRequest,
    resources.AllocatableResourcesResponse,
)
GET_POD_RESOURCES = RemoteCall(_LISTER, "Get", resources.GetPodResourcesRequest, resources.GetPodResourcesResponse)
OLD_LIST_POD_RESOURCES = RemoteCall(
    _OLD_LISTER, "List", resources.ListPodResourcesRequest, resources.ListPodResourcesResponse
)
"""Of the older version, whose messages have the same numbers with fewer fields: names and devices."""

AnyCall = RemoteCall[Any, Any]
CALLS: tuple[AnyCall, ...] = (
    *(REGISTER, GET_OPTIONS, LIST_AND_WATCH, GET_PREFERRED_ALLOCATION, ALLOCATE, PRE_START_CONTAINER),
    *(LIST_POD_RESOURCES, GET_ALLOCATABLE_RESOURCES, GET_POD_RESOURCES),
)

Answerer = Callable[[Any, CallContext], Awaitable[Message] | AsyncIterator[Message]]


def add_answers(server: grpc.aio.Server, answers: Mapping[AnyCall, Answerer]) -> None:
    """Before the server starts. A call of a service that is not among them is answered as not implemented."""
    _hold_thread()
    by_service: dict[str, dict[str, Any]] = {}
    for call, answer in answers.items():
        make: Any = grpc.unary_stream_rpc_method_handler if call.stream else grpc.unary_unary_rpc_method_handler
        handler = make(
            answer,
            request_deserializer=call.request.FromString,
            response_serializer=call.response.SerializeToString,
        )
        by_service.setdefault(call.service, {})[call.name] = handler
    handlers = [grpc.method_handlers_generic_handler(service, calls) for service, calls in by_service.items()]
    server.add_generic_rpc_handlers(handlers)
