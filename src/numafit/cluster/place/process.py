"""The placer as a process: it answers for the webhook, decides while it leads, and ends when it is told to.

Every replica knows the cluster and answers the API server; one decides. When it is told to stop, the lease is given
back first, so that another one goes on at once; what waits behind a gate waits for that one. What a loop guard beside
it holds is released where no other one comes.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import msgspec
from prometheus_client.registry import Collector

from numafit.cluster.admission.counts import AdmissionCollector, AdmissionCounts
from numafit.cluster.admission.needs import PlaceWish
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.admission.webhook import Webhook, Wish
from numafit.cluster.kube.access import Access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.election import Election
from numafit.cluster.kube.health import ApiHealth, HealthCollector
from numafit.cluster.kube.pace import Backoff
from numafit.cluster.kube.probes import LoopPulse, ProbePlace, serve_probes
from numafit.cluster.kube.signals import stop_event
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.words import PLACER
from numafit.cluster.place.counts import PlaceCollector, PlaceCounts
from numafit.cluster.place.placer import MOST_IN_FLIGHT, Placer, PlacerOptions
from numafit.cluster.place.troubles import ClusterTroubles
from numafit.cluster.topology.model import PATH
from numafit.errors import ApiServerError, InputError

TURN_SECONDS = 1.0
BESIDE_CONNECTIONS = 16
BEGIN_SECONDS = 60.0
"""For an API server that answers, and not yet as it should."""


class PlaceProcess(msgspec.Struct, frozen=True):
    webhook: WebhookOptions
    placer: PlacerOptions
    probes: ProbePlace


class LeaderWork(msgspec.Struct, frozen=True):
    """What else is done, beside deciding."""

    run: Callable[[], Awaitable[None]]
    """By the leader."""
    always: Callable[[], Awaitable[None]] | None = None
    """By each replica."""
    wishes: Mapping[str, Sequence[Wish]] = {}
    """What it wants of new pods, by the path of the webhook."""
    last: Callable[[], Awaitable[None]] | None = None
    """By the one that led, where nobody takes over."""


BesideLeader = Callable[[KubeApi, ApiHealth, LiveFleet], LeaderWork]


def serve_place(
    access: Access,
    options: PlaceProcess,
    say: Callable[[str], None],
    beside: BesideLeader | None = None,
    collectors: Sequence[Collector] = (),
) -> None:
    """Until SIGTERM or Ctrl-C. Raises InputError when it cannot begin. `beside`: what the leader does, too, and
    `collectors` what that counts."""
    own = _Replica(access, options, say, beside)
    known = (PlaceCollector(own.counts), AdmissionCollector(own.admission), HealthCollector(own.health), *collectors)
    end = serve_probes(options.probes, known, own.unready, own.pulse.dead)
    try:
        asyncio.run(own.until_told())
    finally:
        end()


class _Replica:
    def __init__(
        self, access: Access, options: PlaceProcess, say: Callable[[str], None], beside: BesideLeader | None
    ) -> None:
        self._access, self._options, self._say, self._beside = access, options, say, beside
        self.counts, self.admission, self.health = PlaceCounts(), AdmissionCounts(), ApiHealth()
        self.pulse = LoopPulse()
        self._webhook: Webhook | None = None
        self._live: LiveFleet | None = None
        self._led = False

    def unready(self) -> str:
        if self._live is None or not self._live.synced.is_set():
            return "the cluster is not known yet"
        if self._webhook is None or not self._webhook.ready.is_set():
            return f"the API server does not ask here yet: {self._webhook.trouble if self._webhook else ''}"
        return ""

    async def until_told(self) -> None:
        stop = stop_event()
        async with KubeApi(self._access, connections=MOST_IN_FLIGHT + BESIDE_CONNECTIONS) as api:
            await begun(api, self._options.webhook.namespace, stop)
            await self._work(api, stop)

    async def _work(self, api: KubeApi, stop: asyncio.Event) -> None:
        options, webhook_options = self._options, self._options.webhook
        live = self._live = LiveFleet(api, self.health)
        election = Election(api, webhook_options.namespace, PLACER, options.placer.identity, self.health)
        placer = Placer(api, live, options.placer, self.health, self.counts, self._say, lambda: election.sure)
        beside = self._beside(api, self.health, live) if self._beside is not None else None
        webhook = self._webhook = Webhook(
            api,
            self.health,
            webhook_options,
            PlaceWish(live, webhook_options.namespace),
            keeps=lambda: election.leads,
            counts=self.admission,
            others=beside.wishes if beside is not None else None,
        )

        async def lead() -> None:
            self._led = True
            self.counts.leads = 1
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(placer.run())
                    if beside is not None:
                        group.create_task(_all_of(beside.run()))
            finally:
                self.counts.leads = 0

        leading = asyncio.create_task(election.run(lead))
        others = [asyncio.create_task(own) for own in (webhook.run(), live.run(), self._turn(live))]
        if beside is not None and beside.always is not None:
            others.append(asyncio.create_task(_all_of(beside.always())))
        told = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({leading, *others, told}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            failed = [own.exception() for own in (leading, *others) if own.done() and not own.cancelled()]
            # Whoever leads gives the lease back first; the webhook answers until all that is held is released.
            await _ended(leading)
            last = beside.last if beside is not None and stop.is_set() and self._led else None
            if last is not None and not await election.taken_over():
                self._say("nobody takes over: what the guard holds is released")
                await last()
            for task in (*others, told):
                await _ended(task)
        for error in failed:
            if error is not None:
                raise _first(error)

    async def _turn(self, live: LiveFleet) -> None:
        told, troubles = False, ClusterTroubles(self.health, self._say)
        while True:
            self.pulse.beat()
            self.counts.synced = int(live.synced.is_set())
            if self.counts.synced:
                self.counts.nodes = troubles.nodes(live)
                troubles.missing_rights(time.monotonic())
            if self.counts.synced and not told:
                told = True
                # What was listed stays: to look through all of it again and again would make an API server wait.
                gc.collect()
                gc.freeze()
                unknown = sum(name not in live.fleet.nodes for name in live.nodes)
                self._say(f"nodes that are known by a NodeTopology: {len(live.fleet.nodes)}; without one: {unknown}")
            await asyncio.sleep(TURN_SECONDS)


async def _ended(task: "asyncio.Task[Any]") -> None:
    """`Any`: nobody looks at what it returns."""
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task


async def _all_of(work: Awaitable[None]) -> None:
    await work


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def begun(api: KubeApi, namespace: str, stop: asyncio.Event) -> None:
    """As `check_installed`, with some patience for an API server that has only just started itself: to end and to be
    started again would take longer each time."""
    end, backoff = time.monotonic() + BEGIN_SECONDS, Backoff(longest=5)
    while not stop.is_set():
        try:
            await check_installed(api, namespace)
            return
        except ApiServerError as error:
            if error.status < HTTPStatus.INTERNAL_SERVER_ERROR or time.monotonic() > end:
                raise
        await asyncio.sleep(backoff.seconds())


async def check_installed(api: KubeApi, namespace: str) -> None:
    """Raises InputError where the cluster does not know NodeTopologies, has no namespace for what is ours, or does not
    let us look."""
    try:
        await api.get(PATH, {"limit": "1"})
    except ApiServerError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            cure = "install the node agent first: numafit node-agent --manifest --image IMAGE | kubectl apply -f -"
            why = "this cluster has no NodeTopology, so nobody tells how its nodes stand"
            raise InputError(why, source=error.source, cure=cure) from None
        if error.status != HTTPStatus.TOO_MANY_REQUESTS:
            raise
    try:
        await api.get(f"/api/v1/namespaces/{namespace}")
    except ApiServerError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            cure = f"kubectl create namespace {namespace}, or name another one by --namespace"
            why = f"there is no namespace {namespace}, where its lease and its certificate lie"
            raise InputError(why, source=error.source, cure=cure) from None
        if error.status not in (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS):
            raise
