"""The guard: what the cluster tells goes into the rules, what these say is done and told.

A dry run tells everything and changes nothing: no gate, no pod, no ConfigMap.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import msgspec

from numafit.cluster.guard.counts import GuardCounts
from numafit.cluster.guard.engine import HoldEngine
from numafit.cluster.guard.failed import RejectedPods
from numafit.cluster.guard.hands import GuardHands, SteerResult, released_note
from numafit.cluster.guard.instructions import Explanation, HoldBegun, HoldEnded, Instruction, LetGo, NotHeld, Remember
from numafit.cluster.guard.leftovers import Leftovers
from numafit.cluster.guard.memory import LoopMemory
from numafit.cluster.guard.namespaces import GuardedNamespaces
from numafit.cluster.guard.patience import moment
from numafit.cluster.guard.policies import BINDINGS, GROUP_PATH
from numafit.cluster.guard.replacer import LoopReplacer
from numafit.cluster.guard.rules import EXPLAINED_ONLY, LoopRules
from numafit.cluster.guard.telling.held import HeldTeller
from numafit.cluster.guard.telling.teller import LoopTeller
from numafit.cluster.guard.words import HOLD_POLICY
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.pace import Backoff
from numafit.cluster.live.fleet import LiveChange, LiveFleet
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import HOLD_GATE, PLACE_GATE
from numafit.errors import ApiServerError, InputError

TURN_SECONDS = 0.25
EVERY = 100
"""So many pods that were not held are told once."""
SWEEP_SECONDS, SWITCH_SECONDS = 10.0, 5.0
"""Between two looks at all pods that wait, whatever was heard of them, and at the binding of the policy."""


class GuardOptions(msgspec.Struct, frozen=True):
    namespace: str = "numafit"
    enforce: bool = False
    by_policy: bool = True
    """Else a webhook gates pods: it asks `LoopGuard.holds`, and follows `LoopGuard.memory` in each replica."""
    opt_in: bool = False
    alone: bool = True
    """No placer runs beside it, which looks after pods that the scheduler cannot bind."""


class LoopGuard:
    """`live` is run by whoever made it. `run` may be called again after it was cancelled: whoever leads guards."""

    def __init__(
        self,
        api: KubeApi,
        health: ApiHealth,
        live: LiveFleet,
        options: GuardOptions,
        say: Callable[[str], None] = lambda _: None,
        counts: GuardCounts | None = None,
    ) -> None:
        self._api, self._health, self._live, self._options, self._say = api, health, live, options, say
        self.counts = counts or GuardCounts()
        self.counts.enforces = options.enforce
        self.memory = LoopMemory(api, options.namespace, health, self._switched_by_memory)
        self._engine, self._hands = HoldEngine(live), GuardHands(api, health)
        self._teller = LoopTeller(api, health, live, self.counts, enforced=options.enforce)
        self._held = HeldTeller(api, health, live, self.counts, lambda: self._rules.held_pods())
        self._replacer = LoopReplacer(api, health, live, say)
        self._rules = LoopRules()
        self._leftovers = Leftovers()
        self._namespaces = GuardedNamespaces(api, health, options.namespace, self._left, opt_in=options.opt_in)
        self._bound = True
        """The binding of the policy is there."""
        self._working: set[asyncio.Task[None]] = set()
        self._ears = False
        """Whether changes are listened to."""
        self._ended = False
        """Nothing is held any more, and nobody goes on."""
        self._hope = False
        """Something changed that may let a pod in."""
        self._dry_told: set[str] = set()
        live.listen(self._heard)

    async def run(self) -> None:
        """Until it is cancelled."""
        await self._live.synced.wait()
        await self._begin()
        rejected = RejectedPods(self._api, self._health, self._rejected, self._gone_for_good)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._namespaces.run())
                await self._namespaces.synced.wait()
                for name in {record.namespace for record in self._rules.records.values()}:
                    if not self._namespaces.guards(name):
                        self._left(name)
                group.create_task(rejected.run())
                await rejected.synced.wait()
                self._ears = True
                self._sweep()
                if self._options.enforce:
                    group.create_task(self.memory.keep())
                    group.create_task(self._held.run())
                    if self._options.by_policy:
                        group.create_task(self.memory.watch())
                        group.create_task(self._watch_binding())
                    if self._options.alone:
                        group.create_task(self._replacer.run())
                group.create_task(self._teller.run())
                await self._turn_for_ever()
        finally:
            self._ears = False
            self._engine.rest()
            self.counts.holds = self.counts.waiting = 0
            for task in self._working:
                task.cancel()

    def holds(self, owner: str, kind: str) -> bool:
        """Whether a new pod of this owner gets the gate; for a webhook, in any replica."""
        if kind in EXPLAINED_ONLY or not self.memory.on or self._ended:
            return False
        return self._rules.is_armed(owner) if self._ears else owner in self.memory.armed

    async def open_all(self) -> None:
        """After `run`, where nobody else goes on: no pod waits for us, and no other one will."""
        if not self._options.enforce:
            return
        self._ended = True
        self._sweep()
        for own in self._rules.opened():
            if isinstance(own, LetGo):
                await self._hands.release(own.pod, own.why)
            elif isinstance(own, Remember):
                self.memory.remember(own.owner, None, armed=False)
        try:
            await self.memory.write()
        except InputError as error:
            self._health.failed(error)

    def _now(self) -> datetime:
        """By the API server: pods are made by its clock."""
        return datetime.fromtimestamp(self._api.clock.now(), UTC)

    # --- beginning ----------------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        self._rules, self._leftovers = LoopRules(), Leftovers()
        if not self._options.enforce:
            return
        backoff = Backoff(longest=5)
        while True:
            try:
                records = await self.memory.begin(self._now())
                self._bound = not self._options.by_policy or await self._binding_is_there()
                break
            except InputError as error:
                self._health.failed(error)
                await asyncio.sleep(backoff.seconds())
        self._rules = LoopRules(records)
        if records:
            self._say(f"{len(records)} owners are remembered, {self._rules.held} of them held")
        if not self._on:
            self._switch()

    # --- what is heard ------------------------------------------------------------------------------------------------

    def _heard(self, change: LiveChange) -> None:
        self._hope = True
        if not self._ears:
            return
        now = self._now()
        if change.kind == "pod" and change.pod is not None:
            self._engine.told(change.pod)
            self._seen(change.pod, now)
        elif change.kind in ("gone", "failed") and change.pod is not None:
            self._engine.gone(change.pod)
        if change.kind == "gone":
            self._rules.gone(change.name)
            self._replacer.gone(change.name)
            self._dry_told.discard(change.name)

    def _seen(self, pod: ClusterPod, now: datetime) -> None:
        if HOLD_GATE in pod.gates or (pod.owner is not None and pod.owner.uid in self._rules.records):
            self._do(self._rules.seen(pod, now))
        if self._rules.let_go(pod):
            self._replacer.told(pod)

    def _rejected(self, pod: ClusterPod) -> None:
        self._leftovers.failed(pod)
        if not self._namespaces.guards(pod.metadata.namespace):
            return
        now = self._now()
        # It is not told when the kubelet rejected it: hardly later than it was made, where it was not held.
        made = moment(pod.metadata.creationTimestamp) or now
        if self._ears:
            self.counts.rejected[pod.reason] += 1
        self._do(self._rules.rejected(pod, now if self._ears else made, now))

    def _gone_for_good(self, uid: str, owner: str) -> None:
        self._leftovers.gone(uid, owner)
        self._rules.forgotten(uid)

    def _left(self, namespace: str) -> None:
        self._do(self._rules.left(namespace))

    # --- the switch ---------------------------------------------------------------------------------------------------

    @property
    def _on(self) -> bool:
        return self.memory.on and self._bound

    def _switched_by_memory(self, on: bool) -> None:
        self.memory.on = on
        self._switch()

    def _switch(self) -> None:
        if self._rules.on != self._on:
            self._say("switched on" if self._on else "switched off: all that waits is released, and nothing is held")
            self._do(self._rules.switched(self._on, self._now()))
        self.counts.on = self._on

    async def _watch_binding(self) -> None:
        while True:
            await asyncio.sleep(SWITCH_SECONDS)
            try:
                self._bound = await self._binding_is_there()
            except InputError as error:
                self._health.failed(error)
                continue
            self._switch()

    async def _binding_is_there(self) -> bool:
        try:
            await self._api.get(f"{GROUP_PATH}/{BINDINGS}/{HOLD_POLICY}")
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return False
        return True

    # --- what time brings ---------------------------------------------------------------------------------------------

    async def _turn_for_ever(self) -> None:
        swept = time.monotonic()
        while True:
            await asyncio.sleep(TURN_SECONDS)
            if time.monotonic() - swept >= SWEEP_SECONDS:
                swept = time.monotonic()
                self._sweep()
            self._turn()

    def _turn(self) -> None:
        counts, now = self.counts, self._now()
        if self._hope:
            self._hope = False
            self._engine.begin_round()
            for pod in list(self._rules.hopeful()):
                nodes = self._asked(pod)
                if nodes:
                    self._do(self._rules.fits(pod.uid, nodes, now))
        if not self._rules.held:
            self._engine.rest()
        self._do(self._rules.due(now, self._hopeless))
        counts.holds, counts.waiting = self._rules.held, self._rules.gated
        if self._options.enforce and self._on:
            for pod in self._leftovers.due(time.monotonic(), self._may_be_removed):
                self._begin_work(self._remove(pod))
        counts.leftovers = sum(1 for _ in self._leftovers.too_many())

    def _asked(self, pod: ClusterPod) -> tuple[str, ...]:
        try:
            return self._engine.nodes(pod)
        # A pod or a node that the engine cannot bear must not end the guard: it is a bug, and counted.
        except Exception as error:
            self.counts.failed(error)
            return ()

    def _hopeless(self, pod: ClusterPod) -> bool:
        try:
            return self._engine.hopeless(pod)
        except Exception as error:
            self.counts.failed(error)
            return False

    def _sweep(self) -> None:
        """Whatever was missed: each pod that waits is looked at."""
        now = self._now()
        for pod in list(self._live.pods.values()):
            self._seen(pod, now)

    def _may_be_removed(self, pod: ClusterPod) -> bool:
        return self._namespaces.guards(pod.metadata.namespace)

    # --- what is done -------------------------------------------------------------------------------------------------

    def _do(self, instructions: Iterable[Instruction]) -> None:
        enforce = self._options.enforce
        for own in instructions:
            match own:
                case Remember(owner=owner, record=record, armed=armed):
                    if enforce:
                        self.memory.remember(owner, record, armed=armed)
                case Explanation():
                    self._teller.tell(own)
                case HoldBegun(record=record):
                    self.counts.holds_begun += 1
                    self._say(f"{'holds' if enforce else 'would hold'} {record.kind} {record.namespace}/{record.name}")
                    self._teller.tell(own)
                case HoldEnded(record=record, why=why):
                    self._say(f"holds {record.kind} {record.namespace}/{record.name} no longer: {why}")
                    self._teller.tell(own)
                case NotHeld(pod=pod):
                    self._slipped(pod)
                case LetGo(pod=pod):
                    if enforce:
                        self._begin_work(self._let_go(own))
                    elif pod.uid not in self._dry_told:
                        self._dry_told.add(pod.uid)
                        self._say(f"would release {pod.full_name}: {own.why}")
                        self._teller.tell(own)

    def _slipped(self, pod: ClusterPod) -> None:
        if not self._options.enforce:
            return
        if not self.counts.unheld % EVERY:
            what = "policy" if self._options.by_policy else "webhook"
            self._say(f"the {what} did not hold {pod.full_name}, whose owner is held: see docs/guard.md")
        self.counts.unheld += 1

    async def _let_go(self, own: LetGo) -> None:
        pod = own.pod
        nodes = () if PLACE_GATE in pod.gates else own.nodes
        # The placer decides only where its gate is the last one; without nodes the scheduler does.
        result: SteerResult
        if nodes:
            self._engine.promise(pod, nodes)
            notes = released_note(own.why)
            result = await self._hands.steer(pod, lambda has: self._engine.patch(pod, nodes, notes, annotated=has))
        else:
            result = "done" if await self._hands.release(pod, own.why) else "failed"
        if result == "done":
            self.counts.released[own.cause] += 1
            if own.cause == "doubt":
                # It happens to any owner with one rejection, and is over in a moment.
                return
            self._say(f"released {pod.full_name}: {own.why}")
            record = self._rules.records.get(pod.owner.uid) if pod.owner is not None else None
            self._teller.tell(own, record)
        else:
            self._engine.take_back(pod)
            now = self._live.pods.get(pod.uid)
            if self._ears and now is not None and HOLD_GATE in now.gates:
                self._do(self._rules.kept(own, now, self._now(), refused=result == "refused"))

    async def _remove(self, pod: ClusterPod) -> None:
        if await self._hands.remove(pod):
            self.counts.removed += 1
        else:
            self._leftovers.failed(pod)

    def _begin_work(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)
