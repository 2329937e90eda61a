"""Events about loops: on the pod, and on whoever stands behind it."""

import asyncio

import msgspec

from numafit.cluster.guard.counts import GuardCounts
from numafit.cluster.guard.engine import HoldEngine
from numafit.cluster.guard.instructions import Explanation, HoldBegun, HoldEnded, LetGo
from numafit.cluster.guard.record import LoopRecord
from numafit.cluster.guard.telling.owners import TopOwners
from numafit.cluster.guard.telling.story import hold_story, plain_story, rejection_story, try_story
from numafit.cluster.guard.words import ENDED, HELD, REJECTED, RELEASED, WOULD
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.events import Events
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.pods import ClusterPod, PodController
from numafit.cluster.live.words import GUARD
from numafit.cluster.place.candidates import PlacedCluster
from numafit.fleet.waiting.why import WhyMemory

MOST_WAITING = 200
"""What is to be told and was not yet; more is only counted."""
JOB_CURE = (
    " A Job need not fail for it: let `podFailurePolicy` ignore pods with the condition DisruptionTarget"
    " (docs/guard.md)."
)

News = Explanation | HoldBegun | HoldEnded | LetGo


class _Waiting(msgspec.Struct, frozen=True):
    what: News
    record: LoopRecord | None = None


class LoopTeller:
    def __init__(
        self, api: KubeApi, health: ApiHealth, live: PlacedCluster, counts: GuardCounts, *, enforced: bool
    ) -> None:
        self._live, self._counts, self._enforced = live, counts, enforced
        self._events = Events(api, GUARD, health)
        self._owners = TopOwners(api, health)
        self._kept, self._engine = WhyMemory(), HoldEngine(live)
        self._news: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._telling = False

    def tell(self, what: News, record: LoopRecord | None = None) -> None:
        """Soon."""
        if self._news.qsize() >= MOST_WAITING:
            self._counts.unexplained += isinstance(what, Explanation)
            return
        self._news.put_nowait(_Waiting(what, record))

    @property
    def idle(self) -> bool:
        """All was told."""
        return self._news.empty() and not self._telling

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            news = await self._news.get()
            self._telling = True
            try:
                await self._tell(news)
            finally:
                self._telling = False

    async def _tell(self, news: _Waiting) -> None:
        match news.what:
            case Explanation(pod=pod):
                text = self._story(pod)
                if pod.owner is not None and pod.owner.kind == "Job":
                    text += JOB_CURE
                await self._events.tell(pod.reference, "Warning", REJECTED, text)
                if pod.owner is not None and pod.owner.kind != "Node":
                    await self._on_owner(pod.owner, pod.metadata.namespace, "Warning", REJECTED, text)
                self._counts.explained += 1
            case HoldBegun(owner=uid, record=record):
                text = hold_story(record, enforced=self._enforced)
                await self._on_owner(record.controller(uid), record.namespace, "Warning", self._reason(HELD), text)
            case HoldEnded(owner=uid, record=record, why=why):
                text = f"its pods are held no longer: {why}."
                await self._on_owner(record.controller(uid), record.namespace, "Normal", self._reason(ENDED), text)
            case LetGo(pod=pod, why=why, nodes=nodes):
                text = try_story(why, nodes, news.record, enforced=self._enforced)
                await self._events.tell(pod.reference, "Normal", self._reason(RELEASED), text)

    def _story(self, pod: ClusterPod) -> str:
        try:
            return rejection_story(pod, self._live, self._kept, self._engine.unknown(pod))
        # A node or a pod that the engine cannot bear must not end the guard: it is a bug, and counted.
        except Exception as error:
            self._counts.failed(error)
            return plain_story(pod)

    def _reason(self, reason: str) -> str:
        return reason if self._enforced else f"{WOULD}{reason}"

    async def _on_owner(self, owner: PodController, namespace: str, kind: str, reason: str, text: str) -> None:
        await self._events.tell(await self._owners.top(owner, namespace), kind, reason, text)
