"""One rule from the first pod to the last: arrivals and ends in their order, and what waits tried again.

A pod for which the rule knows no node waits, and is looked at when another one ends, by the node that this one leaves;
the oldest first, and whoever fits goes. A pod that a kubelet rejects comes again after 10, 20, 40 … 360 seconds, as the
pods of a Job do. It ends with the last arrival: who has no node then has waited until there.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from numafit.decision.decide import load_beside
from numafit.decision.life import release
from numafit.fleet.fleet import Fleet
from numafit.fleet.look.usage import NodeUsage, usage_of
from numafit.fleet.simulation.large import LargePod, RoomCounter
from numafit.fleet.simulation.outcome import LargeLeft, RuleOutcome, SizeOutcome
from numafit.fleet.simulation.rules import Chooser, PlacingRule
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.state import NodeState, state_with
from numafit.fleet.verdicts import VerdictMemory, shape_digest, tried
from numafit.workload.pod import Pod

FIRST_AGAIN, LAST_AGAIN = 10.0, 360.0
"""Seconds after which a rejected pod of a Job comes again (job controller 1.36): each time twice as long."""
MOMENTS = 200
"""Arrivals at which the fleet is looked at, spread evenly over all of them."""
LATE = 0.95


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
) -> RuleOutcome:
    """`fleet`: as it stands before the first pod. `done` is told how many more pods have arrived."""
    run = _Run(fleet, pods, Chooser(rule, memory, SchedulerView()), large)
    moments = {index * len(pods) // MOMENTS for index in range(MOMENTS)}
    for index, own in enumerate(pods):
        run.until(own.arrival)
        if index in moments:
            run.look()
        run.arrives(index)
        done(1)
    return run.outcome()


class _Run:
    def __init__(self, fleet: Fleet, pods: Sequence[TracePod], chooser: Chooser, large: Sequence[LargePod]) -> None:
        self.fleet, self.pods, self.chooser = fleet, pods, chooser
        self.now = 0.0
        self.shapes = [shape_digest(own.pod) for own in pods]
        self.due: list[tuple[float, int, int, str]] = []
        """(when, number, pod, node that it leaves or empty: it comes again)"""
        self.number = 0
        self.waiting: dict[bytes, deque[int]] = {}
        """Shape -> pods that wait, the oldest first."""
        self.began: dict[int, float] = {}
        self.times_rejected: dict[int, int] = {}
        self.at_once: set[int] = set()
        self.look_at = _Looker(large, chooser.view)

    # --- what happens -------------------------------------------------------------------------------------------------

    def until(self, moment: float) -> None:
        while self.due and self.due[0][0] <= moment:
            self.now, _, index, node = heapq.heappop(self.due)
            if node:
                self._ends(index, node)
            else:
                self._tries(index)
        self.now = moment

    def arrives(self, index: int) -> None:
        self._tries(index)
        if index in self.began:
            self.at_once.add(index)

    def look(self) -> None:
        self.look_at.look(self.fleet)

    def _tries(self, index: int) -> None:
        pod, shape = self.pods[index].pod, self.shapes[index]
        # Whoever of its shape waits already has found no node, and nothing has freed one since.
        name = None if self.waiting.get(shape) else self.chooser.choose(self.fleet, pod, shape)
        if name is None:
            self.waiting.setdefault(shape, deque()).append(index)
        else:
            self._comes(index, name)

    def _comes(self, index: int, name: str) -> None:
        """To the kubelet, which decides."""
        own, state = self.pods[index], self.fleet.nodes[name].state
        after = None
        if self.chooser.memory.verdict(state, own.pod, self.shapes[index]).admitted:
            after = tried(state, own.pod)[1]
        if after is None:
            times = self.times_rejected[index] = self.times_rejected.get(index, 0) + 1
            self._plan(self.now + min(FIRST_AGAIN * 2 ** (times - 1), LAST_AGAIN), index, "")
            return
        self.fleet = self.fleet.reported(name, after)
        self.began[index] = self.now
        if own.run is not None:
            self._plan(self.now + own.run, index, name)

    def _ends(self, index: int, name: str) -> None:
        state, uid = self.fleet.nodes[name].state, self.pods[index].pod.uid
        load = load_beside(state.node.settings, state.load, state.ledger, uid)
        left = state_with(state.kind, state.node, release(state.ledger, uid), load, state.allocatable)
        self.fleet = self.fleet.reported(name, left)
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

    def _plan(self, moment: float, index: int, node: str) -> None:
        self.number += 1
        heapq.heappush(self.due, (moment, self.number, index, node))

    # --- what came of it ----------------------------------------------------------------------------------------------

    def outcome(self) -> RuleOutcome:
        waits = [self.began.get(index, self.now) - own.arrival for index, own in enumerate(self.pods)]
        ordered = sorted(waits)
        looked = self.look_at
        return RuleOutcome(
            self.chooser.rule.name,
            len(self.pods),
            len(self.at_once),
            sum(self.times_rejected.values()),
            len(self.times_rejected),
            _mean(waits),
            ordered[min(int(len(ordered) * LATE), len(ordered) - 1)] if ordered else 0.0,
            ordered[-1] if ordered else 0.0,
            len(self.pods) - len(self.began),
            _mean(looked.used_cpus),
            _mean(looked.used_devices),
            _mean(looked.stranded_cpus),
            _mean(looked.stranded_gpus),
            tuple(looked.left()),
            tuple(self._sizes(waits)),
        )

    def _sizes(self, waits: Sequence[float]) -> Iterator[SizeOutcome]:
        sizes: dict[int, list[int]] = {}
        for index, own in enumerate(self.pods):
            sizes.setdefault(_devices_of(own.pod), []).append(index)
        for devices, indices in sorted(sizes.items()):
            at_once = sum(index in self.at_once for index in indices)
            yield SizeOutcome(devices, len(indices), at_once, _mean([waits[index] for index in indices]))


class _Looker:
    """How the fleet stands at some moments; nodes in the same state are looked at once."""

    def __init__(self, large: Sequence[LargePod], view: SchedulerView) -> None:
        self._view = view
        self._counters = [RoomCounter(own, view) for own in large]
        self._usages: dict[bytes, NodeUsage] = {}
        self.used_cpus: list[float] = []
        self.used_devices: list[float] = []
        self.stranded_cpus: list[int] = []
        self.stranded_gpus: list[int] = []
        self._large: list[list[int]] = [[] for _ in large]

    def look(self, fleet: Fleet) -> None:
        groups = [(fleet.nodes[names[0]].state, len(names)) for names in fleet.groups.values()]
        for counter, found in zip(self._counters, self._large, strict=True):
            found.append(sum(counter.count(state) * many for state, many in groups))
        usages = [(self._usage(state), many) for state, many in groups]
        self.stranded_cpus.append(sum(own.cpus.stranded * many for own, many in usages))
        self.stranded_gpus.append(sum(own.gpus.stranded * many for own, many in usages))
        used, offered = [0, 0], [0, 0]
        for state, many in groups:
            asked = state.load.amounts
            for name, amount in self._view.offered(state).items():
                if name == "cpu" or "/" in name:
                    used["/" in name] += asked.get(name, 0) * many
                    offered["/" in name] += amount * many
        self.used_cpus.append(used[0] / offered[0] if offered[0] else 0.0)
        self.used_devices.append(used[1] / offered[1] if offered[1] else 0.0)

    def _usage(self, state: NodeState) -> NodeUsage:
        found = self._usages.get(state.key)
        if found is None:
            found = self._usages[state.key] = usage_of(state)
        return found

    def left(self) -> Iterator[LargeLeft]:
        for counter, found in zip(self._counters, self._large, strict=True):
            none = _mean([float(not count) for count in found])
            yield LargeLeft(counter.large.name, _mean(found), min(found, default=0), none)


def _devices_of(pod: Pod) -> int:
    return sum(amount.value() for own in pod.containers for name, amount in own.requests.items() if "/" in name)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
