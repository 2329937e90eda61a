"""Yes or no for many pods, one after the other: what equals what was decided before is not decided again.

The verdicts are those of `simulation.play`. Two things save the work:

- A pod that is rejected, and leaves the managers as they were once stale state is removed, keeps every pod of its
  shape out until the managers' state changes. Such pods are passed over.
- A pod of which the managers keep nothing (Burstable, as a rule) leaves their state as it was. For the next pod of its
  shape only the check of the node as a whole is made anew.

A critical pod is decided each time: the more pods there are, the more may go for it.

A shape is all of a pod but its names. What is kept is never more than the managers' own state shows: where a rejection
leaves something behind, or where a UID comes twice, every pod is decided.
"""

from bisect import bisect_right
from collections.abc import Collection, Hashable, Mapping, Sequence
from heapq import heapify, heappop, heappush

import msgspec
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decide import (
    checked,
    load_after,
    load_beside,
    load_of,
    offered_by,
    requests_of,
    shortages,
    suited,
    wanted_of,
)
from numafit.decision.decision import Decision
from numafit.decision.life import start_containers
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.managers.device.manager import without_stale
from numafit.managers.protocol import Choices
from numafit.quantity import Quantity
from numafit.workload.pod import Pod, Resources


class Verdicts(msgspec.Struct, frozen=True):
    """Pods are named by their places in the list."""

    admitted: frozenset[int]
    """Without those that were evicted again, for a critical pod."""
    end: int
    """How many were decided: all, those up to the one at which the kubelet would crash, that one included, or those
    until too many were lost."""
    crash: bool = False
    decisions: Mapping[int, Decision] = {}
    """Of the pods that were asked for, as far as they were decided."""


def shape_of(pod: Pod) -> Hashable:
    """Equal for pods that no decision can tell apart but by their names. The order of resources counts, too."""
    own = pod.resources
    return (
        tuple((each.name, _key(each.requests), _key(each.limits), _key(each.allocated)) for each in pod.containers),
        tuple(
            (each.name, _key(each.requests), _key(each.limits), _key(each.allocated), each.restartable)
            for each in pod.init_containers
        ),
        None if own is None else (_key(own.requests), _key(own.limits)),
        _key(pod.overhead),
        pod.status_qos,
        pod.demands,
        pod.priority,
        pod.static,
    )


def numbered_shapes(pods: Sequence[Pod]) -> tuple[int, ...]:
    """For each pod the number of its shape, from 0 on in the order in which they come."""
    numbers: dict[Hashable, int] = {}
    return tuple(numbers.setdefault(shape_of(pod), len(numbers)) for pod in pods)


def _key(resources: Resources | None) -> Hashable:
    if resources is None:
        return None
    return tuple((name, size.unscaled, size.exponent, size.big) for name, size in resources.items())


def verdicts(
    node: Node,
    ledger: Ledger,
    pods: Sequence[Pod],
    allocatable: Mapping[str, Quantity],
    *,
    shapes: Sequence[int] | None = None,
    asked: Collection[int] = (),
    expected: Sequence[int] = (),
    most_lost: int | None = None,
) -> Verdicts:
    """`shapes` are their numbers, where the caller has them. For the places `asked` the decisions are kept.

    It ends early when more than `most_lost` of the places `expected`, which are in order, are not admitted.
    """
    run = _Run(node, ledger, pods, allocatable, shapes or numbered_shapes(pods), asked)
    return run.verdicts(expected, len(pods) if most_lost is None else most_lost)


class _Light(msgspec.Struct, frozen=True):
    """What pods of a shape ask the node as a whole for, and what of that the fit check looks at."""

    requests: Mapping[str, int]
    wanted: Mapping[str, int]


class _Run:
    def __init__(
        self,
        node: Node,
        ledger: Ledger,
        pods: Sequence[Pod],
        allocatable: Mapping[str, Quantity],
        shapes: Sequence[int],
        asked: Collection[int],
    ) -> None:
        self.node = node
        self.ledger = ledger
        self.pods = pods
        self.allocatable = allocatable
        self.shapes = shapes
        self.asked = asked
        uids = {pod.uid for pod in pods}
        self.keeps = ledger.ready and len(uids) == len(pods) and uids.isdisjoint(ledger.active)
        self.load = load_of(node.settings, ledger.active.values())
        self.waiting: list[Pod] = []
        """Admitted without the managers; they join the ledger before it is asked again."""
        self.barred: set[int] = set()
        """Shapes of which every pod is rejected as long as the managers' state is as it is."""
        self.light: dict[int, _Light] = {}
        """Shapes that the managers admit without keeping anything."""
        self.admitted: set[int] = set()
        self.decisions: dict[int, Decision] = {}
        self.queue: list[int] = []
        """Places to look at, the next first; one may stand there twice."""
        self.places: dict[int, list[int]] = {}
        for place, shape in enumerate(shapes):
            self.places.setdefault(shape, []).append(place)

    def verdicts(self, expected: Sequence[int], most_lost: int) -> Verdicts:
        seen = lost = 0
        self.queue = [*(own[0] for own in self.places.values()), *self.asked]
        heapify(self.queue)
        last = -1
        while self.queue:
            place = heappop(self.queue)
            if place == last:
                continue
            last = place
            while seen < len(expected) and expected[seen] < place:
                lost += expected[seen] not in self.admitted
                seen += 1
            if lost > most_lost:
                return Verdicts(frozenset(self.admitted), place, decisions=self.decisions)
            if self._decide(place):
                return Verdicts(frozenset(self.admitted), place + 1, crash=True, decisions=self.decisions)
            shape = self.shapes[place]
            if shape not in self.barred:
                self._queue_next(shape, place)
        return Verdicts(frozenset(self.admitted), len(self.pods), decisions=self.decisions)

    def _queue_next(self, shape: int, place: int) -> None:
        own = self.places[shape]
        following = bisect_right(own, place)
        if following < len(own):
            heappush(self.queue, own[following])

    def _decide(self, place: int) -> bool:
        """Whether the kubelet would crash."""
        pod, shape = self.pods[place], self.shapes[place]
        light = self.light.get(shape)
        settings = self.node.settings
        if light is not None and place not in self.asked:
            if not shortages(settings, light.wanted, self.load, offered_by(self.ledger.device, self.allocatable)):
                self.load = self.load.plus(light.requests)
                self.admitted.add(place)
                self.waiting.append(pod)
            else:
                # Other pods only ever add to what the node as a whole has given.
                self.barred.add(shape)
            return False
        before = self._settled()
        decision = admit(self.node, before, pod)
        self.load = load_beside(settings, self.load, before, pod.uid)
        if decision.admitted:
            suits = suited(self.node, decision.ledger, pod)
            decision = checked(settings, decision, self.load, self.allocatable, suits=suits)
        if place in self.asked:
            self.decisions[place] = decision
        if decision.panic:
            return True
        self.load = load_after(settings, self.load, decision)
        self._forget(decision.evicted)
        if decision.admitted:
            self.admitted.add(place)
            started = start_containers(self.node, decision.ledger, pod.uid)[0]
            self._move_to(place, started, light=True, freed=bool(decision.evicted))
        else:
            self._move_to(place, decision.ledger, light=False)
        return False

    def _forget(self, evicted: Sequence[Decision]) -> None:
        for victim in evicted:
            self.admitted -= {place for place in self.admitted if self.pods[place].uid == victim.pod.uid}

    def _settled(self) -> Ledger:
        if self.waiting:
            active = {**self.ledger.active, **{pod.uid: pod for pod in self.waiting}}
            self.ledger = replace(self.ledger, active=active)
            self.waiting = []
        return self.ledger

    def _move_to(self, place: int, after: Ledger, *, light: bool, freed: bool = False) -> None:
        """`light`: the pod was admitted, and is so again if the managers have kept nothing of it. `freed`: others went
        for it, and the node as a whole has more again."""
        before, shape = self.ledger, self.shapes[place]
        if self.keeps and not freed and same_for_managers(before, after if light else swept(self.node, after)):
            pod = self.pods[place]
            if light:
                self.ledger = after
            if pod.critical or (light and pod.demands.ports):
                # The next critical pod may evict others, and the next one with ports finds them taken.
                return
            if light:
                offered = offered_by(after.device, self.allocatable)
                settings = self.node.settings
                self.light[shape] = _Light(requests_of(settings, pod), wanted_of(settings, pod, offered))
            else:
                self.barred.add(shape)
            return
        self.ledger = after
        self.light = {}
        barred, self.barred = self.barred, set()
        for each in barred:
            self._queue_next(each, place)


def same_for_managers(one: Ledger, other: Ledger) -> bool:
    """Whether no manager can tell them apart when it is asked for a pod that neither knows."""
    cpu, memory, device = one.cpu, one.memory, one.device
    return (
        cpu.default == other.cpu.default
        and device.allocated == other.device.allocated
        and device.healthy == other.device.healthy
        and device.devices == other.device.devices
        and memory.nodes == other.memory.nodes
        and memory.reuse_kept == other.memory.reuse_kept
        and cpu.entries == other.cpu.entries
        and cpu.pod_entries == other.cpu.pod_entries
        and memory.entries == other.memory.entries
        and memory.pod_entries == other.memory.pod_entries
        and device.held == other.device.held
    )


def swept(node: Node, ledger: Ledger) -> Ledger:
    """Without stale state, as the managers leave it when they are asked for the next pod."""
    ledger = replace(ledger, cpu=replace(ledger.cpu, pending=None), memory=replace(ledger.memory, pending=None))
    ledger = node.cpu.without_stale(without_stale(ledger))
    return ledger if node.memory is None else node.memory.without_stale(ledger, Choices())
