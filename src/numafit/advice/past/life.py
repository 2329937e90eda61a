"""What objects of an API server tell of one pod and of the node, with times: comings, ends, restarts, starts."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from numafit.decision.decision import PREEMPTING
from numafit.workload.objects import FileObjects
from numafit.workload.served import ENDED, life_of, uid_of
from numafit.workload.values import ObjectPart

SEEN = "kubernetes.io/config.seen"
"""When the kubelet found a static pod."""

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")

Moment = tuple[str, str]
"""Seconds, and nine digits of a fraction: in the order of time. Empty: nobody tells it."""
NEVER: Moment = ("", "")


def moment(text: str) -> Moment:
    """Of a time as Kubernetes writes it, in UTC."""
    found = _TIME.fullmatch(text)
    return NEVER if found is None else (found.group(1), (found.group(2) or "").ljust(9, "0"))


class ContainerRestart(msgspec.Struct, frozen=True):
    container: str
    times: int
    ended: Moment
    """The last time."""
    started: Moment


class PodLife(msgspec.Struct, frozen=True):
    name: str
    uid: str
    created: Moment
    bound: Moment
    """When the scheduler gave it a node."""
    seen: Moment
    """When the kubelet met it."""
    deleting: bool
    ended: bool
    """It is over, whether it was rejected, evicted or done."""
    end: Moment
    rejected: str
    """The reason, where it was not taken in."""
    preempted: bool
    ran: bool
    restarts: tuple[ContainerRestart, ...]


class ObjectEvent(msgspec.Struct, frozen=True):
    kind: str
    """Of the object that it is about."""
    name: str
    """namespace/name of a pod, the name of a node."""
    uid: str
    reason: str
    component: str
    first: Moment
    last: Moment
    count: int


def pod_lives(pages: Iterable[FileObjects]) -> list[PodLife]:
    """Of one UID that stands in several files the last one counts."""
    found: dict[str, PodLife] = {}
    for page in pages:
        for maker in page.makers:
            if maker.is_pod:
                life = _pod_life(maker.part, maker.metadata)
                found[life.uid or life.name] = life
    return list(found.values())


def _pod_life(part: ObjectPart, metadata: ObjectPart) -> PodLife:
    life = life_of(part, metadata)
    status = part.part("status") if part.value.get("status") else ObjectPart(part.document, {})
    annotations = metadata.part("annotations") if metadata.value.get("annotations") else ObjectPart(part.document, {})
    containers = [*_parts(status, "initContainerStatuses"), *_parts(status, "containerStatuses")]
    scheduled = [each for each in _parts(status, "conditions") if each.value.get("type") == "PodScheduled"]
    ends = [moment(each.part("state", "terminated").text("finishedAt")) for each in containers]
    started = [_started(each) for each in containers]
    return PodLife(
        name=f"{metadata.text('namespace') or 'default'}/{metadata.text('name')}",
        uid=uid_of(metadata),
        created=moment(life.created),
        bound=max((moment(each.text("lastTransitionTime")) for each in scheduled), default=NEVER),
        seen=moment(annotations.text(SEEN)) if annotations.value.get(SEEN) else moment(life.started),
        deleting=bool(metadata.value.get("deletionTimestamp")),
        ended=life.phase in ENDED,
        end=max(ends, default=NEVER),
        rejected=life.reason if life.rejected else "",
        preempted=life.phase in ENDED and life.reason == PREEMPTING,
        ran=any(own != NEVER for own in started) or life.phase == "Running",
        restarts=tuple([own for each in containers if (own := _restart(each)) is not None]),
    )


def _started(status: ObjectPart) -> Moment:
    running = moment(status.part("state", "running").text("startedAt"))
    return running if running != NEVER else moment(status.part("state", "terminated").text("startedAt"))


def _restart(status: ObjectPart) -> ContainerRestart | None:
    times = status.whole("restartCount") or 0
    if times < 1:
        return None
    ended = moment(status.part("lastState", "terminated").text("finishedAt"))
    return ContainerRestart(status.text("name"), times, ended, _started(status))


def _parts(part: ObjectPart, name: str) -> list[ObjectPart]:
    return part.parts(name) if part.value.get(name) else []


def object_events(parts: Sequence[ObjectPart]) -> list[ObjectEvent]:
    """Those of core/v1 and of events.k8s.io/v1, which name some fields otherwise."""
    found = []
    for part in parts:
        about = part.part("involvedObject") if part.value.get("involvedObject") else part.part("regarding")
        source = part.part("source") if part.value.get("source") else part.part("deprecatedSource")
        kind, name = about.text("kind"), about.text("name")
        times = [
            moment(part.text(field))
            for field in (
                "eventTime",
                "firstTimestamp",
                "deprecatedFirstTimestamp",
                "lastTimestamp",
                "deprecatedLastTimestamp",
            )
        ]
        if part.value.get("series"):
            times.append(moment(part.part("series").text("lastObservedTime")))
        known = sorted(time for time in times if time != NEVER) or [NEVER]
        found.append(
            ObjectEvent(
                kind=kind,
                name=f"{about.text('namespace') or 'default'}/{name}" if kind == "Pod" else name,
                uid=about.text("uid"),
                reason=part.text("reason"),
                component=source.text("component")
                or part.text("reportingComponent")
                or part.text("reportingController"),
                first=known[0],
                last=known[-1],
                count=part.whole("count") or part.whole("deprecatedCount") or 1,
            )
        )
    return found
