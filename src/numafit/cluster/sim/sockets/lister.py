"""PodResources at its socket: the calls of the kubelet's release, its limits, and the errors it has for them."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import grpc
import grpc.aio
from google.protobuf.message import Message

from numafit.cluster.sim.sockets.releases import socket_rules
from numafit.cluster.sim.sockets.resources import allocatable, listed, listed_before, pod_resources, swept
from numafit.cluster.wire import pod_resources_pb2 as wire
from numafit.cluster.wire.services import (
    GET_ALLOCATABLE_RESOURCES,
    GET_POD_RESOURCES,
    LIST_POD_RESOURCES,
    OLD_LIST_POD_RESOURCES,
    AnyCall,
    CallContext,
    add_answers,
)
from numafit.decision.history.situation import Situation
from numafit.workload.pod import Pod

PER_SECOND = 100
BURST = 10
LIMITED = "rejected by rate limit"

Clock = Callable[[], float]
"""Seconds, from any beginning."""
UnaryAnswerer = Callable[[Any, CallContext], Awaitable[Message]]


class PodResourcesNode(Protocol):
    """Of whom is told."""

    @property
    def situation(self) -> Situation: ...

    @property
    def known(self) -> tuple[Pod, ...]:
        """All pods that the kubelet has heard of and nobody has deleted, in the order in which they came."""
        ...

    async def freed(self) -> None:
        """The devices of pods that have gone are free from now on; nobody waits long for that."""
        ...


class TokenBucket:
    """So many at once, and so many in each second."""

    def __init__(self, clock: Clock, per_second: float = PER_SECOND, burst: float = BURST) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._tokens = burst
        self._filled = clock()

    def take(self) -> bool:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._per_second)
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class PodResourcesLister:
    """One for each start of the kubelet: what its CPU manager can give is settled then."""

    def __init__(self, node: PodResourcesNode, clock: Clock) -> None:
        self._node = node
        start = node.situation
        self._rules = socket_rules(start.node.settings)
        self._cpus = start.node.cpu.allocatable(start.ledger.cpu)
        self._bucket = TokenBucket(clock)
        self._server: grpc.aio.Server | None = None

    async def start(self, socket: Path) -> None:
        self._server = grpc.aio.server()
        calls: dict[AnyCall, UnaryAnswerer] = {
            LIST_POD_RESOURCES: self._list,
            GET_ALLOCATABLE_RESOURCES: self._allocatable,
            GET_POD_RESOURCES: self._get,
            OLD_LIST_POD_RESOURCES: self._list_before,
        }
        add_answers(self._server, {call: self._limited(answer) for call, answer in calls.items()})
        self._server.add_insecure_port(f"unix:{socket}")
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)

    def _limited(self, answer: UnaryAnswerer) -> UnaryAnswerer:
        async def limited(request: Any, context: CallContext) -> Message:
            if self._rules.rate_limit and not self._bucket.take():
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, LIMITED)
            return await answer(request, context)

        return limited

    async def _list(self, request: wire.ListPodResourcesRequest, context: CallContext) -> Message:
        await self._node.freed()
        return listed(swept(self._node.situation), self._node.known)

    async def _list_before(self, request: wire.ListPodResourcesRequest, context: CallContext) -> Message:
        await self._node.freed()
        return listed_before(swept(self._node.situation), self._node.known)

    async def _allocatable(self, request: wire.AllocatableResourcesRequest, context: CallContext) -> Message:
        settings = self._node.situation.node.settings
        if not self._rules.allocatable:
            await _unknown(context, "GetAllocatableResources")
        if not settings.was_on("KubeletPodResourcesGetAllocatable"):
            name = "Pod Resources" if settings.version.minor < 27 else "PodResources"
            await context.abort(grpc.StatusCode.UNKNOWN, f"{name} API GetAllocatableResources disabled")
        return allocatable(self._node.situation, self._cpus)

    async def _get(self, request: wire.GetPodResourcesRequest, context: CallContext) -> Message:
        situation = self._node.situation
        settings = situation.node.settings
        if not self._rules.get:
            await _unknown(context, "Get")
        if not self._rules.get_active and not settings.gate("KubeletPodResourcesGet"):
            await context.abort(grpc.StatusCode.UNKNOWN, "PodResources API Get method disabled")
        pods = situation.ledger.active.values() if self._rules.get_active else self._node.known
        name = (request.pod_namespace, request.pod_name)
        found = [pod for pod in pods if (pod.namespace, pod.name) == name]
        if not found:
            text = f"pod {request.pod_name} in namespace {request.pod_namespace} not found"
            await context.abort(grpc.StatusCode.UNKNOWN, text)
        return wire.GetPodResourcesResponse(pod_resources=pod_resources(situation, found[-1]))


async def _unknown(context: CallContext, method: str) -> None:
    service = LIST_POD_RESOURCES.service
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"unknown method {method} for service {service}")
