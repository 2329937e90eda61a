"""A node kept for a large pod: it starts in time, however many small ones come, and they lose little by it."""

import random

import msgspec
import pytest

from numafit.decision.decide import decide
from numafit.decision.life import release, start_containers
from numafit.fleet.fleet import Fleet
from numafit.fleet.places import places
from numafit.fleet.state import NodeState, state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.memory import WaitingMemory
from numafit.fleet.waiting.reserve import Contender, QueueRank, Reservations, Reserver
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod
from tests.fleet.fleets import ALLOCATABLE, admitted_all, pod, started

NODE, IDLE = started("single-numa-node")


def with_pods(*pods: Pod) -> NodeState:
    there = admitted_all(NODE, IDLE, pods)
    assert there is not None
    return state_of("strict", NODE, there, ALLOCATABLE)


def reserver(seconds: float = 600.0, most: int = 1) -> Reserver:
    return Reserver(VerdictMemory(), WaitingMemory(), seconds, most)


def rank(number: int, priority: int = 0) -> QueueRank:
    return (-priority, f"{number:06}", "", "")


def contender(own: Pod, number: int = 0, priority: int = 0) -> Contender:
    return Contender(own.uid, rank(number, priority), (own,))


LARGE = pod("large", "6", gpus=2)


def test_the_node_is_kept_for_which_the_fewest_have_to_end() -> None:
    fleet = (
        Fleet()
        .reported("a", with_pods(pod("a1", "3", gpus=1), pod("a2", "3", gpus=1), pod("a3", "6", gpus=2)))
        .reported("b", with_pods(pod("b1", "6", gpus=2), pod("b2", "6", gpus=2)))
    )
    found = reserver().renewed(fleet, [contender(LARGE)], Reservations(), 100.0)
    (held,) = found.held
    assert (held.key, held.since, held.until) == ("large", 100.0, 700.0)
    ((node, ends),) = [(each.node, each.ends) for each in held.nodes]
    assert len(ends) == 1
    assert node in ("a", "b")
    assert found == reserver().renewed(fleet, [contender(LARGE)], Reservations(), 100.0)


def test_nothing_is_kept_for_a_pod_that_fits_now_or_never() -> None:
    fleet = Fleet().reported("a", with_pods(pod("a1", "6", gpus=2)))
    own = reserver()
    assert not own.renewed(fleet, [contender(LARGE)], Reservations(), 0.0).held
    assert not own.renewed(fleet, [contender(pod("never", "9"))], Reservations(), 0.0).held


def test_a_pod_behind_is_not_offered_the_node_and_one_before_it_is() -> None:
    fleet = Fleet().reported("a", with_pods(pod("a1", "3", gpus=1), pod("a2", "6", gpus=2)))
    own = reserver()
    held = own.renewed(fleet, [contender(LARGE, 5)], Reservations(), 0.0)
    small = pod("small", "2", gpus=1)
    assert own.kept_back(fleet, small, "small", rank(6), held) == {"a"}
    assert own.kept_back(fleet, small, "small", rank(4), held) == frozenset()
    assert own.kept_back(fleet, small, "small", rank(6, priority=5), held) == frozenset()
    assert own.kept_back(fleet, LARGE, "large", rank(5), held) == frozenset()


def test_a_pod_that_does_not_delay_it_is_let_in() -> None:
    """The large one waits for the second GPU of a NUMA node; one CPU more there does not matter to it."""
    fleet = Fleet().reported("a", with_pods(pod("a1", "1", gpus=1), pod("a2", "6", gpus=2)))
    own = reserver()
    held = own.renewed(fleet, [contender(LARGE)], Reservations(), 0.0)
    assert held.held
    assert own.kept_back(fleet, pod("tiny", "500m", "256Mi", limits=False), "tiny", rank(1), held) == frozenset()
    assert own.kept_back(fleet, pod("gpu", "1", gpus=1), "gpu", rank(1), held) == {"a"}


def test_a_turn_ends_by_its_time_and_the_next_one_has_it() -> None:
    fleet = Fleet().reported("a", with_pods(pod("a1", "6", gpus=2), pod("a2", "6", gpus=2)))
    own = reserver(seconds=10)
    first, second = contender(LARGE), contender(pod("second", "6", gpus=1), 1)
    held = own.renewed(fleet, [first, second], Reservations(), 0.0)
    assert [each.key for each in held.held] == ["large"]
    held = own.renewed(fleet, [first, second], held, 9.9)
    assert [(each.key, each.until) for each in held.held] == [("large", 10.0)]
    assert held.next_change == 10.0
    held = own.renewed(fleet, [first, second], held, 10.0)
    assert [each.key for each in held.held] == ["second"]
    held = own.renewed(fleet, [first, second], held, 20.0)
    assert [(each.key, each.until) for each in held.held] == [("large", 30.0)]
    # who is gone has no turn any more
    assert own.renewed(fleet, [], held, 21.0) == Reservations()
    assert own.renewed(fleet.removed("a"), [first], held, 21.0).held == ()


def test_with_no_time_for_it_nothing_is_kept() -> None:
    fleet = Fleet().reported("a", with_pods(pod("a1", "6", gpus=2), pod("a2", "6", gpus=2)))
    assert reserver(seconds=0).renewed(fleet, [contender(LARGE)], Reservations(), 0.0) == Reservations()


def test_for_a_group_nodes_are_kept_for_all_of_its_pods() -> None:
    """And no more than a quarter of all nodes."""
    fleet = Fleet()
    for number in range(8):
        here = [pod(f"{number}-{own}", "6", gpus=2) for own in range(1 if number == 7 else 2)]
        fleet = fleet.reported(f"n{number}", with_pods(*here))
    group = Contender("group", rank(0), tuple(pod(f"g{number}", "6", gpus=2) for number in range(3)))
    own = reserver()
    held = own.renewed(fleet, [group], Reservations(), 0.0)
    (found,) = held.held
    assert len({each.node for each in found.nodes}) <= 2
    assert sum(len(each.ends) for each in found.nodes) == 2
    assert "n7" in {each.node for each in found.nodes}
    assert "n7" in own.kept_back(fleet, pod("small", "6", gpus=2), "small", rank(1), held)
    assert own.kept_back(fleet, group.pods[0], "group", rank(0), held) == frozenset()
    many = Contender("many", rank(0), tuple(pod(f"g{number}", "6", gpus=2) for number in range(6)))
    assert not own.renewed(fleet, [many], Reservations(), 0.0).held


class Runner(msgspec.Struct):
    """A fleet in time: small pods come for ever, and one large one."""

    seed: int
    reserves: bool
    lifetime: int = 12
    nodes: int = 3

    def run(self, steps: int) -> tuple[int | None, int, int]:
        """When the large one started, how many small ones did, and the most nodes that were kept back at once."""
        chance = random.Random(self.seed)
        ledgers: dict[str, Ledger] = {f"n{number}": IDLE for number in range(self.nodes)}
        ends: dict[str, tuple[int, str]] = {}
        own, held = reserver(seconds=1000.0), Reservations()
        queue: list[Contender] = []
        started_at, small, most = None, 0, 0
        for now in range(steps):
            for uid in [uid for uid, (end, _) in ends.items() if end <= now]:
                name = ends.pop(uid)[1]
                ledgers[name] = release(ledgers[name], uid)
            if now == 20:
                queue.append(contender(pod("large", "7", "2Gi", gpus=2), now))
            for number in range(3):
                queue.append(contender(pod(f"s{now}-{number}", "2", "1Gi", chance.choice((0, 1, 1))), now))
            fleet = Fleet()
            for name, ledger in ledgers.items():
                fleet = fleet.reported(name, state_of("strict", NODE, ledger, ALLOCATABLE))
            queue.sort(key=lambda each: each.rank)
            queue = [each for each in queue if each.key == "large"] + [each for each in queue if each.key != "large"][
                -6:
            ]
            queue.sort(key=lambda each: each.rank)
            for each in tuple(queue):
                if self.reserves:
                    held = own.renewed(fleet, [other for other in queue if other.key == "large"], held, float(now))
                (new,) = each.pods
                back = own.kept_back(fleet, new, each.key, each.rank, held)
                most = max(most, len(back))
                where = [place.node for place in places(fleet, new, own.memory).places if place.node not in back]
                if not where:
                    continue
                queue.remove(each)
                name = where[0]
                decision = decide(NODE, ledgers[name], new, ALLOCATABLE)
                assert decision.admitted
                ledgers[name] = start_containers(NODE, decision.ledger, new.uid)[0]
                fleet = fleet.reported(name, state_of("strict", NODE, ledgers[name], ALLOCATABLE))
                ends[new.uid] = (now + chance.randrange(4, self.lifetime), name)
                if each.key == "large":
                    started_at = now
                else:
                    small += 1
        return started_at, small, most


@pytest.mark.parametrize("seed", range(6))
def test_a_large_pod_starts_within_the_longest_life_of_a_small_one(seed: int) -> None:
    """Small ones come for ever, more than there is room for."""
    runner = Runner(seed, reserves=True)
    started_at, small, most = runner.run(80)
    assert started_at is not None
    assert started_at <= 20 + runner.lifetime
    # One node is kept back at the most, and what that costs is no more than what it could have run meanwhile.
    assert most <= 1
    _, without, _ = Runner(seed, reserves=False).run(80)
    room_of_one_node = 7
    turns = -(-runner.lifetime // 4) + 1
    assert small >= without - room_of_one_node * turns


def test_without_a_reservation_the_large_one_starves() -> None:
    """So that the law above says something."""
    assert None in {Runner(seed, reserves=False).run(80)[0] for seed in range(6)}
