"""The extender as a process: the cluster's copy, the server that schedulers ask, the metrics."""

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

import msgspec

from numafit.cluster.extender.configuration import FILTER, PRIORITIZE
from numafit.cluster.extender.counts import ExtenderCollector, ExtenderCounts
from numafit.cluster.extender.extender import Extender, ExtenderOptions
from numafit.cluster.extender.waiting import wake_for_ever
from numafit.cluster.https.certificates import ServingContext, ServingFiles
from numafit.cluster.https.messages import (
    AnsweredAtOnce,
    Answering,
    AtOnce,
    ServerAnswer,
    ServerRequest,
    is_loopback,
    text_answer,
)
from numafit.cluster.https.server import HttpServer
from numafit.cluster.kube.access import Access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth, HealthCollector
from numafit.cluster.kube.probes import LoopPulse, ProbePlace, serve_probes
from numafit.cluster.kube.signals import stop_event
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.needs import NeedAnswers
from numafit.errors import InputError

SWEEP_SECONDS = 1.0
REST_SECONDS = 0.05
"""Between two looks at changes of pods. An offer counts until its pod is seen bound, and what a pod leaves is free when
its node reports that: nothing depends on these being seen sooner, and a busy scheduler makes hundreds each second."""


class ExtenderPlace(msgspec.Struct, frozen=True):
    """Where it is asked, and where it is watched."""

    address: str
    port: int
    files: ServingFiles | None = None
    """None: plain HTTP, on loopback only."""
    prioritize: bool = False
    probes: ProbePlace = ProbePlace("127.0.0.1", 0)


def checked(place: ExtenderPlace) -> ExtenderPlace:
    """Raises InputError for one that lets everybody ask and answer."""
    if place.files is None and not is_loopback(place.address):
        why = f"without certificates it answers on loopback only, and not on {place.address}"
        cure = "name them by --certificate, --key and --client-ca, or take --address 127.0.0.1"
        raise InputError(why, source="--address", cure=cure)
    return place


def answering(extender: Extender, *, prioritize: bool) -> Answering:
    """For schedulers, by the last words of their addresses."""
    verbs = {f"/{FILTER}": extender.filter, **({f"/{PRIORITIZE}": extender.prioritize} if prioritize else {})}

    async def answer(request: ServerRequest) -> ServerAnswer:
        asked = verbs.get(request.path)
        if asked is None:
            return text_answer(f"there is {' and '.join(verbs)}", HTTPStatus.NOT_FOUND)
        if request.method != "POST":
            return text_answer("only POST", HTTPStatus.METHOD_NOT_ALLOWED)
        try:
            answer = ServerAnswer(asked(request.content))
            # After this turn, in which the answer is sent.
            asyncio.get_running_loop().call_soon(extender.prepare)
            return answer
        except msgspec.MsgspecError as error:
            extender.counts.unreadable += 1
            return _no_question(error)

    return answer


def at_once(extender: Extender) -> AtOnce:
    """The question that is asked for each pod; all else is left to `answering`."""
    filtering = f"/{FILTER}"

    def answer(request: ServerRequest) -> AnsweredAtOnce | None:
        if request.path != filtering:
            return None
        try:
            answer, noted = extender.filtered(request.content)
        except msgspec.MsgspecError as error:
            extender.counts.unreadable += 1
            return AnsweredAtOnce(_no_question(error), _nothing)

        def afterwards() -> None:
            noted()
            asyncio.get_running_loop().call_soon(extender.prepare)

        return AnsweredAtOnce(ServerAnswer(answer), afterwards)

    return answer


def _no_question(error: msgspec.MsgspecError) -> ServerAnswer:
    return text_answer(f"this is no question of a scheduler: {error}", HTTPStatus.BAD_REQUEST)


def _nothing() -> None:
    """Nothing comes after the answer."""


def serve_extender(
    access: Access,
    place: ExtenderPlace,
    options: ExtenderOptions,
    say: Callable[[str], None],
) -> None:
    """Until SIGTERM or Ctrl-C. Raises InputError when it cannot begin."""
    files = checked(place).files
    tls = ServingContext(files, say) if files is not None else None

    async def until_told() -> None:
        stop = stop_event()
        health, counts = ApiHealth(), ExtenderCounts()
        async with KubeApi(access) as api:
            live = LiveFleet(api, health, rest=REST_SECONDS)
            extender = Extender(live, NeedAnswers(live).needed, options, counts)

            def failed(error: Exception) -> None:
                say(f"an error inside: {type(error).__name__}: {error}")

            asked = answering(extender, prioritize=place.prioritize)
            server = HttpServer(asked, tls, failed, at_once=at_once(extender))
            port = server.bind(place.address, place.port)
            collectors = (_collector(extender, live), HealthCollector(health))
            pulse = LoopPulse()
            end = serve_probes(place.probes, collectors, lambda: _unready(live, health), pulse.dead)

            async def sweep() -> None:
                told = ""
                while not live.synced.is_set():
                    pulse.beat()
                    await asyncio.sleep(SWEEP_SECONDS)
                # What was listed stays: to look through all of it again and again would make a scheduler wait.
                gc.collect()
                gc.freeze()
                say(f"{len(live.nodes)} nodes are known, {len(live.fleet.nodes)} of them by a NodeTopology")
                while True:
                    pulse.beat()
                    await asyncio.sleep(SWEEP_SECONDS)
                    extender.sweep()
                    if counts.last != told:
                        told = counts.last
                        say(f"an error inside, which keeps no pod waiting: {told}")

            def woken() -> None:
                counts.woken += 1

            works = [live.run(), sweep(), wake_for_ever(extender.refused, api, health, woken), server.run()]
            tasks = [asyncio.create_task(own) for own in works]
            # It listens from its first turn on.
            await asyncio.sleep(0)
            say(f"schedulers are answered on {'https' if tls else 'http'}://{place.address}:{port}")
            told = asyncio.create_task(stop.wait())
            await asyncio.wait({*tasks, told}, return_when=asyncio.FIRST_COMPLETED)
            for task in (*tasks, told):
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task
            end()

    asyncio.run(until_told())


def _collector(extender: Extender, live: LiveFleet) -> ExtenderCollector:
    return ExtenderCollector(
        extender.counts,
        lambda: extender.offers.expired,
        {
            "offers": ("Pods that are offered nodes and not seen bound yet", lambda: len(extender.offers)),
            "refused_pods": ("Pods that were refused and wait", lambda: len(extender.refused)),
            "nodes": ("Nodes that publish how they stand", lambda: len(live.fleet.nodes)),
            "unknown_nodes": ("Nodes that publish nothing that can be used", lambda: _unknown(live)),
        },
    )


def _unknown(live: LiveFleet) -> int:
    return len(live.nodes) - len(live.fleet.nodes)


def _unready(live: LiveFleet, health: ApiHealth) -> str:
    if live.synced.is_set():
        return ""
    return f"nodes and pods are not listed yet{f': {health.last}' if health.last else ''}"
