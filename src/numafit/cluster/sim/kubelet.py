"""One simulated kubelet: a node over time (`decision.history`), and what it shows of its pods.

It knows no network and no clock: whoever calls it says what happened and what time it is, and finds in `changed` whose
status is to be told, in `due` when it wants to be called again.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from numafit.cluster.sim import life
from numafit.cluster.sim.bound import FAILED, BoundPod
from numafit.cluster.sim.life import PlayedPod, ResizeTold
from numafit.decision.decide import load_of
from numafit.decision.decision import Decision
from numafit.decision.history.coming import Outcome
from numafit.decision.history.event import (
    AddPods,
    Event,
    Reconcile,
    RemovePods,
    ResizePod,
    RestartKubelet,
    StartKubelet,
)
from numafit.decision.history.happen import happen
from numafit.decision.history.situation import Situation
from numafit.decision.resize.request import same_resources
from numafit.managers.device.plugin import Plugin
from numafit.managers.protocol import Choices
from numafit.settings.facts import Taint
from numafit.workload.pod import Pod

START_SECONDS = 0.5
"""From the admission of a pod to the start of its containers."""
RECONCILE_SECONDS = 10.0
"""The CPU manager looks so often for what nobody holds any more, where cpuManagerReconcilePeriod says nothing."""
CRASH_SECONDS = 10.0
"""After which a kubelet that crashed is started again, as systemd does."""
ACTUATE_SECONDS = 0.5
"""From the allocation of other resources to containers that have them."""

FIRST_REJECTED = 28
"""The minor release from which the message of a rejection begins otherwise."""


class DecisionInterrupted(Exception):
    """Somebody closed the sockets while a decision waited for a plugin: nothing is decided, and the pod comes again."""


DueKind = Literal["start", "end", "again", "resized", "reconcile", "up"]


class Due(NamedTuple):
    at: float
    kind: DueKind
    uid: str = ""


class SimulatedKubelet:
    """Pods are known by their UIDs. Not for several threads at once; `situation` is one frozen value, which anybody may
    read at any time."""

    def __init__(
        self,
        name: str,
        situation: Situation,
        *,
        number: int = 0,
        start_seconds: float = START_SECONDS,
        reconcile_seconds: float = RECONCILE_SECONDS,
    ) -> None:
        """`number` makes its addresses: no two nodes have the same."""
        self.name = name
        self.number = number
        self.situation = situation
        self.pods: dict[str, PlayedPod] = {}
        """All that are bound to the node, also those that were rejected or have ended."""
        self.changed: set[str] = set()
        """UIDs of pods whose status is to be told. Whoever has told them takes them out."""
        self.node_changed = True
        """The Node object is to be told."""
        self.crash = ""
        """What it said when it crashed, while it is down."""
        self.starts = 0
        """How often it has started since it is there."""
        self.start_seconds, self.reconcile_seconds = start_seconds, reconcile_seconds
        self._due: list[Due] = []
        self._reconciles = False

    @property
    def host_ip(self) -> str:
        """Of the range that is kept for benchmarks (RFC 2544)."""
        return f"198.18.{self.number // 254}.{self.number % 254 + 1}"

    # --- what happens -------------------------------------------------------------------------------------------------

    def begin(self, pods: Sequence[BoundPod], now: float) -> Outcome | None:
        """Those that are bound when the simulation begins. Those that had been admitted before are admitted again, over
        the state files, as by a kubelet that starts; with them come those that nobody has seen yet."""
        pods = sorted(pods, key=_by_creation)
        self.pods = {bound.pod.uid: life.played(bound, now) for bound in pods}
        alive = [bound for bound in pods if not self.pods[bound.pod.uid].over]
        outcome = None
        if alive:
            settings = self.situation.node.settings
            active = {
                bound.pod.uid: bound.allocated or bound.pod for bound in alive if self.pods[bound.pod.uid].admitted
            }
            self.situation = replace(
                self.situation,
                ledger=replace(self.situation.ledger, active=active),
                load=load_of(settings, active.values()),
                waiting=tuple(bound.pod for bound in alive if bound.pod.uid not in active),
                resizes={bound.pod.uid: bound.pod for bound in alive if bound.allocated is not None},
                down=True,
            )
            outcome = self.happen(StartKubelet(), now)
        for bound in pods:
            if bound.deleting:
                self._deleted(self.pods[bound.pod.uid], now)
        self._reconcile_later(now)
        return outcome

    def add(self, pods: Sequence[BoundPod], now: float) -> Outcome:
        """They are bound; those that come at once are decided by the time of their creation."""
        pods = sorted((bound for bound in pods if bound.pod.uid not in self.pods), key=_by_creation)
        for bound in pods:
            self.pods[bound.pod.uid] = life.played(bound, now)
        alive = [bound for bound in pods if not self.pods[bound.pod.uid].over]
        outcome = self.happen(AddPods(tuple(bound.pod for bound in alive)), now)
        for bound in pods:
            if bound.deleting:
                self._deleted(self.pods[bound.pod.uid], now)
        return outcome

    def update(self, bound: BoundPod, now: float) -> None:
        """The API server shows it otherwise: it is deleted, or asks for other resources."""
        pod = self.pods.get(bound.pod.uid)
        if pod is None:
            self.add((bound,), now)
            return
        if bound.gates != pod.gates:
            pod.gates = dict(bound.gates)
            if pod.admitted and not pod.over:
                self.changed.add(pod.uid)
        if bound.generation != pod.generation:
            pod.generation = bound.generation
            if pod.admitted and not pod.over:
                self.changed.add(pod.uid)
        if bound.deleting and not pod.deleting:
            pod.deleting = True
            self._deleted(pod, now)
        elif not pod.over and not bound.deleting:
            asked = self.situation.resizes.get(pod.uid, pod.pod)
            if not same_resources(asked, bound.pod):
                self._resize(pod, asked, bound.pod, now)

    def forget(self, uid: str, now: float) -> None:
        """The API server knows it no more."""
        pod = self.pods.pop(uid, None)
        self.changed.discard(uid)
        if pod is not None and not pod.over:
            self._removed(pod.pod, now)

    def use_plugin(self, resource: str, plugin: Plugin) -> None:
        """In the place of the one that the machine describes."""
        node = self.situation.node
        plugins = {**node.device.plugins, resource: plugin}
        self.situation = replace(self.situation, node=replace(node, device=replace(node.device, plugins=plugins)))

    def mark(self, labels: Mapping[str, str], taints: tuple[Taint, ...]) -> None:
        """Somebody has given the node others: they count for pods that come."""
        node = self.situation.node
        facts = replace(node.facts, labels=labels, taints=taints)
        self.situation = replace(self.situation, node=replace(node, facts=facts))

    def happen(self, event: Event, now: float) -> Outcome:
        """Any event of a node's history; what comes of it for the pods is told in `changed`."""
        before = self.situation
        outcome = happen(before, event, Choices)
        self.situation = outcome.situation
        if isinstance(event, RestartKubelet | StartKubelet):
            self.starts += 1
        for step in outcome.steps:
            self._decided(step.decision, step.event == "resize", now)
        self._start_late(before, now)
        if outcome.crash:
            self.crash, self.node_changed = outcome.crash, True
            self._plan(now + CRASH_SECONDS, "up")
        elif before.down != outcome.situation.down:
            self.crash, self.node_changed = "", True
        if _offer(before) is not _offer(outcome.situation) or before.listed is not outcome.situation.listed:
            self.node_changed = True
        ledger = outcome.situation.ledger
        if ledger.device.devices is not before.ledger.device.devices:
            # Their statuses tell which of their devices are healthy.
            self.changed |= {uid for uid in ledger.device.held if uid in self.pods and not self.pods[uid].over}
        if any(uid not in ledger.active for uid in ledger.cpu.entries):
            # Of pods that have gone, and of one that was rejected after some of its containers had got theirs.
            self._reconcile_later(now)
        return outcome

    # --- time ---------------------------------------------------------------------------------------------------------

    @property
    def due(self) -> float | None:
        """When `advance` is to be called next."""
        return self._due[0].at if self._due else None

    def advance(self, now: float) -> None:
        """What was to happen by now happens."""
        while self._due and self._due[0].at <= now:
            due = heapq.heappop(self._due)
            match due.kind:
                case "reconcile":
                    self._reconciles = False
                    self.happen(Reconcile(), now)
                case "up":
                    if self.situation.down:
                        self.happen(StartKubelet(), now)
                case _:
                    pod = self.pods.get(due.uid)
                    if pod is not None and not pod.over:
                        self._pod_due(pod, due.kind, now)

    def _pod_due(self, pod: PlayedPod, kind: DueKind, now: float) -> None:
        if kind == "resized":
            if pod.resize is not None and not pod.resize.pending:
                pod.resize = None
                self.changed.add(pod.uid)
            return
        if kind == "end":
            seconds = pod.manner.run_seconds
            begun = [own.state.started for own in pod.containers.values() if own.state.kind == "running"]
            if seconds is None or not begun or now < max(begun) + seconds - 0.001:
                return
            self._finish(pod, now)
            return
        if kind == "again":
            life.again(pod)
        self._begin(pod, now)

    def _plan(self, at: float, kind: DueKind, uid: str = "") -> None:
        heapq.heappush(self._due, Due(at, kind, uid))

    # --- containers ---------------------------------------------------------------------------------------------------

    def _begin(self, pod: PlayedPod, now: float) -> None:
        if self.situation.down:
            # Nobody starts a container while the kubelet is down.
            self._plan(now + CRASH_SECONDS, "start", pod.uid)
            return
        left = next((names for uid, names in self.situation.unstarted if uid == pod.uid), ())
        if not pod.address and not pod.manner.host_network:
            pod.address = self._free_address()
        ends = life.begin(pod, now, frozenset(left))
        self.changed.add(pod.uid)
        if ends is not None:
            self._plan(ends, "end", pod.uid)

    def _free_address(self) -> str:
        network = f"10.{64 + (self.number >> 8) % 192}.{self.number & 255}."
        taken = {pod.address for pod in self.pods.values()}
        free = (f"{network}{last}" for last in range(2, 255))
        return next((address for address in free if address not in taken), "")

    def _finish(self, pod: PlayedPod, now: float) -> None:
        again = life.finish(pod, now)
        self.changed.add(pod.uid)
        if again is not None:
            self._plan(again, "again", pod.uid)
        else:
            self._removed(pod.pod, now)

    def _start_late(self, before: Situation, now: float) -> None:
        """Containers that waited for a device have it now."""
        if before.unstarted is self.situation.unstarted:
            return
        still = {uid for uid, _ in self.situation.unstarted}
        for uid, _ in before.unstarted:
            pod = self.pods.get(uid)
            if uid not in still and pod is not None and pod.admitted and not pod.over:
                self._plan(now, "start", uid)

    def _deleted(self, pod: PlayedPod, now: float) -> None:
        """Its containers end at once, whatever time they are given for it."""
        self.changed.add(pod.uid)
        if pod.over:
            return
        life.end(pod, now)
        self._removed(pod.pod, now)

    def _removed(self, pod: Pod, now: float) -> None:
        self.happen(RemovePods((pod,)), now)

    def _reconcile_later(self, now: float) -> None:
        if self.situation.node.cpu.static and not self._reconciles:
            self._reconciles = True
            self._plan(now + self.reconcile_seconds, "reconcile")

    # --- decisions ----------------------------------------------------------------------------------------------------

    def _decided(self, decision: Decision, resize: bool, now: float) -> None:
        for victim in decision.evicted:
            self._preempted(victim, now)
        pod = self.pods.get(decision.pod.uid)
        if pod is None or decision.panic:
            return
        if resize:
            self._resized(pod, decision, now)
        elif decision.admitted:
            life.admit(pod)
            running = [own.state.started for own in pod.containers.values() if own.state.kind == "running"]
            if any(own.state.kind == "waiting" for own in pod.containers.values()):
                self._plan(now + self.start_seconds, "start", pod.uid)
            if running and pod.manner.run_seconds is not None:
                self._plan(max(running) + pod.manner.run_seconds, "end", pod.uid)
            self.changed.add(pod.uid)
        else:
            minor = self.situation.node.settings.version.minor
            before = "Pod was rejected: " if minor >= FIRST_REJECTED else "Pod "
            life.reject(pod, decision.reason, before + decision.message, now)
            self.changed.add(pod.uid)
            # What the managers gave it before somebody refused it is found by the CPU manager's loop.
            self._reconcile_later(now)

    def _preempted(self, victim: Decision, now: float) -> None:
        pod = self.pods.get(victim.pod.uid)
        if pod is None or pod.over:
            return
        life.end(pod, now)
        pod.phase, pod.reason, pod.message, pod.preempted = FAILED, victim.reason, victim.message, True
        self.changed.add(pod.uid)

    def _resize(self, pod: PlayedPod, asked: Pod, wanted: Pod, now: float) -> None:
        """All containers at once: the API server has taken it as a whole, and only what comes last is decided."""
        old = {own.name: own for own in asked.all_containers}
        events = [
            ResizePod(pod=asked, container=own.name, requests=own.requests, limits=own.limits)
            for own in wanted.all_containers
            if own.name in old and (own.requests, own.limits) != (old[own.name].requests, old[own.name].limits)
        ]
        if not events or self.situation.down:
            return
        for event in events[:-1]:
            noted = happen(replace(self.situation, down=True), event, Choices).situation
            self.situation = replace(noted, down=False)
        self.happen(events[-1], now)

    def _resized(self, pod: PlayedPod, decision: Decision, now: float) -> None:
        if decision.resize in ("allocated", "reverted"):
            pod.pod = decision.pod
            if decision.resize == "reverted":
                pod.resize = None
            else:
                pod.resize = ResizeTold(False, generation=pod.generation, since=now, looked=now)
                self._plan(now + ACTUATE_SECONDS, "resized", pod.uid)
        elif decision.resize in ("Deferred", "Infeasible"):
            before = pod.resize
            same = before is not None and before.pending and before.reason == decision.reason
            pod.resize = ResizeTold(
                True,
                decision.reason,
                decision.message,
                pod.generation,
                before.since if before is not None and same else now,
                now,
            )
        self.changed.add(pod.uid)


def _by_creation(bound: BoundPod) -> str:
    return bound.created


def _offer(situation: Situation) -> object:
    """Another value where the devices of plugins are others than before."""
    return situation.ledger.device.healthy if situation.ledger.device.connected else None
