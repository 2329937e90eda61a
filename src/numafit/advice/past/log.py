"""A kubelet's log as events: pods that come and go, the kubelet's starts, plugins, containers that start again.

Signs are taken in their order. A kubelet that starts is told all its pods at once, by source: those that the log knew
and that are not among them went while it was down, and those that it did not know came then. No container has survived
where all pods that stayed had theirs started again before anything else happened, and none was seen to die.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from numafit.advice.logs.admission import Admission
from numafit.advice.past.known import KnownPods
from numafit.advice.past.past import UNPLAYED, Past, ToldEnd
from numafit.advice.past.plugins import LoggedPlugins
from numafit.advice.past.signs import API_SOURCE as API
from numafit.advice.past.signs import LogSigns, Sign, node_name
from numafit.decision.decision import PREEMPTING
from numafit.decision.history.event import (
    AddPods,
    Beginning,
    Event,
    ExitContainer,
    RemovePods,
    ResizePod,
    RestartKubelet,
    StartKubelet,
    StopKubelet,
)
from numafit.decision.history.step import StepEvent
from numafit.machine.model import Device
from numafit.notes import Note
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.workload.pod import Pod

_NO_END = 1 << 62
_WORDS = re.compile(r"[\w./%:-]+")


def past_of_log(
    log: LogSigns,
    pods: Iterable[Pod],
    devices: Mapping[str, tuple[Device, ...]],
    residents: Iterable[Pod] = (),
) -> Past:
    """`devices`: those of the machine, by resource. `residents` are on the node when the log begins."""
    there = tuple(residents)
    composer = _Composer(KnownPods([*there, *pods]), LoggedPlugins(devices), log)
    for place, signs in enumerate(log.kubelets):
        stop = log.kubelets[place + 1][0].line if place + 1 < len(log.kubelets) else _NO_END
        composer.process(signs, stop, there)
    return composer.past()


class _Composer:
    def __init__(self, known: KnownPods, plugins: LoggedPlugins, log: LogSigns) -> None:
        self.known = known
        self.plugins = plugins
        self.log = log
        self.name = log.name
        self.logged: dict[str, list[Admission]] = {}
        for admission in sorted(log.admissions, key=lambda admission: admission.line):
            self.logged.setdefault(admission.pod, []).append(admission)
        self.orders: list[tuple[str, ...]] = []
        """For each start again the UIDs of static pods, as they were admitted."""
        self.events: list[Event] = []
        self.stamps: list[str] = []
        self.told: list[ToldEnd] = []
        self.notes: list[Note] = []
        self.there: dict[str, tuple[Pod, str]] = {}
        """Name in the log -> the pod and its source."""
        self.over: set[str] = set()
        """Names of pods that the kubelet rejected, or that ended by themselves, and that the API server still has."""
        self.uids: dict[str, str] = {}
        """UID in the log -> name."""
        self.ran: set[tuple[str, str]] = set()
        """(UID, container) that was started."""
        self.sizes: dict[str, Mapping[str, object]] = {}
        self.config: list[str] = []
        self.named = False
        """The kubelet names containers that it starts, so that those without a name tell nothing more."""
        self.begun = False
        self.down = False
        self.absent: frozenset[str] = frozenset()

    # one kubelet after the other

    def process(self, signs: Sequence[Sign], stop: int, residents: Iterable[Pod]) -> None:
        for sign in signs:
            for pod, uid in sign.pods:
                if pod and uid:
                    self.uids[uid] = pod
        self.named = any(sign.kind == "run" for sign in signs)
        whole = any(sign.kind == "start" for sign in signs)
        self._note_config(signs)
        if not self.begun:
            self.begun = True
            self.there = {pod.full_name: (pod, "file" if pod.static else API) for pod in residents}
            if not self.there or not whole:
                self._begin(signs, whole=whole)
                self._follow(signs, stop)
                return
        if whole or any(sign.kind == "come" for sign in signs):
            signs = self._start(signs, stop)
        self._follow(signs, stop)

    def _note_config(self, signs: Sequence[Sign]) -> None:
        config = next((sign for sign in signs if sign.kind == "config"), None)
        if config is None:
            return
        self.known.node = node_name(config.text) or self.known.node
        # Maps and lists made of maps are printed in any order.
        words = sorted(_WORDS.findall(config.text))
        if self.config and words != self.config:
            text = f"{config.stamp}: the kubelet starts with another configuration; write config=FILE into the events"
            self.notes.append(Note(UNPLAYED, "kubelet", text))
        self.config = words

    def _begin(self, signs: Sequence[Sign], *, whole: bool) -> None:
        """The first kubelet of the log: plugins that register before any pod comes are there from the start."""
        first = next((sign.line for sign in signs if sign.kind == "come" and sign.pods), _NO_END)
        early = {sign.text for sign in signs if sign.kind == "register" and sign.line < first}
        if not whole:
            # It ran already: what registered before is not in the log.
            later = {sign.text for sign in signs if sign.kind == "register"}
            early |= set(self.plugins.lists) - later
            text = "it begins while the kubelet runs, so pods that were there before are not known"
            self.notes.append(Note(UNPLAYED, self.name, text))
        self.absent = frozenset(set(self.plugins.lists) - early)
        self.plugins.connect(sorted(early & set(self.plugins.lists)))
        for resource in sorted(early - set(self.plugins.lists)):
            self.plugins.note_unknown(resource)

    def _start(self, signs: Sequence[Sign], stop: int) -> list[Sign]:
        """A kubelet that starts again: one event, or what happened while it was down between its stop and start."""
        batches: dict[str, Sign] = {}
        for sign in signs:
            if sign.kind == "come":
                batches.setdefault(sign.source, sign)
        begin = signs[0]
        if not batches:
            if not self.down:
                self._happens(StopKubelet(), begin.stamp)
                self.down = True
            said = next((f": {sign.text}" for sign in reversed(signs) if sign.kind == "fail" and sign.text), "")
            text = f"{begin.stamp}: a kubelet starts and is told of no pod; it is played as one that stays down{said}"
            self.notes.append(Note(UNPLAYED, "kubelet", text))
            return []
        last = max(batches.values(), key=lambda sign: sign.line)
        gone = [
            name
            for name, (_, source) in self.there.items()
            if source in batches and name not in {pod for pod, _ in batches[source].pods}
        ]
        new = [
            (name, uid, sign)
            for sign in batches.values()
            for name, uid in sign.pods
            if name not in self.there and name not in self.over and not self._mirrors(name, sign.source)
        ]
        after = [sign for sign in signs if sign.line > last.line]
        settled = next((sign.line for sign in after if sign.kind in ("come", "go")), stop)
        admitting = min(
            [own.line for all_of in self.logged.values() for own in all_of if begin.line <= own.line < stop]
            or [last.line]
        )
        registers = [sign for sign in signs if sign.kind == "register" and sign.line < settled]
        first = {sign.text for sign in registers if sign.line < admitting}
        late = {sign.text for sign in registers} - first
        stayed = [name for name in self.there if name not in gone]
        mode, ended = self.plugins.at_start(first, late, begin.time)
        consumed = first | late if mode != "never" and not ended else first
        downtime: list[Event] = list(ended)
        if gone:
            downtime.append(RemovePods(tuple([self.there.pop(name)[0] for name in gone])))
        came = self._coming(new)
        if came:
            downtime.append(AddPods(tuple(came)))
        reboot = self._rebooted([sign for sign in signs if sign.line < settled], stayed, begin.line, stop)
        how = Beginning(plugins=mode, reboot=reboot)
        if downtime or self.down:
            if not self.down:
                self._happens(StopKubelet(), begin.stamp)
            for event in downtime:
                self._happens(event, begin.stamp)
            self._happens(StartKubelet(how), begin.stamp)
        else:
            self._happens(RestartKubelet(how), begin.stamp)
        self.down = False
        static = [name for name, (_, source) in self.there.items() if source != API]
        static.sort(key=lambda name: self._admitted_at(name, begin.line))
        self.orders.append(tuple(self.there[name][0].uid for name in static))
        for name in [*stayed, *(name for name, _, _ in new)]:
            if name in self.there:
                self._tell(name, begin.line, stop, "restart")
        if reboot:
            dropped = {id(sign) for sign in signs if sign.kind == "run" and sign.line < settled}
            for sign in signs:
                if id(sign) in dropped and sign.pod in self.there:
                    self.ran.add((self.there[sign.pod][0].uid, sign.text))
            signs = [sign for sign in signs if id(sign) not in dropped]
        return [
            sign
            for sign in signs
            if sign not in batches.values()
            and not (sign.kind == "register" and sign.line < settled and sign.text in consumed)
        ]

    def _rebooted(self, signs: Sequence[Sign], stayed: Sequence[str], begin: int, stop: int) -> bool:
        if any(sign.kind == "reboot" for sign in signs):
            return True
        ran = {uid for uid, _ in self.ran}
        running = [name for name in stayed if self.there[name][0].uid in ran and not self._rejected(name, begin, stop)]
        first: dict[str, str] = {}
        for sign in signs:
            if sign.kind == "run" or (sign.kind == "pleg" and sign.text == "ContainerDied"):
                first.setdefault(sign.pod, sign.kind)
        return bool(running) and all(first.get(name) == "run" for name in running)

    # what one sign means while the kubelet runs

    def _follow(self, signs: Sequence[Sign], stop: int) -> None:
        for place, sign in enumerate(signs):
            for forgotten in self.plugins.given_up(sign.time):
                self._happens(forgotten, sign.stamp)
            match sign.kind:
                case "come":
                    self._come(sign, stop)
                case "go":
                    self._go(sign)
                case "run":
                    self._run(sign)
                case "pleg" if not self.named:
                    self._lifecycle(sign)
                case "register" | "list" | "end":
                    # Plugins lose their connection when the kubelet ends; that is no end of theirs.
                    ending = sign.kind == "end" and stop != _NO_END and all(s.kind == "end" for s in signs[place:])
                    already = sign.kind == "register" and not self.events and sign.text not in self.absent
                    event = None if ending or already else self.plugins.event(sign)
                    if event is not None:
                        self._happens(event, sign.stamp)
                case "evict":
                    self._evicted(sign)
                case "allocate":
                    self._allocated(sign)
                case "denied":
                    text = f"{sign.stamp}: a resize is refused ({sign.text}), and the log does not tell what was asked"
                    self.notes.append(Note(UNPLAYED, sign.pod, text))

    def _come(self, sign: Sign, stop: int) -> None:
        new = [
            (name, uid, sign)
            for name, uid in sign.pods
            if name not in self.there and not self._mirrors(name, sign.source)
        ]
        came = self._coming(new)
        if not came:
            return
        self._happens(AddPods(tuple(came)), sign.stamp)
        for name, _, _ in new:
            if name in self.there:
                self._tell(name, sign.line, stop, "add")

    def _mirrors(self, name: str, source: str) -> bool:
        return source == API and (self.known.is_mirror(name) or self.there.get(name, (None, API))[1] != API)

    def _coming(self, new: Iterable[tuple[str, str, Sign]]) -> list[Pod]:
        """In the order in which the kubelet admits them, which is that of their creation."""
        found = []
        for name, uid, sign in sorted(new, key=lambda item: self._admitted_at(item[0], item[2].line)):
            pod = self.known.coming(name, sign.source, uid)
            if pod is not None:
                self.over.discard(name)
                self.there[name] = (pod, sign.source)
                found.append(pod)
        return found

    def _admitted_at(self, name: str, begin: int) -> int:
        return next((own.line for own in self.logged.get(name, ()) if own.line >= begin), _NO_END)

    def _go(self, sign: Sign) -> None:
        if sign.source:
            self.over.difference_update(name for name, _ in sign.pods)
        gone = []
        for name, _ in sign.pods:
            if name in self.there:
                gone.append(self.there.pop(name)[0])
                if not sign.source:
                    self.over.add(name)
        if gone:
            self._happens(RemovePods(tuple(gone)), sign.stamp)

    def _run(self, sign: Sign) -> None:
        if sign.pod not in self.there:
            return
        pod = self.there[sign.pod][0]
        if sign.text not in {container.name for container in pod.all_containers}:
            return
        if (pod.uid, sign.text) in self.ran:
            self._happens(ExitContainer(pod, sign.text), sign.stamp)
        self.ran.add((pod.uid, sign.text))

    def _lifecycle(self, sign: Sign) -> None:
        """Where nothing else tells of containers: one that starts after another of its pod has died."""
        if sign.pod not in self.there:
            return
        pod = self.there[sign.pod][0]
        if sign.text == "ContainerDied":
            self.ran.add((pod.uid, ""))
        elif sign.text == "ContainerStarted" and (pod.uid, "") in self.ran:
            self.ran.discard((pod.uid, ""))
            names = [container.name for container in pod.all_containers]
            if len(names) == 1:
                self._happens(ExitContainer(pod, names[0]), sign.stamp)
            elif not pod.init_containers:
                text = f"{sign.stamp}: a container starts again, and the log does not tell which"
                self.notes.append(Note(UNPLAYED, sign.pod, text))

    def _evicted(self, sign: Sign) -> None:
        deciding = (AddPods, RestartKubelet, StartKubelet)
        place = next((at for at in reversed(range(len(self.events))) if isinstance(self.events[at], deciding)), None)
        if place is None or sign.pod not in self.there:
            return
        pod = self.there[sign.pod][0]
        if not any(end.kind == "evict" and end.pod == pod.uid for end in self.told):
            self.told.append(ToldEnd(place, pod.uid, sign.pod, False, PREEMPTING, kind="evict"))

    def _allocated(self, sign: Sign) -> None:
        name, before = self.uids.get(sign.uid, ""), self.sizes.get(sign.uid)
        self.sizes[sign.uid] = sign.amounts
        if before is None or before == sign.amounts or name not in self.there:
            return
        pod = self.there[name][0]
        for container, amounts in sign.amounts.items():
            if amounts != before.get(container) and isinstance(amounts, Mapping):
                event = ResizePod(
                    pod, container, _quantities(amounts.get("requests")), _quantities(amounts.get("limits"))
                )
                self._happens(event, sign.stamp)
                self.told.append(ToldEnd(len(self.events) - 1, pod.uid, name, True, kind="resize"))

    # what came of it

    def _happens(self, event: Event, stamp: str) -> None:
        self.events.append(event)
        self.stamps.append(stamp)

    def _end_of(self, name: str, begin: int, stop: int) -> Admission | None:
        own = [admission for admission in self.logged.get(name, ()) if begin <= admission.line < stop]
        return next((admission for admission in own if admission.admitted is not None), None)

    def _rejected(self, name: str, begin: int, stop: int) -> bool:
        end = self._end_of(name, begin, stop)
        return end is not None and end.admitted is False

    def _tell(self, name: str, begin: int, stop: int, kind: StepEvent) -> None:
        end = self._end_of(name, begin, stop)
        if end is None or end.admitted is None:
            return
        pod, source = self.there[name]
        self.told.append(ToldEnd(len(self.events) - 1, pod.uid, name, end.admitted, end.reason, end.cpus, kind=kind))
        if not end.admitted and source == API:
            self.over.add(name)

    def past(self) -> Past:
        notes = [*self.notes, *self.plugins.notes, *self.known.notes(self.name)]
        if not self.log.listed:
            text = "no line tells of pods that come and go (-v=2 does), only of admissions"
            notes.append(Note(UNPLAYED, self.name, text))
        if self.log.broken:
            text = f"gzip breaks off ({self.log.broken}); what comes before is played"
            notes.append(Note("log-cut", self.name, text))
        return Past(
            source="log",
            events=tuple(self.events),
            stamps=tuple(self.stamps),
            told=tuple(self.told),
            absent=self.absent,
            orders=tuple(self.orders),
            notes=tuple(notes),
            release=self.log.release,
        )


def _quantities(amounts: object) -> dict[str, Quantity]:
    if not isinstance(amounts, Mapping):
        return {}
    found = {}
    for name, amount in amounts.items():
        try:
            found[str(name)] = parse_quantity(str(amount))
        except QuantityError:
            continue
    return found
