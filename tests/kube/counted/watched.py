"""Every pod of the owners, from a watch of its own: when it was made, ran, was rejected."""

import asyncio
import threading
import time
from pathlib import Path
from statistics import median

import msgspec

from numafit.cluster.kube.access import access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.live.words import NODES_ANNOTATION
from numafit.cluster.topology.model import PATH
from numafit.workload.served import REJECTIONS
from tests.kube.counted.owners import OWNER, SPACE


class CountedMeta(ObjectMeta, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class CountedSpec(msgspec.Struct, frozen=True):
    nodeName: str = ""
    schedulingGates: tuple[dict[str, str], ...] | None = None


class CountedStatus(msgspec.Struct, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""


class CountedPod(msgspec.Struct, frozen=True):
    metadata: CountedMeta
    spec: CountedSpec = CountedSpec()
    status: CountedStatus = CountedStatus()


class ReportedHolder(msgspec.Struct, frozen=True):
    name: str = ""
    gone: bool = False

    def __str__(self) -> str:
        return f"({self.name})" if self.gone else self.name


class ReportedStatus(msgspec.Struct, frozen=True):
    holders: tuple[ReportedHolder, ...] = ()


class NodeReport(msgspec.Struct, frozen=True):
    """A NodeTopology, as far as it says who is there."""

    metadata: ObjectMeta
    status: ReportedStatus = ReportedStatus()


class PodCourse(msgspec.Struct):
    """What became of a pod; moments are seconds since the watch began."""

    name: str
    owner: str
    made: float
    gated: bool = False
    bound: float | None = None
    ran: float | None = None
    ended: float | None = None
    rejected: str = ""
    node: str = ""
    message: str = ""
    offered: str = ""
    gone: float | None = None

    @property
    def there(self) -> bool:
        return self.gone is None


class Watched(threading.Thread):
    def __init__(self, kubeconfig: Path, space: str = SPACE) -> None:
        super().__init__(daemon=True)
        self.kubeconfig, self.space = kubeconfig, space
        self.courses: dict[str, PodCourse] = {}
        self.reports: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
        """Node -> when it reported whom."""
        self.ready = threading.Event()
        self._end = threading.Event()
        self.began = time.monotonic()

    def run(self) -> None:
        asyncio.run(self._watch())

    async def _watch(self) -> None:
        async with KubeApi(access(self.kubeconfig, None)) as api:
            path = f"/api/v1/namespaces/{self.space}/pods"
            reflector = Reflector(api, path, CountedPod, self._changed, health=ApiHealth())
            reports = Reflector(api, PATH, NodeReport, self._reported, health=ApiHealth())
            work = asyncio.gather(reflector.run(), reports.run())
            await reflector.synced.wait()
            self.ready.set()
            while not self._end.is_set():
                await asyncio.sleep(0.05)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        # Connections with TLS need some turns of the loop to close.
        await asyncio.sleep(0.2)

    def _reported(self, change: ObjectChange[NodeReport]) -> None:
        if change.after is not None:
            own = self.reports.setdefault(change.key, [])
            own.append((time.monotonic() - self.began, tuple(map(str, change.after.status.holders))))

    def _changed(self, change: ObjectChange[CountedPod]) -> None:
        now, pod = time.monotonic() - self.began, change.after or change.before
        assert pod is not None
        course = self.courses.get(pod.metadata.uid)
        if course is None:
            owner = (pod.metadata.labels or {}).get(OWNER, "")
            course = self.courses[pod.metadata.uid] = PodCourse(pod.metadata.name, owner, now)
        course.gated = course.gated or bool(pod.spec.schedulingGates)
        if change.after is None:
            course.gone = now
            return
        status = pod.status
        course.offered = (pod.metadata.annotations or {}).get(NODES_ANNOTATION, course.offered)
        if pod.spec.nodeName and course.bound is None:
            course.bound, course.node = now, pod.spec.nodeName
        if status.phase == "Running" and course.ran is None:
            course.ran = now
        if status.phase in ("Succeeded", "Failed") and course.ended is None:
            course.ended = now
            if status.reason in REJECTIONS or status.reason.startswith("OutOf"):
                course.rejected, course.message = status.reason, status.message
            elif course.ran is None:
                course.ran = now

    def stop(self) -> None:
        self._end.set()
        self.join(10)

    def count(self, owner: str = "") -> "Counted":
        own = [course for course in self.courses.values() if not owner or course.owner == owner]
        waits = [course.ran - course.made for course in own if course.ran is not None]
        first = min((course.made for course in own), default=0.0)
        return Counted(
            len(own),
            sum(bool(course.rejected) for course in own),
            sum(course.ran is not None for course in own),
            sum(course.there and course.ran is not None and course.ended is None for course in own),
            round(median(waits), 2) if waits else None,
            round(max(course.ran - first for course in own if course.ran is not None), 2) if waits else None,
        )


class Counted(msgspec.Struct, frozen=True):
    made: int
    rejected: int
    ran: int
    running: int
    """At the end."""
    median_seconds: float | None
    """From a pod's making to its running."""
    last_seconds: float | None
    """From the owner's first pod to the last one that began to run."""
