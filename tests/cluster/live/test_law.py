"""The law of the fleet: who is offered a node and comes there is admitted, whatever comes in between.

Kubelets decide in any order what is bound to them, start containers later, and report now and then; pods end; what the
API server tells and what kubelets report comes late, each in its own order; leaders change. Everybody comes through the
fleet.
"""

import random
from collections import deque

import pytest
from msgspec.structs import replace

from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import ClusterPod, PodMetadata
from numafit.cluster.live.words import NODES_ANNOTATION, PLACE_GATE
from numafit.decision.decide import decide
from numafit.decision.life import release, start_containers
from numafit.fleet.state import state_of
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Container, Pod
from tests.fleet.fleets import ALLOCATABLE, pod, started

STEPS = 160
KINDS = [
    (policy, scope, minor)
    for policy in ("best-effort", "restricted", "single-numa-node")
    for scope in ("container", "pod")
    for minor in (27, 31, 34, 36)
]


class PlayedNode:
    """A kubelet, and what of its reports is still on its way."""

    def __init__(self, name: str, kind: tuple[str, str, int]) -> None:
        self.name, self.kind = name, str(kind)
        policy, scope, minor = kind
        self.node, self.ledger = started(policy, scope, gpus=3, minor=minor)
        self.bound: list[Pod] = []
        """That it has not decided about."""
        self.waiting: list[str] = []
        """UIDs of pods whose containers have not started."""
        self.reports: deque[Ledger] = deque()
        self.told = self.ledger

    def report_to(self, book: FleetBook) -> None:
        book.reported(self.name, state_of(self.kind, self.node, self.told, ALLOCATABLE))


class PlayedFleet:
    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        kinds = chance.sample(KINDS, 2)
        self.nodes = [PlayedNode(f"n{number}", chance.choice(kinds)) for number in range(chance.choice((1, 2, 3)))]
        self.there: dict[str, ClusterPod] = {}
        """What the API server has."""
        self.news: deque[ClusterPod | str] = deque()
        """Of it, what nobody has heard yet; a UID: it is gone."""
        self.running: list[tuple[PlayedNode, Pod]] = []
        self.number = self.admitted = 0
        self.last: Pod | None = None
        self.lead()

    def lead(self) -> None:
        """A new leader knows what objects say, and nothing else. It waits for some seconds, in which nodes report."""
        self.book = FleetBook()
        for node in self.nodes:
            node.reports.clear()
            node.told = node.ledger
        self.news.clear()
        for node in self.nodes:
            self.book.node_told(ClusterNode(node.name, allocatable=ALLOCATABLE))
        for own in self.there.values():
            self.book.pod_told(own)
        for node in self.nodes:
            node.report_to(self.book)

    def write(self, own: ClusterPod) -> None:
        self.there[own.uid] = own
        self.news.append(own)

    def step(self) -> None:
        act = self.chance.choices(
            (self.offer, self.bind, self.decide, self.start, self.end, self.report, self.hear, self.hear_report),
            (5, 4, 5, 2, 1, 2, 3, 3),
        )[0]
        act()
        if self.chance.random() < 0.01:
            self.lead()

    def offer(self) -> None:
        chance, uid = self.chance, f"p{self.number}"
        self.number += 1
        new = replace(self.last, uid=uid) if self.last and chance.random() < 0.4 else pod_by_chance(uid, chance)
        names = [place.node for place in self.book.places(new).places][: chance.choice((1, 2, 3))]
        if not names:
            return
        self.last = new
        gated = ClusterPod(PodMetadata(uid, "team", uid), new, gates=(PLACE_GATE,))
        self.book.pod_told(gated)
        self.book.offer(gated, names)
        self.write(ClusterPod(PodMetadata(uid, "team", uid, annotations={NODES_ANNOTATION: ",".join(names)}), new))

    def bind(self) -> None:
        waiting = [own for own in self.there.values() if not own.node]
        if waiting:
            own = self.chance.choice(waiting)
            name = self.chance.choice(own.offered)
            self.write(replace(own, node=name))
            next(node for node in self.nodes if node.name == name).bound.append(own.pod)

    def decide(self) -> None:
        node = self.chance.choice(self.nodes)
        if node.bound:
            own = node.bound.pop(self.chance.randrange(len(node.bound)))
            decision = decide(node.node, node.ledger, own, ALLOCATABLE, evicts=False)
            assert decision.admitted, f"{own.uid} on {node.name}, {node.kind}: {decision.message}"
            node.ledger = decision.ledger
            node.waiting.append(own.uid)
            self.running.append((node, own))
            self.admitted += 1

    def start(self) -> None:
        node = self.chance.choice(self.nodes)
        if node.waiting:
            uid = node.waiting.pop(self.chance.randrange(len(node.waiting)))
            if uid in node.ledger.active:
                node.ledger, _ = start_containers(node.node, node.ledger, uid)

    def end(self) -> None:
        if self.running:
            node, own = self.running.pop(self.chance.randrange(len(self.running)))
            node.ledger = release(node.ledger, own.uid)
            del self.there[own.uid]
            self.news.append(own.uid)

    def report(self) -> None:
        node = self.chance.choice(self.nodes)
        node.reports.append(node.ledger)

    def hear(self) -> None:
        if self.news:
            own = self.news.popleft()
            if isinstance(own, str):
                self.book.pod_gone(own, now=0)
            else:
                self.book.pod_told(own)

    def hear_report(self) -> None:
        node = self.chance.choice(self.nodes)
        if node.reports:
            node.told = node.reports.popleft()
            node.report_to(self.book)


def pod_by_chance(uid: str, chance: random.Random) -> Pod:
    def container(name: str, *, restartable: bool = False) -> Container:
        cpus, memory = chance.choice("112234468"), chance.choice((1, 1, 2, 3, 5, 8))
        own = pod(uid, cpus, f"{memory}Gi", chance.choice((0, 0, 0, 1, 1, 2))).containers[0]
        return replace(own, name=name, restartable=restartable)

    if chance.random() < 0.12:
        return pod(uid, "500m", "256Mi", limits=False)
    prepares: tuple[Container, ...] = ()
    if chance.random() < 0.35:
        prepares = tuple(
            container(f"i{own}", restartable=chance.random() < 0.4) for own in range(chance.choice((1, 2)))
        )
    names = chance.choice((("app",), ("app",), ("app", "beside")))
    return Pod(uid, uid, tuple(map(container, names)), init_containers=prepares)


@pytest.mark.parametrize("seed", range(12))
def test_whoever_is_offered_a_node_and_comes_there_is_admitted(seed: int) -> None:
    played = PlayedFleet(seed)
    for _ in range(STEPS):
        played.step()
    while any(node.bound for node in played.nodes):
        played.decide()
    assert played.admitted
