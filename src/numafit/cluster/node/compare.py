"""What the kubelet decided beside what numafit would have decided.

The base is how the node stood when all was quiet. When pods have come since and all is quiet again, the engine plays
them on the base and has to reach what the pods' statuses and the state files say. A look does not tell in which order
pods of one moment came, whether one that left had gone before or after, and whether the CPU manager has cleared up
since: if one way that can have been leads to what is seen, both are equal. Where more can have been than is tried,
nothing is said of a difference.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations
from typing import Literal

import msgspec
from msgspec.structs import replace

from numafit.cluster.node.pods import NodePod
from numafit.cluster.node.process import RunningKubelet
from numafit.cluster.node.watch import FolderStamps
from numafit.decision.decision import PREEMPTED, PREEMPTING
from numafit.decision.stage import Stage
from numafit.errors import InputError
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.replay.cases.run import Run
from numafit.replay.outcomes import Json
from numafit.replay.replay import replay
from numafit.replay.runs.seen import decision
from numafit.replay.simulated_run import RunBeginning, case_of_run, run_input
from numafit.settings.versions import KubeVersion
from numafit.workload.pod import Pod

SETTLE_SECONDS = 0.8
"""So long nothing may have changed before pods that came are compared."""
PATIENCE_SECONDS = 10.0
"""So long those that are not decided yet are waited for."""
MOST_WAYS = 64
"""That are tried before the two are said to differ."""
MOST_PODS = 24
"""That may have come since the base; with more the orders cannot be tried."""
CHANGED = "devices, machine or settings changed meanwhile"

ComparisonResult = Literal["equal", "differs", "not comparable"]


class NodeLook(msgspec.Struct, frozen=True):
    """The node at one moment."""

    stage: Stage
    """With who is on it."""
    files: Mapping[str, str]
    served: Mapping[str, NodePod]
    """By UID, as the API server tells of them, in the order in which it told of them first."""
    pods: Mapping[str, Pod]
    """By UID; without those that cannot be read."""
    process: RunningKubelet | None = None
    doubt: str = ""
    """Why nothing can be compared with it; empty where it can."""
    plugins: FolderStamps = ()
    """Sockets of device plugins: of one that was away for a moment nothing else tells."""
    left: frozenset[str] = frozenset()
    """UIDs of pods that have left the API server since the look before."""

    @property
    def decided(self) -> frozenset[str]:
        """UIDs of pods of which the kubelet has said yes or no."""
        told = {uid for uid, own in self.served.items() if own.rejected or own.admitted or own.ended}
        return frozenset(told | (self.stage.ledger.active.keys() & self.served.keys()))

    @property
    def undecided(self) -> frozenset[str]:
        waiting = {uid for uid, own in self.served.items() if own.metadata.deletionTimestamp is None}
        return frozenset(waiting - self.decided)

    @property
    def signs(self) -> object:
        """It differs where something has happened."""
        return {uid: own.metadata.resourceVersion for uid, own in self.served.items()}, dict(self.files)


class ComparedDecision(msgspec.Struct, frozen=True):
    result: ComparisonResult
    pods: tuple[str, ...]
    """namespace/name of those that were decided."""
    why: str = ""
    """What differs, or why nothing can be compared."""
    case: Json | None = None
    """Of a difference: what `numafit replay` plays."""


class DecisionComparer:
    def __init__(self) -> None:
        self._base: NodeLook | None = None
        self._signs: object = None
        self._left: frozenset[str] = frozenset()
        """UIDs of pods that have left since the base."""
        self._since = 0.0
        """When something happened last."""
        self._first = 0.0
        """When the first decision was seen that is not compared yet."""
        self.pending = False
        """A decision was seen, and is compared when all is quiet: look again soon."""

    def look(self, now: NodeLook, seconds: float) -> ComparedDecision | None:
        """`seconds`: a clock that only goes on."""
        signs = now.signs
        if signs != self._signs:
            self._signs, self._since = signs, seconds
        self._left |= now.left
        base = self._base
        new = frozenset() if base is None else now.decided - base.decided
        if not new:
            self.pending = False
            if base is None or not now.undecided or now.process != base.process:
                self._base, self._left = now, frozenset()
            return None
        if not self.pending:
            self.pending, self._first = True, seconds
        quiet = seconds - self._since >= SETTLE_SECONDS
        patient = now.undecided and seconds - self._first < PATIENCE_SECONDS
        if base is None or not quiet or patient:
            return None
        passing = self._left - base.decided
        self._base, self._left, self.pending = now, frozenset(), False
        return compared(base, now, new, passing=bool(passing))


def compared(base: NodeLook, now: NodeLook, new: frozenset[str], *, passing: bool = False) -> ComparedDecision:
    """`passing`: other pods came and went meanwhile."""
    names = tuple(sorted(now.served[uid].name for uid in new))
    why = _incomparable(base, now, new) or "other pods came and went meanwhile" * passing
    if why:
        return ComparedDecision("not comparable", names, why)
    first: Json | None = None
    difference = ""
    ways = list(islice(_ways(base, now, new), MOST_WAYS + 1))
    for lines in ways[:MOST_WAYS]:
        case = _case(base, now, new, lines)
        try:
            found = replay(case)
        except InputError as error:
            return ComparedDecision("not comparable", names, str(error))
        if "error" in found.actual:
            return ComparedDecision(
                "not comparable", names, f"the state before is not one to start from: {found.actual}"
            )
        if found.verdict != "differs":
            # Which devices it gave is followed; that they were free, nobody has looked at yet.
            twice = _given_twice(base, now, new)
            return ComparedDecision("differs", names, twice, case) if twice else ComparedDecision("equal", names)
        if first is None:
            first, difference = case, str(found.difference)
    if len(ways) > MOST_WAYS or _is_tangled(base, now, new):
        return ComparedDecision("not comparable", names, "pods came and went in an order that nobody saw")
    return ComparedDecision("differs", names, difference, first)


def _incomparable(base: NodeLook, now: NodeLook, new: frozenset[str]) -> str:
    if base.doubt or now.doubt:
        return base.doubt or now.doubt
    if base.process != now.process:
        return "the kubelet was started again meanwhile"
    if base.stage.node.machine != now.stage.node.machine or base.stage.config != now.stage.config:
        return CHANGED
    if base.plugins != now.plugins:
        return "a device plugin came, went or was started again meanwhile"
    if len(new) > MOST_PODS:
        return f"{len(new)} pods came at once"
    unread = [now.served[uid].name for uid in new if uid not in now.pods]
    if unread:
        return f"{unread[0]} cannot be read"
    early = [now.served[uid].name for uid in new if _holds(base, uid)]
    if early:
        return f"{early[0]} had its share before the API server told of it"
    missing = next((name for name in _needed(now, new) if name not in now.files), "")
    if missing:
        return f"the kubelet has no {missing} where it should be"
    for uid in new:
        own = now.served[uid]
        if own.ended and not own.rejected and not own.admitted:
            return f"{own.name} was refused for something else: {own.status.reason or own.status.phase}"
    resizing = [own.name for look in (base, now) for own in look.served.values() if own.resizing and not own.ended]
    return f"{resizing[0]} is being resized" if resizing else ""


def _holds(look: NodeLook, uid: str) -> bool:
    cpu, memory, device = look.stage.ledger.cpu, look.stage.ledger.memory, look.stage.ledger.device
    return any(uid in own for own in (cpu.entries, cpu.pod_entries, memory.entries, memory.pod_entries, device.held))


def _needed(look: NodeLook, new: frozenset[str]) -> Iterator[str]:
    """State files without which a decision would be compared by its verdict alone."""
    node, listed = look.stage.node, look.stage.ledger.device.devices
    if node.cpu.static:
        yield CPU_FILE
    if node.memory is not None and node.memory.static:
        yield MEMORY_FILE
    held = [look.pods[uid] for uid in new & look.stage.ledger.active.keys()]
    if any(resource in listed for pod in held for own in pod.all_containers for resource in own.limits):
        yield DEVICE_FILE


def _given_twice(base: NodeLook, now: NodeLook, new: frozenset[str]) -> str:
    """A device of one that came which another one held all the time, or which is not where the kubelet wrote it."""
    held = now.stage.ledger.device.held
    there = base.stage.ledger.active.keys() & now.stage.ledger.active.keys() & held.keys()
    for uid in sorted(new & held.keys() & now.stage.ledger.active.keys()):
        for own in held[uid].values():
            for resource, devices in own.items():
                for other in sorted(there - {uid}):
                    both = {id for each in held[other].values() if resource in each for id in each[resource].ids}
                    if both & devices.ids:
                        names = f"{now.served[uid].name}, and {base.stage.ledger.active[other].full_name} holds it"
                        return f"{resource} {min(both & devices.ids)} was given to {names}"
                listed = base.stage.ledger.device.devices.get(resource, {})
                for numa, ids in devices.by_numa.items():
                    wrong = [id for id in ids if id in listed and numa not in (listed[id].numa or (numa,))]
                    if wrong:
                        return f"{resource} {wrong[0]} was given as one of NUMA node {numa}, where it is not"
    return ""


def _going(base: NodeLook, now: NodeLook, new: frozenset[str]) -> tuple[list[str], list[str], list[str]]:
    """UIDs of those that are gone since the base, of those that are about to go, and of new ones that have ended."""
    there = base.stage.ledger.active
    gone = [uid for uid in there if uid not in now.stage.ledger.active and not _is_evicted(now, uid)]
    leaving = [
        uid
        for uid, own in now.served.items()
        if uid in there and uid not in gone and own.metadata.deletionTimestamp is not None
    ]
    ended = [uid for uid in new if now.served[uid].admitted and now.served[uid].ended]
    return gone, leaving, ended


def _is_tangled(base: NodeLook, now: NodeLook, new: frozenset[str]) -> bool:
    """Each of those that went can have gone before or after each of those that came, and not all of that is tried."""
    going = sum(map(len, _going(base, now, new)))
    return going > 1 or (going == 1 and len(new) > 1)


def _ways(base: NodeLook, now: NodeLook, new: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """The lines of an event file that can have led from the base to now, the likeliest first."""
    titles = _titles(base, now, new)
    gone, leaving, ended = _going(base, now, new)
    seen: set[tuple[str, ...]] = set()
    arrived = {uid: index for index, uid in enumerate(now.served)}
    # A kubelet takes pods of one message by the time they were made, which is told to the second.
    likely = sorted(new, key=lambda uid: (now.served[uid].metadata.creationTimestamp, arrived[uid]))
    for order in permutations(likely):
        for first, last in ((gone, ()), ([*gone, *leaving], ()), ((), gone)):
            for tick in (True, False):
                lines = [
                    _line("remove", first, titles),
                    _line("add", order, titles),
                    _line("remove", (*last, *ended), titles),
                    "reconcile" if tick else "",
                ]
                way = tuple(line for line in lines if line)
                if way not in seen:
                    seen.add(way)
                    yield way


def _line(word: str, uids: Sequence[str], titles: Mapping[str, str]) -> str:
    return " ".join([word, *(titles[uid] for uid in uids)]) if uids else ""


def _is_evicted(now: NodeLook, uid: str) -> bool:
    return uid in now.served and now.served[uid].status.reason == PREEMPTING


def _titles(base: NodeLook, now: NodeLook, new: frozenset[str]) -> dict[str, str]:
    """UID -> the name in the case. One that was there and one that came by the same name are told apart."""
    coming = {uid: now.pods[uid].full_name for uid in new}
    taken = set(coming.values())
    there = {uid: pod.full_name for uid, pod in base.stage.ledger.active.items()}
    return {**{uid: f"{name}-before" if name in taken else name for uid, name in there.items()}, **coming}


def _case(base: NodeLook, now: NodeLook, new: frozenset[str], lines: Sequence[str]) -> Json:
    stage = base.stage
    titles = _titles(base, now, new)
    active = {uid: replace(pod, name=titles[uid].partition("/")[2]) for uid, pod in stage.ledger.active.items()}
    beginning = RunBeginning(stage.node, replace(stage.ledger, active=active), stage.allocatable, stage.config)
    content = run_input(beginning, [now.pods[uid] for uid in sorted(new)], lines)
    content |= {"residents": list(active), "initialFiles": dict(base.files)}
    expected: list[Json] = [_entry(now, new, titles) if line.startswith("add ") else {} for line in lines]
    expected[-1]["files"] = _files(content, stage.node.settings.version, now, new)
    name = f"decision of {' '.join(sorted(titles[uid] for uid in new))}"
    return case_of_run(name, stage.node.settings.version, content, {"events": expected})


def _files(content: Json, version: KubeVersion, now: NodeLook, new: frozenset[str]) -> Json:
    """What the kubelet wrote. Of the device manager's file only what the pods that came hold is theirs: the rest of it
    follows plugins, and waits for the next writing."""
    files = dict(now.files)
    if DEVICE_FILE not in files:
        return files
    played = Run(content, version).play().get("events") or ()
    text = next((each["files"][DEVICE_FILE] for each in reversed(played) if DEVICE_FILE in each.get("files", {})), "")
    own = {uid for uid in new if now.served[uid].admitted and not now.served[uid].ended}
    told: Json = msgspec.json.decode(text) if text else {"Data": {}}
    seen: Json = msgspec.json.decode(files[DEVICE_FILE])
    others = [each for each in told["Data"].get("PodDeviceEntries") or () if each["PodUID"] not in own]
    theirs = [each for each in seen["Data"].get("PodDeviceEntries") or () if each["PodUID"] in own]
    told["Data"]["PodDeviceEntries"] = [*others, *theirs]
    files[DEVICE_FILE] = msgspec.json.encode(told).decode()
    return files


def _entry(now: NodeLook, new: frozenset[str], titles: Mapping[str, str]) -> Json:
    records = []
    for uid in sorted(new):
        own = now.served[uid]
        reason, message = (own.status.reason, own.status.message) if own.rejected else ("", "")
        records.append(decision(uid, titles[uid], "admission", not own.rejected, reason, message))
    for uid, title in titles.items():
        if uid not in new and _is_evicted(now, uid):
            records.append(decision(uid, title, "eviction", False, PREEMPTING, PREEMPTED))
    return {"decisions": records}
