"""Owners are made when their pods arrive, and taken away when these have run; what became of each pod."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from numafit.fleet.simulation.trace import TracePod
from tests.kube.api import Api, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.counted.owners import OWNER, SPACE, prepare
from tests.kube.counted.watched import PodCourse, Watched
from tests.kube.placing import define_topologies, make_namespace, placing
from tests.kube.simulation import simulated
from tests.kube.trace_played.result import PlayedResult
from tests.kube.trace_played.slice import TraceSlice
from tests.kube.trace_played.ways import PlayedWay, use_strategy

RUN_SECONDS = "numafit.io/run-seconds"
PATHS = {
    "Job": f"/apis/batch/v1/namespaces/{SPACE}/jobs",
    "ReplicaSet": f"/apis/apps/v1/namespaces/{SPACE}/replicasets",
}
TURN_SECONDS = 0.02


class RealRun(msgspec.Struct, frozen=True):
    result: PlayedResult
    courses: tuple[PodCourse, ...]
    """Of all pods that owners made, by the watch; moments are seconds since the first arrival."""
    made: Mapping[str, float]
    """When its owner was made."""


@contextmanager
def standing(way: PlayedWay, own: TraceSlice, folder: Path, binaries: Path) -> Iterator[ControlPlane]:
    """A control plane with the nodes, and whoever places."""
    with ControlPlane(folder / "c", binaries) as cluster:
        define_topologies(cluster)
        make_namespace(cluster, "numafit")
        prepare(cluster.api)
        make_namespace(cluster, SPACE)
        more = ("--topology",) if way.placer else ()
        with simulated(cluster.kubeconfig, folder / "sim", list(own.groups), *more):
            if way.strategy:
                use_strategy(cluster, folder, way.strategy)
            if not way.placer:
                yield cluster
                return
            # The model keeps no nodes for large pods.
            with placing(cluster.kubeconfig, folder, "--reserve-seconds=0"):
                yield cluster


def played(cluster: ControlPlane, own: TraceSlice, end: float, tell: Callable[[str], None] = print) -> RealRun:
    """Until `end`, in seconds, or until all have run and ended."""
    watched = Watched(cluster.kubeconfig)
    watched.start()
    watched.ready.wait(30)
    try:
        return _Playing(cluster.api, own, watched, end).run(tell)
    finally:
        watched.stop()


class _Playing:
    def __init__(self, api: Api, own: TraceSlice, watched: Watched, end: float) -> None:
        self.api, self.own, self.watched, self.end = api, own, watched, end
        self.pods = {pod.pod.name: pod for pod in own.pods}
        self.made: dict[str, float] = {}
        self.ended: set[str] = set()

    def run(self, tell: Callable[[str], None]) -> RealRun:
        began = time.monotonic()
        offset = began - self.watched.began
        waiting = list(self.own.pods)
        told = 0.0
        while (now := time.monotonic() - began) < self.end:
            while waiting and waiting[0].arrival <= now:
                self._make(waiting.pop(0), began)
            self._end_services(now, offset)
            if now - told > 30:
                told = now
                tell(f"  {now:.0f} s: {len(self.made)} have come, {len(self.ended)} have ended")
            if len(self.ended) == len(self.pods):
                break
            time.sleep(TURN_SECONDS)
        stopped = time.monotonic() - began
        courses = tuple(_since(course, offset) for course in list(self.watched.courses.values()))
        return RealRun(self._result(courses, stopped), courses, self.made)

    def _make(self, own: TracePod, began: float) -> None:
        self.api.post(PATHS[own.owner], _owner(own))
        self.made[own.pod.name] = time.monotonic() - began

    def _end_services(self, now: float, offset: float) -> None:
        """A ReplicaSet would make another pod in the place of one that has ended, so it goes itself."""
        for course in list(self.watched.courses.values()):
            if course.ran is None or course.rejected or course.owner in self.ended:
                continue
            own = self.pods[course.owner]
            if own.owner == "Job" and course.ended is not None:
                self.ended.add(course.owner)
            elif own.owner != "Job" and now >= course.ran - offset + (own.run or 0.0):
                self.api.delete(f"{PATHS[own.owner]}/{course.owner}?propagationPolicy=Background")
                self.api.delete(f"/api/v1/namespaces/{SPACE}/pods/{course.name}?gracePeriodSeconds=0")
                self.ended.add(course.owner)

    def _result(self, courses: tuple[PodCourse, ...], stopped: float) -> PlayedResult:
        nodes: dict[str, str] = {}
        waits = {name: stopped - self.made.get(name, stopped) for name in self.pods}
        rejections: dict[str, int] = {}
        failed = self._failed(courses)
        for course in courses:
            name = course.owner
            if course.rejected:
                rejections[name] = rejections.get(name, 0) + 1
            elif course.ran is not None:
                nodes[name] = course.node
                waits[name] = course.ran - self.made[name]
        for name, moment in failed.items():
            waits[name] = moment - self.made[name]
        return PlayedResult(nodes, waits, rejections)

    def _failed(self, courses: tuple[PodCourse, ...]) -> dict[str, float]:
        """Jobs that were given up, and when their last pod was rejected."""
        jobs = self.api.get(PATHS["Job"]) or {"items": []}
        found = {}
        for job in jobs["items"]:
            conditions = job["status"].get("conditions", ())
            name = job["metadata"]["name"]
            last = [course.ended for course in courses if course.owner == name and course.ended is not None]
            if last and any(own["type"] == "Failed" and own["status"] == "True" for own in conditions):
                found[name] = max(last)
        return found


def _since(course: PodCourse, offset: float) -> PodCourse:
    def moved(moment: float | None) -> float | None:
        return None if moment is None else moment - offset

    times = {name: moved(getattr(course, name)) for name in ("bound", "ran", "ended", "gone")}
    return msgspec.structs.replace(course, made=course.made - offset, **times)


def _owner(own: TracePod) -> Json:
    name = own.pod.name
    requests = {resource: str(amount) for resource, amount in own.pod.containers[0].requests.items()}
    main = {"name": "main", "image": "none:1", "resources": {"requests": requests, "limits": requests}}
    spec: Json = {"containers": [main], "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0}
    labels = {OWNER: name}
    if own.owner == "Job":
        template = {"metadata": {"labels": labels, "annotations": {RUN_SECONDS: str(own.run)}}}
        return {
            "metadata": {"name": name},
            "spec": {"template": {**template, "spec": {**spec, "restartPolicy": "Never"}}},
        }
    wanted = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }
    return {"metadata": {"name": name}, "spec": wanted}
