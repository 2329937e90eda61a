"""When the pods of an owner are held, and when one is let go: what is heard goes in, what is to be done comes out.

No clock, no network: whoever asks says what time it is. From the third rejection of an owner's pods within a minute its
next pods are held. They are let go when the engine finds nodes for them, else one after 10 seconds, and each time that
one comes to grief the next after twice as long, up to 15 minutes. Where the engine knows every node and none can take
the pod, it is tried blindly after the 15 minutes only. A pod that runs lets two of those go that wait, so that many are
soon through where there is room, and few are rejected where there was room for one; where none waits it ends the hold,
and all is forgotten. A pod that the API server did not let go was not tried: all is as before.

Admission has to know of an owner before its fourth pod is made, which is some milliseconds after the third one has
failed: so an owner is armed by its first rejection. A pod that is gated before the third one is let go after a moment:
the rejection before it may be heard of later than the pod.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from numafit.cluster.guard.instructions import (
    Explanation,
    HoldBegun,
    HoldEnded,
    Instruction,
    LetGo,
    LetGoCause,
    NotHeld,
    Remember,
)
from numafit.cluster.guard.patience import (
    LONGEST_PATIENCE,
    REJECTIONS,
    WINDOW,
    came_after,
    failed_try,
    loops,
    made_late,
    newest,
    patience,
    pause,
    recent,
    seconds,
)
from numafit.cluster.guard.record import MOST_REJECTIONS, LoopRecord, PodRejection, new_record
from numafit.cluster.live.pods import ClusterPod, PodController
from numafit.cluster.live.words import HOLD_GATE, OUR_GATES

MOST_HOLDS = 100
"""Owners whose pods may be gated at once, in the cluster."""
MOST_COUNTED = 1000
"""Owners of which anything is remembered."""
DOUBT = timedelta(seconds=0.5)
"""For which a pod of an armed owner waits that has no loop yet."""
FOLLOWING = 2
"""Pods that are let go for each one that runs."""
IDLE = timedelta(minutes=5)
"""Without a pod that waits or was let go: the owner is gone, or wants no pod any more."""
LEFT_BY = timedelta(seconds=30)
"""After which a pod that was let go has lost its gate, or nobody is at it any more."""
REFUSED = 2
"""Times that the API server has to refuse a pod with nodes before it is let go without."""
UNNAMED = "a node can take it, and the API server lets nobody name it"
"""Why a pod is let go without nodes."""
EXPLAINED_AGAIN = timedelta(minutes=1)
EXPLAINED_ONLY = ("DaemonSet", "Job", "Node")
"""Owners that are not held: a DaemonSet's pod has one node only, and both it and a Job wait longer each time."""


class _Gated(msgspec.Struct):
    pod: ClusterPod
    since: datetime
    failed: int = 0
    """Times that it could not be let go."""
    refused: int = 0
    """… those among them where the API server did not want its nodes."""
    rests: datetime | None = None
    """Until then it is not tried again."""


class _Leaving(msgspec.Struct, frozen=True):
    """One that is let go, until that is done."""

    gated: _Gated
    at: datetime
    before: datetime | None
    """What `last` of the record was."""


def _ready(gated: _Gated, now: datetime) -> bool:
    return gated.rests is None or now >= gated.rests


def can_be_held(owner: PodController | None) -> bool:
    return owner is not None and owner.kind not in EXPLAINED_ONLY


class LoopRules:
    def __init__(self, records: Mapping[str, LoopRecord] | None = None) -> None:
        self.records: dict[str, LoopRecord] = dict(records or {})
        """By the owner's UID."""
        self.on = True
        self._gated: dict[str, _Gated] = {}
        self._known = {own.pod for record in self.records.values() for own in record.rejections}
        self._leaving: dict[str, _Leaving] = {}
        """Both by UID of the pod."""
        self._living: set[str] = set()
        """UIDs of pods that were let go and live."""
        self._ran: set[str] = set()
        """… of those that ran while others waited: each lets others follow once."""
        self._following: dict[str, int] = {}
        """Owner -> pods of it that may follow those that run."""

    # --- what is heard ------------------------------------------------------------------------------------------------

    def rejected(self, pod: ClusterPod, at: datetime, now: datetime) -> list[Instruction]:
        """`at`: when that happened, as far as is known. A pod counts once, and what is older than the window does not
        count."""
        if pod.uid in self._known:
            return []
        self._known.add(pod.uid)
        if now - at > WINDOW and not self.let_go(pod):
            return []
        owner = pod.owner
        if owner is None or not can_be_held(owner) or not self.on:
            return [Explanation(pod)]
        before = self.records.get(owner.uid)
        if before is None and len(self.records) >= MOST_COUNTED:
            return [Explanation(pod)]
        record = before or new_record(owner, pod.metadata.namespace)
        rejection = PodRejection(pod.uid, pod.node, pod.reason, min(at, now))
        rejections = (*record.rejections, rejection)[-MOST_REJECTIONS:]
        record = replace(record, rejections=rejections, rejected=record.rejected + 1)
        begun = False
        slipped = record.held is not None and pod.uid not in record.released and made_late(pod, record.held)
        if pod.uid in record.released:
            record = failed_try(record, pod.uid, now)
            self._following.pop(owner.uid, None)
        elif record.held is None and loops(record, now) and self._may_hold(owner.uid):
            record, begun = replace(record, held=now, last=now, tries=0), True
        explained = record.rejected <= REJECTIONS or record.told is None or now - record.told >= EXPLAINED_AGAIN
        if explained:
            record = replace(record, told=now)
        found: list[Instruction] = [self._remember(owner.uid, record)]
        if explained:
            found.append(Explanation(pod, record))
        if begun:
            found.append(HoldBegun(owner.uid, record))
        if slipped:
            found.append(NotHeld(pod))
        return found

    def seen(self, pod: ClusterPod, now: datetime) -> list[Instruction]:
        """A pod that has not ended, as it is now."""
        owner = pod.owner
        if owner is None:
            return self._nobodys(pod, now)
        record = self.records.get(owner.uid)
        if HOLD_GATE in pod.gates:
            left = self._leaving.get(pod.uid)
            if left is None or now - left.at >= LEFT_BY:
                known = self._gated.setdefault(pod.uid, _Gated(pod, now))
                known.pod = pod
            if record is None or not self.on:
                return self._nobodys(pod, now)
            return []
        self._gated.pop(pod.uid, None)
        self._leaving.pop(pod.uid, None)
        if record is None:
            return []
        if pod.uid in record.released:
            self._living.add(pod.uid)
        if pod.phase == "Running" and came_after(pod, record):
            if record.held is None or not self._waiting(owner.uid):
                return self._ended(owner.uid, record, "a pod of it runs")
            if pod.uid not in self._ran:
                self._ran.add(pod.uid)
                self._following[owner.uid] = self._following.get(owner.uid, 0) + FOLLOWING
                released = tuple(own for own in record.released if own != pod.uid)
                return [self._remember(owner.uid, replace(record, tries=0, released=released))]
        return []

    def gone(self, uid: str) -> None:
        """It was deleted, or has ended."""
        self._gated.pop(uid, None)
        self._leaving.pop(uid, None)
        self._living.discard(uid)
        self._ran.discard(uid)

    def forgotten(self, uid: str) -> None:
        """A rejected pod whose object is gone."""
        self._known.discard(uid)

    def fits(self, uid: str, nodes: tuple[str, ...], now: datetime) -> list[Instruction]:
        """The engine found these for a pod of `hopeful`."""
        gated = self._gated.get(uid)
        if gated is None or gated.pod.owner is None:
            return []
        record = self.records.get(gated.pod.owner.uid)
        if record is None or record.held is None or record.mistrusted or not nodes or not _ready(gated, now):
            return []
        if gated.refused >= REFUSED:
            return self._let_go(gated, record, now, UNNAMED, cause="engine")
        return self._let_go(gated, record, now, "a node can take it", nodes)

    def kept(self, own: LetGo, pod: ClusterPod, now: datetime, *, refused: bool) -> list[Instruction]:
        """It could not be let go, and has our gate still: `pod`, as it is now. Then nothing has been tried. `refused`:
        the API server does not want its nodes."""
        left = self._leaving.pop(pod.uid, None)
        owner = pod.owner
        record = self.records.get(owner.uid) if owner is not None else None
        if left is None or record is None or owner is None:
            # The next sweep finds it again.
            return []
        gated = left.gated
        gated.pod, gated.failed, gated.refused = pod, gated.failed + 1, gated.refused + refused
        gated.rests = now + pause(gated.failed)
        self._gated[pod.uid] = gated
        self._living.discard(pod.uid)
        if own.cause == "running":
            self._following[owner.uid] = self._following.get(owner.uid, 0) + 1
        record = replace(
            record,
            last=left.before if record.last == left.at else record.last,
            released=tuple(uid for uid in record.released if uid != pod.uid),
            foreseen=tuple(uid for uid in record.foreseen if uid != pod.uid),
        )
        if refused and gated.refused == REFUSED:
            return self._let_go(gated, record, now, UNNAMED, cause="engine")
        return [self._remember(owner.uid, record)]

    def switched(self, on: bool, now: datetime) -> list[Instruction]:
        """Off: all that waits is let go, and nothing is remembered."""
        self.on = on
        if on:
            return []
        return [*self._all_open("the guard is switched off"), *self._all_forgotten("the guard is switched off")]

    def opened(self) -> list[Instruction]:
        """Everything, since nobody will look after it."""
        return [*self._all_open("the guard ends"), *self._all_forgotten("the guard ends")]

    def left(self, namespace: str) -> list[Instruction]:
        """A namespace that does not want to be guarded any more."""
        why = "its namespace is not guarded"
        found: list[Instruction] = list(self._all_open(why, namespace))
        return [*found, *self._all_forgotten(why, namespace)]

    # --- what time brings ---------------------------------------------------------------------------------------------

    def hopeful(self) -> Iterator[ClusterPod]:
        """Pods to ask the engine about, the oldest of each owner first."""
        for uid, record in self.records.items():
            if record.held is not None and not record.mistrusted:
                yield from (own.pod for own in self._waiting(uid))

    def due(self, now: datetime, hopeless: Callable[[ClusterPod], bool] = lambda _: False) -> list[Instruction]:
        """`hopeless`: each node is known, and none can take the pod."""
        found: list[Instruction] = []
        for uid, record in list(self.records.items()):
            waiting = self._waiting(uid)
            if record.held is None:
                for own in waiting:
                    if now - own.since >= DOUBT:
                        found.append(LetGo(own.pod, "doubt", "there is no loop yet"))
                        del self._gated[own.pod.uid]
                if not recent(record, now) and not waiting:
                    found += self._forget(uid)
                continue
            ready = [own for own in waiting if _ready(own, now)]
            follow = self._following.pop(uid, 0) if ready or not waiting else 0
            if follow:
                for own in [own for own in ready if not hopeless(own.pod)][:follow]:
                    found += self._let_go(own, self.records[uid], now, "another pod of it runs", cause="running")
            elif ready and now - (record.last or now) >= patience(record.tries):
                first = ready[0]
                late = now - (record.last or now) >= LONGEST_PATIENCE
                if late or not hopeless(first.pod):
                    waited = LONGEST_PATIENCE if late else patience(record.tries)
                    found += self._let_go(first, record, now, f"tried again after {seconds(waited)}")
            elif not waiting and not self._living & set(record.released) and now - newest(record) >= IDLE:
                found += self._ended(uid, record, "it has made no pod for a while")
        return found

    def is_armed(self, uid: str) -> bool:
        """Whether the owner's new pods are gated."""
        return self.on and uid in self.records and uid in self._armed()

    def let_go(self, pod: ClusterPod) -> bool:
        """Whether it was, by us, and nothing was heard of it."""
        record = self.records.get(pod.owner.uid) if pod.owner else None
        return record is not None and pod.uid in record.released

    def held_pods(self) -> Iterator[tuple[ClusterPod, LoopRecord]]:
        """Those that wait behind our gate, also where others hold them back, too."""
        for own in self._gated.values():
            record = self.records.get(own.pod.owner.uid) if own.pod.owner is not None else None
            if record is not None and record.held is not None:
                yield own.pod, record

    @property
    def held(self) -> int:
        """Owners."""
        return sum(record.held is not None for record in self.records.values())

    @property
    def gated(self) -> int:
        """Pods that wait."""
        return len(self._gated)

    # --- how ----------------------------------------------------------------------------------------------------------

    def _may_hold(self, uid: str) -> bool:
        return uid in self._armed()

    def _armed(self) -> set[str]:
        """Those that are held come first, then those that were counted first."""
        order = sorted(self.records, key=lambda uid: self.records[uid].held is None)
        return set(order[:MOST_HOLDS])

    def _remember(self, uid: str, record: LoopRecord) -> Remember:
        self.records[uid] = record
        return Remember(uid, record, uid in self._armed())

    def _forget(self, uid: str) -> list[Instruction]:
        record = self.records.pop(uid)
        self._following.pop(uid, None)
        self._living -= set(record.released)
        return [Remember(uid, None)]

    def _waiting(self, uid: str) -> list[_Gated]:
        """Only pods that nobody else holds back."""
        mine = (own for own in self._gated.values() if own.pod.owner is not None and own.pod.owner.uid == uid)
        free = (own for own in mine if not set(own.pod.gates) - set(OUR_GATES))
        return sorted(free, key=lambda own: (own.pod.metadata.creationTimestamp, own.pod.metadata.name))

    def _let_go(
        self,
        gated: _Gated,
        record: LoopRecord,
        now: datetime,
        why: str,
        nodes: tuple[str, ...] = (),
        cause: LetGoCause = "patience",
    ) -> list[Instruction]:
        uid = gated.pod.uid
        owner = gated.pod.owner
        assert owner is not None
        del self._gated[uid]
        self._leaving[uid] = _Leaving(gated, now, record.last)
        living = tuple(own for own in record.released if own in self._living)
        foreseen = tuple(own for own in record.foreseen if own in self._living)
        self._living.add(uid)
        record = replace(record, released=(*living, uid), foreseen=(*foreseen, uid) if nodes else foreseen, last=now)
        return [self._remember(owner.uid, record), LetGo(gated.pod, "engine" if nodes else cause, why, nodes)]

    def _ended(self, uid: str, record: LoopRecord, why: str) -> list[Instruction]:
        found: list[Instruction] = [LetGo(own.pod, "end", why) for own in self._waiting(uid)]
        for own in found:
            assert isinstance(own, LetGo)
            del self._gated[own.pod.uid]
        if record.held is not None:
            found.append(HoldEnded(uid, record, why))
        return [*found, *self._forget(uid)]

    def _nobodys(self, pod: ClusterPod, now: datetime) -> list[Instruction]:
        """A pod with our gate that no record tells of: nobody would ever let it go."""
        if HOLD_GATE not in pod.gates:
            return []
        self._gated.pop(pod.uid, None)
        return [LetGo(pod, "end", "nothing is known of a loop" if self.on else "the guard is switched off")]

    def _all_open(self, why: str, namespace: str = "") -> Iterable[LetGo]:
        for own in list(self._gated.values()):
            if namespace in ("", own.pod.metadata.namespace):
                del self._gated[own.pod.uid]
                yield LetGo(own.pod, "end", why)

    def _all_forgotten(self, why: str, namespace: str = "") -> list[Instruction]:
        found: list[Instruction] = []
        for uid, record in list(self.records.items()):
            if namespace in ("", record.namespace):
                if record.held is not None:
                    found.append(HoldEnded(uid, record, why))
                found += self._forget(uid)
        return found
