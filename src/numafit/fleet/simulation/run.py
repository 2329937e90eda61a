"""One rule from the first pod to the last: arrivals and ends in their order, and what waits tried again.

A pod for which the rule knows no node waits, and is looked at when another one ends, by the node that this one leaves;
the oldest first, and whoever fits goes. A pod that a kubelet rejects is made again by its controller, as soon as that
does so, until the controller gives up. After the last arrival it goes on until nobody waits, or nothing ends any more
by which somebody could come: who has no node then never has one.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from numafit.decision.decide import load_beside
from numafit.decision.life import release
from numafit.fleet.fleet import Fleet
from numafit.fleet.simulation.board import DOES_NOT_FIT
from numafit.fleet.simulation.controllers import CONTROLLERS, Controller
from numafit.fleet.simulation.large import LargePod
from numafit.fleet.simulation.look import FleetLooker, moments_of
from numafit.fleet.simulation.loops import Loop, LoopKey, SharedPace, TriesInVain, unplayed
from numafit.fleet.simulation.outcome import LIMIT, RuleOutcome, late_of, mean_of, sizes_of
from numafit.fleet.simulation.reached import AlignmentCounter
from numafit.fleet.simulation.rules import STOCK, Chooser, PlacingRule, StockScheduler
from numafit.fleet.simulation.saved import NodeEvent, SavedLoop, SavedRun
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.state import NodeState, state_with
from numafit.fleet.verdicts import VerdictMemory, shape_digest, tried
from numafit.workload.pod import Pod


def fleet_of(states: Mapping[str, NodeState]) -> Fleet:
    """Nodes by name, with nobody promised to them."""
    fleet = Fleet()
    for name, state in states.items():
        fleet = fleet.reported(name, state)
    return fleet


def possible(idle: Iterable[NodeState], pods: Iterable[TracePod], memory: VerdictMemory) -> Iterator[TracePod]:
    """Those that some node takes while nobody is on it."""
    kinds = list(idle)
    known: dict[bytes, bool] = {}
    for own in pods:
        shape = shape_digest(own.pod)
        if shape not in known:
            known[shape] = any(memory.verdict(state, own.pod, shape).admitted for state in kinds)
        if known[shape]:
            yield own


def play_rule(
    fleet: Fleet,
    pods: Sequence[TracePod],
    rule: PlacingRule,
    memory: VerdictMemory,
    large: Sequence[LargePod] = (),
    done: Callable[[int], None] = lambda _: None,
    stock: StockScheduler = STOCK,
    stopped: Callable[[], bool] = lambda: False,
    saved: SavedRun | None = None,
    limit: float = LIMIT,
) -> RuleOutcome | SavedRun:
    """`fleet`: as it stands before the first pod. `done` is told how many more pods have arrived. `stopped` is asked
    before each, and after the last one before whatever else happens: what there is then is returned, and goes on as
    `saved`, with all else the same. `limit`: who waits longer is overdue."""
    run = _Run(fleet, pods, Chooser(rule, memory, SchedulerView(), fleet, stock), large)
    if saved is not None:
        run.restore(saved)
        done(run.arrived)
    for index, own in enumerate(pods[run.arrived :], run.arrived):
        if stopped():
            return run.saved()
        run.until(own.arrival)
        run.arrives(index)
        done(1)
    run.all_came()
    while run.goes_on():
        if stopped():
            return run.saved()
        run.until(run.due[0][0])
    return run.outcome(limit)


class _Run:
    def __init__(self, fleet: Fleet, pods: Sequence[TracePod], chooser: Chooser, large: Sequence[LargePod]) -> None:
        self.fleet, self.pods, self.chooser = fleet, pods, chooser
        self.now = 0.0
        self.shapes = [shape_digest(own.pod) for own in pods]
        self.due: list[tuple[float, int, int, str]] = []
        """(when, number, pod, node that it leaves or empty: it comes again)"""
        self.number = 0
        self.changes = 0
        """How often a node has changed."""
        self.waiting: dict[bytes, deque[int]] = {}
        """Shape -> pods that wait, the oldest first."""
        self.began: dict[int, float] = {}
        self.gave_up: dict[int, float] = {}
        """Pods that no controller makes again, and since when."""
        self.times_rejected: dict[int, int] = {}
        self.vain: dict[int, TriesInVain] = {}
        self.loops: dict[LoopKey, Loop] = {}
        self.paces = {own.kind: SharedPace() for own in CONTROLLERS.values() if own.storms}
        self.arrived = 0
        self.left_waiting: int | None = None
        """When the last one came; None: it has not."""
        self.happened: list[NodeEvent] = []
        self.at_once: set[int] = set()
        self.reached = AlignmentCounter()
        self.look_at = FleetLooker(large, chooser.view)
        self.moments = moments_of([own.arrival for own in pods])

    # --- what happens -------------------------------------------------------------------------------------------------

    def until(self, moment: float) -> None:
        while self.due and self.due[0][0] <= moment:
            self._looks(self.due[0][0])
            self.now, _, index, node = heapq.heappop(self.due)
            if node:
                self._ends(index, node)
            else:
                self._tries(index)
        self._looks(moment)
        self.now = moment

    def arrives(self, index: int) -> None:
        self.arrived += 1
        self._tries(index)
        if index in self.began:
            self.at_once.add(index)

    def all_came(self) -> None:
        if self.left_waiting is None:
            self.left_waiting = self._waiting()
        self._looks(float("inf"))

    def goes_on(self) -> bool:
        """Whether one that waits may still come to a node: a pod ends, or it is made again and not in vain."""
        return self._waiting() > 0 and any(node or not self._hopeless(index) for _, _, index, node in self.due)

    def _waiting(self) -> int:
        return self.arrived - len(self.began) - len(self.gave_up)

    def _hopeless(self, index: int) -> bool:
        """It would be made again for ever, and was rejected wherever it could begin in a fleet that stands as now."""
        vain = self.vain.get(index)
        return vain is not None and vain.change == self.changes and vain.tries >= self.chooser.windows

    def _looks(self, moment: float) -> None:
        """At the moments before this one, with all that happened at each."""
        for at in self.moments[len(self.look_at.moments) :]:
            if at >= moment:
                break
            self.now = at
            self.look_at.look(self.fleet, at - self.pods[0].arrival, self._waiting(), self._rejections())

    def _tries(self, index: int) -> None:
        pod, shape = self.pods[index].pod, self.shapes[index]
        # Whoever of its shape waits already has found no node, and nothing has freed one since.
        name = None if self.waiting.get(shape) else self.chooser.choose(self.fleet, pod, shape)
        if name is None:
            self.waiting.setdefault(shape, deque()).append(index)
            self._left_loop(index)
        else:
            self._comes(index, name)

    def _comes(self, index: int, name: str) -> None:
        """To the kubelet, which decides."""
        own, state = self.pods[index], self.fleet.nodes[name].state
        # What equal pods were told in equal states need not be decided again.
        admits = self.chooser.memory.verdict(state, own.pod, self.shapes[index]).admitted
        decision, after = tried(state, own.pod) if admits else (None, None)
        if decision is None or after is None:
            self._rejected(index, name)
            return
        self.reached.admitted(state.kind, state.node, decision)
        self.happened.append(NodeEvent(index, name))
        self.began[index] = self.now
        if own.run is not None:
            self._plan(self.now + own.run, index, name)
        self._changed(name, after)
        self._left_loop(index)

    def _ends(self, index: int, name: str) -> None:
        self.happened.append(NodeEvent(index, name, ends=True))
        self._changed(name, without(self.fleet.nodes[name].state, self.pods[index].pod.uid))
        self._fill(name)

    def _fill(self, name: str) -> None:
        """Something was freed there: the oldest that fits goes first."""
        heads = [(own[0], shape) for shape, own in self.waiting.items()]
        heapq.heapify(heads)
        while heads:
            index, shape = heapq.heappop(heads)
            if not self.chooser.takes(self.fleet, name, self.pods[index].pod, shape):
                continue
            queue = self.waiting[shape]
            queue.popleft()
            if queue:
                heapq.heappush(heads, (queue[0], shape))
            else:
                del self.waiting[shape]
            self._comes(index, name)

    def _changed(self, name: str, state: NodeState) -> None:
        self.changes += 1
        self.fleet = self.fleet.reported(name, state)
        self.chooser.changed(name, state)
        board = self.chooser.board
        if board is None:
            return
        for (shape, _), loop in self.loops.items():
            if loop.trying is None and loop.pods:
                points = board.points_of(name, self.pods[loop.pods[0][0]].pod, shape)
                if loop.matters(name, points):
                    self._next_tries(loop)

    def _plan(self, moment: float, index: int, node: str) -> None:
        self.number += 1
        heapq.heappush(self.due, (moment, self.number, index, node))

    # --- who was rejected ---------------------------------------------------------------------------------------------

    def _rejected(self, index: int, name: str) -> None:
        times = self.times_rejected[index] = self.times_rejected.get(index, 0) + 1
        controller = self._controller(index)
        pause = controller.again_after(times)
        if pause is None:
            self.gave_up[index] = self.now
        elif not controller.storms:
            if controller.most is None:
                self._in_vain(index, name)
            self._plan(self.now + pause, index, "")
        else:
            pace = self._pace(index)
            pace.begins(index, self.now)
            if not self._loops(index, name):
                self._plan(self.now + pace.seconds(pause), index, "")

    def _controller(self, index: int) -> Controller:
        return CONTROLLERS[self.pods[index].owner]

    def _pace(self, index: int) -> SharedPace:
        return self.paces[self.pods[index].owner]

    def _loops(self, index: int, name: str) -> bool:
        """Whether nothing else can come of it until a node changes: its further tries are counted then."""
        key = (self.shapes[index], self.pods[index].owner)
        loop = self.loops.get(key)
        if loop is not None and loop.trying != index:
            loop.pods.append((index, self._pace(index).until(self.now)))
            return True
        vain = self._in_vain(index, name)
        if vain.tries < self.chooser.windows:
            return False
        del self.vain[index]
        if loop is None:
            loop = self.loops[key] = Loop(vain, [])
        loop.vain, loop.trying = vain, None
        loop.pods.insert(0, (index, self._pace(index).until(self.now)))
        return True

    def _in_vain(self, index: int, name: str) -> TriesInVain:
        board = self.chooser.board
        points = DOES_NOT_FIT if board is None else board.points_of(name, self.pods[index].pod, self.shapes[index])
        vain = self.vain.get(index)
        if vain is None or vain.change != self.changes:
            vain = self.vain[index] = TriesInVain(self.changes, 0, points, set())
        vain.add(name, points)
        return vain

    def _next_tries(self, loop: Loop) -> None:
        """The oldest comes to a scheduler again, at the pace at which it was made all the time."""
        index, since = loop.pods.pop(0)
        pause, pace = self._controller(index).first, self._pace(index)
        turns = pace.until(self.now)
        missed = unplayed(since, turns, pause)
        self.times_rejected[index] += missed
        loop.trying = index
        self._plan(self.now + pace.seconds(max(since + (missed + 1) * pause - turns, 0.0)), index, "")

    def _left_loop(self, index: int) -> None:
        """It has a node, or waits for one: another one tries for those that are left."""
        self.vain.pop(index, None)
        key = (self.shapes[index], self.pods[index].owner)
        if key[1] in self.paces:
            self._pace(index).ends(index, self.now)
        loop = self.loops.get(key)
        if loop is None or loop.trying != index:
            return
        if loop.pods:
            self._next_tries(loop)
        else:
            del self.loops[key]

    # --- stopped, and going on ----------------------------------------------------------------------------------------

    def saved(self) -> SavedRun:
        indices = {
            (shape, own.owner): index for index, (shape, own) in enumerate(zip(self.shapes, self.pods, strict=True))
        }
        return SavedRun(
            arrived=self.arrived,
            left_waiting=self.left_waiting,
            now=self.now,
            due=tuple(self.due),
            number=self.number,
            changes=self.changes,
            waiting=tuple(map(tuple, self.waiting.values())),
            began=self.began,
            gave_up=self.gave_up,
            times_rejected=self.times_rejected,
            vain=self.vain,
            loops=tuple(SavedLoop(indices[key], loop) for key, loop in self.loops.items()),
            paces=self.paces,
            at_once=tuple(sorted(self.at_once)),
            moments=tuple(self.look_at.moments),
            happened=tuple(self.happened),
            first=self.chooser.first,
            asked=self.chooser.asked,
        )

    def restore(self, saved: SavedRun) -> None:
        for own in saved.happened:
            state, pod = self.fleet.nodes[own.node].state, self.pods[own.pod].pod
            decision, after = (None, without(state, pod.uid)) if own.ends else tried(state, pod)
            if after is None:
                raise ValueError("a pod that was admitted is not")
            if decision is not None:
                self.reached.admitted(state.kind, state.node, decision)
            self._changed(own.node, after)
        self.arrived, self.now, self.number, self.changes = saved.arrived, saved.now, saved.number, saved.changes
        self.left_waiting = saved.left_waiting
        self.due, self.happened = list(saved.due), list(saved.happened)
        self.waiting = {self.shapes[own[0]]: deque(own) for own in saved.waiting}
        self.began, self.gave_up = dict(saved.began), dict(saved.gave_up)
        self.times_rejected, self.vain = dict(saved.times_rejected), dict(saved.vain)
        self.loops = {(self.shapes[own.pod], self.pods[own.pod].owner): own.loop for own in saved.loops}
        self.paces |= saved.paces
        self.at_once = set(saved.at_once)
        self.look_at.moments = list(saved.moments)
        self.chooser.first, self.chooser.asked = saved.first, saved.asked

    # --- what came of it ----------------------------------------------------------------------------------------------

    def outcome(self, limit: float) -> RuleOutcome:
        until = {**dict.fromkeys(range(len(self.pods)), self.now), **self.gave_up, **self.began}
        waits = [until[index] - own.arrival for index, own in enumerate(self.pods)]
        moments = self.look_at.moments
        rejections = self._rejections()
        return RuleOutcome(
            rule=self.chooser.rule.name,
            pods=len(self.pods),
            at_once=len(self.at_once),
            rejections=rejections,
            recreations=rejections - len(self.gave_up),
            rejected_pods=len(self.times_rejected),
            mean_wait=mean_of(waits),
            late_wait=late_of(waits),
            longest_wait=max(waits, default=0.0),
            limit=limit,
            overdue=sum(index not in self.began or wait > limit for index, wait in enumerate(waits)),
            left_waiting=self.left_waiting or 0,
            unplaced=len(self.pods) - len(self.began),
            given_up=len(self.gave_up),
            used_cpus=mean_of([own.used_cpus for own in moments]),
            used_devices=mean_of([own.used_devices for own in moments]),
            stranded_cpus=mean_of([own.stranded_cpus for own in moments]),
            stranded_memory=mean_of([own.stranded_memory for own in moments]),
            stranded_gpus=mean_of([own.stranded_gpus for own in moments]),
            largest=mean_of([own.largest for own in moments]),
            largest_gpus=mean_of([own.largest_gpus for own in moments]),
            large=tuple(self.look_at.left()),
            sizes=tuple(sizes_of(self._sized(waits))),
            alignment=self.reached.found(),
            moments=tuple(moments),
        )

    def _rejections(self) -> int:
        return sum(self.times_rejected.values()) + sum(self._uncounted())

    def _uncounted(self) -> Iterator[int]:
        """Rejections of those that still loop."""
        for loop in self.loops.values():
            for index, since in loop.pods:
                yield unplayed(since, self._pace(index).until(self.now), self._controller(index).first)

    def _sized(self, waits: Sequence[float]) -> Iterator[tuple[int, bool, float]]:
        for index, own in enumerate(self.pods):
            yield _devices_of(own.pod), index in self.at_once, waits[index]


def without(state: NodeState, uid: str) -> NodeState:
    """When the pod has ended."""
    load = load_beside(state.node.settings, state.load, state.ledger, uid)
    return state_with(state.kind, state.node, release(state.ledger, uid), load, state.allocatable)


def _devices_of(pod: Pod) -> int:
    return sum(amount.value() for own in pod.containers for name, amount in own.requests.items() if "/" in name)
