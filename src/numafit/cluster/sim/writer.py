"""Statuses of pods on their way to the API server: each pod once, the newest status, rejections first."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from numafit.cluster.kube.api import STRATEGIC, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.pace import Backoff
from numafit.cluster.sim.group import SimulatedNode
from numafit.cluster.sim.played import PlayedPod
from numafit.cluster.sim.status import status_patch
from numafit.errors import ApiServerError, InputError

WORKERS = 12
TRIES = 3
"""For what the server calls a conflict: another one changes the pod at the same moment."""
GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
ODD = (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)

Key = tuple[str, str]
"""The node's name, the pod's UID."""


class StatusWriter:
    """`told` is called when a pod's status has arrived."""

    def __init__(
        self, api: KubeApi, health: ApiHealth, told: Callable[[SimulatedNode, PlayedPod], None] | None = None
    ) -> None:
        self._api, self._health, self._told = api, health, told
        self._urgent: OrderedDict[Key, SimulatedNode] = OrderedDict()
        self._others: OrderedDict[Key, SimulatedNode] = OrderedDict()
        self._busy: set[Key] = set()
        self._again: dict[Key, SimulatedNode] = {}
        """Those that changed while their last status was on its way."""
        self._odd: dict[Key, int] = {}
        self._wake = asyncio.Event()

    def put(self, node: SimulatedNode, uid: str) -> None:
        pod = node.kubelet.pods.get(uid)
        if pod is None:
            return
        key = (node.kubelet.name, uid)
        if key in self._busy:
            self._again[key] = node
            return
        if pod.rejected or pod.deleting:
            self._others.pop(key, None)
            self._urgent[key] = node
        elif key not in self._urgent:
            self._others[key] = node
        self._wake.set()

    @property
    def waiting(self) -> int:
        return len(self._urgent) + len(self._others) + len(self._busy) + len(self._again)

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def drained(self, seconds: float) -> None:
        """All is told, or so much time has passed."""
        end = time.monotonic() + seconds
        while self.waiting and time.monotonic() < end:
            await asyncio.sleep(0.02)

    async def _work(self) -> None:
        backoff = Backoff()
        while True:
            while not self._urgent and not self._others:
                self._wake.clear()
                await self._wake.wait()
            key, node = (self._urgent or self._others).popitem(last=False)
            self._busy.add(key)
            failed = False
            try:
                await self._write(node, key[1])
                backoff.succeeded()
                self._odd.pop(key, None)
            except InputError as error:
                failed = self._is_to_be_tried_again(key, error)
            if failed:
                await asyncio.sleep(backoff.seconds())
            self._busy.discard(key)
            if self._again.pop(key, None) is not None or failed:
                self.put(node, key[1])

    def _is_to_be_tried_again(self, key: Key, error: InputError) -> bool:
        status = error.status if isinstance(error, ApiServerError) else 0
        if status in GONE:
            return False
        self._health.failed(error)
        if status in ODD:
            # Another pod of the same name has its place, or somebody else wrote at the same moment.
            self._odd[key] = self._odd.get(key, 0) + 1
            if self._odd[key] >= TRIES:
                del self._odd[key]
                return False
        return True

    async def _write(self, node: SimulatedNode, uid: str) -> None:
        pod = node.kubelet.pods.get(uid)
        if pod is None or not (pod.admitted or pod.over):
            # Nobody has decided about it yet.
            return
        path = f"/api/v1/namespaces/{pod.pod.namespace}/pods/{pod.pod.name}"
        # One that had ended before it was deleted has been told already.
        ended = pod.over and pod.told
        if not ended:
            over = pod.over
            devices = node.kubelet.situation.ledger.device
            content = status_patch(pod, node.style, devices, node.kubelet.host_ip, time.time())
            await self._api.patch(f"{path}/status", msgspec.json.encode(content), STRATEGIC)
            pod.told = over
            if self._told is not None:
                self._told(node, pod)
        if pod.deleting and pod.over and pod.told:
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
            await self._api.delete(path, msgspec.json.encode(options))
