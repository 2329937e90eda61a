"""Events from objects of an API server: pods with their times, Event objects of pods and of the node.

Times are whole seconds for most things, so the order within one second is a guess, and said. A kubelet's start is told
by its own Event; a pod that had its node before and met the kubelet after it came while the kubelet was down.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from numafit.advice.past.life import (
    NEVER,
    ContainerRestart,
    Moment,
    ObjectEvent,
    PodLife,
    object_events,
    pod_lives,
)
from numafit.advice.past.past import UNKNOWN_POD, UNPLAYED, Past, ToldEnd
from numafit.decision.decision import PREEMPTING
from numafit.decision.history.event import (
    AddPods,
    Beginning,
    Event,
    ExitContainer,
    RemovePods,
    RestartKubelet,
    StartKubelet,
    StopKubelet,
)
from numafit.decision.history.step import StepEvent
from numafit.errors import some_of
from numafit.notes import Note
from numafit.workload.objects import FileObjects, ManifestFile
from numafit.workload.pod import Pod

_STARTING, _REBOOTED, _KUBELET = "Starting", "Rebooted", "kubelet"
_PLUGIN_AWAY = "UnexpectedAdmissionError"
"""The reason of a pod whose devices are not there."""
_RUNNING = ("Pulled", "Created", "Started")
"""Reasons of Events of a pod that was taken in."""
_MOST_NAMES = 5


class _Happening(msgspec.Struct, frozen=True):
    at: Moment
    event: Event
    told: tuple[ToldEnd, ...] = ()
    created: Moment = NEVER
    """Of a pod that comes: who was made first comes first."""
    name: str = ""


class _Start(msgspec.Struct, frozen=True):
    at: Moment
    reboot: bool = False


def past_of_objects(files: Sequence[ManifestFile], name: str, pods: Iterable[Pod]) -> Past:
    """`pods`: those of the same files that count, on the node that is meant."""
    pages = [FileObjects(file) for file in files]
    known = {pod.uid: pod for pod in pods}
    lives = [life for life in pod_lives(pages) if life.uid in known]
    events = object_events([part for page in pages for part in page.events])
    nodes = {node for page in pages for node in page.nodes}
    return _Teller(known, lives, events, name, nodes).past()


class _Teller:
    def __init__(
        self,
        known: dict[str, Pod],
        lives: Sequence[PodLife],
        events: Sequence[ObjectEvent],
        name: str,
        nodes: set[str],
    ) -> None:
        self.known = known
        self.lives = lives
        self.events = events
        self.name = name
        self.notes: list[Note] = []
        self.found: list[_Happening] = []
        self.starts = self._starts(nodes)
        self.refused: dict[str, _Start] = {}
        """UID of a pod that was taken in, and refused later -> the start at which it was."""
        self.open: set[str] = set()
        """UIDs of pods of which nobody tells when they were refused."""

    def past(self) -> Past:
        arrived_down = {life.uid: start for start in self.starts for life in self.lives if _while_down(life, start)}
        for life in self.lives:
            self._find_refusal(life)
        for life in self.lives:
            self._pod(life, while_down=life.uid in arrived_down)
        self.found.sort(key=lambda one: (one.at, one.created, one.name))
        for start in self.starts:
            self._start(start, [life for life in self.lives if arrived_down.get(life.uid) == start])
        self.found.sort(key=lambda one: one.at)
        self._note_ties()
        self._note_unknown()
        self._note_timeless()
        told = [replace(end, event=place) for place, happening in enumerate(self.found) for end in happening.told]
        return Past(
            source="objects",
            events=tuple(one.event for one in self.found),
            stamps=tuple(_stamp(one.at) for one in self.found),
            told=(*told, *self._evictions()),
            notes=tuple(self.notes),
        )

    # the kubelet

    def _starts(self, nodes: set[str]) -> list[_Start]:
        """A reboot is told after the start that followed it."""
        ours = [event for event in self.events if event.kind == "Node" and (not nodes or event.name in nodes)]
        starting = [event for event in ours if event.reason == _STARTING and event.component in ("", _KUBELET)]
        for event in starting:
            if event.count > 2:
                text = f"its kubelet started {event.count} times, of which the first and the last are told"
                self.notes.append(Note(UNPLAYED, event.name, text))
        times = sorted({time for event in starting for time in (event.first, event.last) if time != NEVER})
        found = [_Start(time) for time in times]
        for event in ours:
            if event.reason == _REBOOTED and event.last != NEVER:
                before = [place for place, start in enumerate(found) if start.at <= event.last]
                if before:
                    found[before[-1]] = replace(found[before[-1]], reboot=True)
                else:
                    found.append(_Start(event.last, reboot=True))
        return sorted(found, key=lambda start: start.at)

    def _start(self, start: _Start, came: Sequence[PodLife]) -> None:
        if not any(one.at < start.at and isinstance(one.event, AddPods) for one in self.found):
            # The first start: nobody was there before. Who waited for it comes now.
            for life in came:
                self._come(life, start.at)
            return
        how = Beginning(reboot=start.reboot)
        refused = [life for life in self.lives if self.refused.get(life.uid) == start]
        ends = tuple([_rejection(life, "restart") for life in refused])
        if any(life.rejected == _PLUGIN_AWAY for life in refused):
            text = "objects do not tell when device plugins came back, here they do so before the pods"
            cure = "write plugins=late into the events to try the other way"
            self._note("kubelet", f"{_stamp(start.at)}: {text}; {cure}")
        if not came:
            self.found.append(_Happening(start.at, RestartKubelet(how), ends))
            return
        new = tuple([self.known[life.uid] for life in sorted(came, key=lambda life: (life.created, life.name))])
        told = (*ends, *(end for life in came for end in self._told(life, "restart")))
        self.found += [
            _Happening(start.at, StopKubelet()),
            _Happening(start.at, AddPods(new)),
            _Happening(start.at, StartKubelet(how), told),
        ]

    # one pod

    def _pod(self, life: PodLife, *, while_down: bool) -> None:
        seen = life.seen if life.seen != NEVER else max(life.bound, life.created)
        if seen == NEVER:
            self._note(life.name, "nobody tells when it came; it is not played")
            return
        if life.seen == NEVER:
            self._note(life.name, "its kubelet has not told of it yet; it comes when it was given its node")
        if not while_down:
            self._come(life, seen)
        for restart in life.restarts:
            self._restarted(life, restart)
        if life.ended and not (life.rejected and (not life.ran or life.uid in self.refused)):
            end = life.end if life.end != NEVER else self._preempted_at(life)
            if end == NEVER:
                self._note(life.name, "it has ended, and nobody tells when; here it stays")
            else:
                self.found.append(_Happening(end, RemovePods((self.known[life.uid],))))
        elif life.deleting:
            self._note(life.name, "it is being deleted, and is there as long as these objects tell")

    def _come(self, life: PodLife, at: Moment) -> None:
        pod = self.known[life.uid]
        self.found.append(_Happening(at, AddPods((pod,)), tuple(self._told(life, "add")), life.created, life.name))

    def _find_refusal(self, life: PodLife) -> None:
        """A pod that ran keeps the time at which its kubelet met it, also when one that starts again refuses it."""
        later = [start for start in self.starts if NEVER != life.seen < start.at]
        if not life.rejected or not later:
            return
        own = [event for event in self.events if event.uid == life.uid]
        at = max((event.last for event in own if event.reason == life.rejected), default=NEVER)
        before = [start for start in later if start.at <= at]
        if before:
            self.refused[life.uid] = before[-1]
        elif at == NEVER and (life.ran or any(event.reason in _RUNNING for event in own)) and len(later) == 1:
            self.refused[life.uid] = later[0]
        elif at == NEVER:
            self.open.add(life.uid)
            times = some_of([_stamp(start.at) for start in later], _MOST_NAMES)
            text = f"it was rejected ({life.rejected}), and nobody tells whether as it came or as the kubelet started"
            self._note(life.name, f"{text} ({times}); its end is not compared")

    def _told(self, life: PodLife, kind: StepEvent) -> list[ToldEnd]:
        if life.uid in self.open:
            return []
        if life.rejected and not life.ran and life.uid not in self.refused:
            return [_rejection(life, kind)]
        if life.ran or life.end != NEVER or life.uid in self.refused:
            return [ToldEnd(0, life.uid, life.name, True, kind=kind)]
        return []

    def _restarted(self, life: PodLife, restart: ContainerRestart) -> None:
        at = restart.started if restart.started != NEVER else restart.ended
        if any(start.reboot and restart.ended <= start.at <= at for start in self.starts):
            return
        if restart.times > 1 or at == NEVER:
            many = f"container {restart.container} started again {restart.times} times"
            which = "nobody tells when" if at == NEVER else "only the last time is told, and played"
            self._note(life.name, f"{many}, of which {which}" if restart.times > 1 else f"{many}: {which}")
        if at != NEVER:
            self.found.append(_Happening(at, ExitContainer(self.known[life.uid], restart.container)))

    def _preempted_at(self, life: PodLife) -> Moment:
        own = [event.last for event in self.events if event.uid == life.uid and event.reason == PREEMPTING]
        return max(own, default=NEVER)

    def _evictions(self) -> list[ToldEnd]:
        """A victim goes for the critical pod that came last before it went."""
        found = []
        for life in self.lives:
            place = next((at for at, one in enumerate(self.found) if _removes(one.event, life.uid)), None)
            if not life.preempted or place is None:
                continue
            before = [at for at in range(place) if isinstance(self.found[at].event, AddPods)]
            if before:
                found.append(ToldEnd(before[-1], life.uid, life.name, False, PREEMPTING, kind="evict"))
        return found

    # what is not sure

    def _note(self, about: str, text: str) -> None:
        self.notes.append(Note(UNPLAYED, about, text))

    def _note_ties(self) -> None:
        down = (StopKubelet, StartKubelet)
        ties = [
            one.at
            for one, other in pairwise(self.found)
            if one.at == other.at and not isinstance(one.event, down) and not isinstance(other.event, down)
        ]
        if ties:
            times = some_of(list(dict.fromkeys(_stamp(at) for at in ties)), _MOST_NAMES)
            text = f"several things happen within one second, and their order is a guess: {times}"
            self._note(self.name, text)

    def _note_timeless(self) -> None:
        told = {life.uid for life in self.lives}
        names = [pod.full_name for uid, pod in self.known.items() if uid not in told]
        if names:
            text = "nothing tells when they came, and they are not played"
            self._note(self.name, f"{some_of(names, _MOST_NAMES)}: {text}")

    def _note_unknown(self) -> None:
        names = {event.name for event in self.events if event.kind == "Pod"} - {life.name for life in self.lives}
        if names:
            listed = some_of(sorted(names), _MOST_NAMES)
            text = f"events tell of pods that are not among the objects, and are not played: {listed}"
            self.notes.append(Note(UNKNOWN_POD, self.name, text))


def _while_down(life: PodLife, start: _Start) -> bool:
    return NEVER != life.bound < start.at <= life.seen


def _removes(event: Event, uid: str) -> bool:
    return isinstance(event, RemovePods) and any(pod.uid == uid for pod in event.pods)


def _rejection(life: PodLife, kind: StepEvent) -> ToldEnd:
    return ToldEnd(0, life.uid, life.name, False, life.rejected, kind=kind)


def _stamp(at: Moment) -> str:
    seconds, fraction = at
    return f"{seconds}.{fraction.rstrip('0')}Z" if fraction.strip("0") else f"{seconds}Z"
