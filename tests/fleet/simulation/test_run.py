"""A trace played by one rule: who comes when, who waits, who is rejected and comes again."""

import random

import pytest

from numafit.fleet.simulation.large import large_pods
from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.simulation.rules import RULES, PlacingRule
from numafit.fleet.simulation.run import fleet_of, play_rule, possible
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory
from tests.fleet.fleets import pod_by_chance
from tests.fleet.simulation.nodes import arriving, idle, named

OURS, PACKED, SPREAD, PACKED_BLIND, SPREAD_BLIND = RULES
EXACT = (OURS, PACKED, SPREAD)


def play(states: dict[str, NodeState], pods: tuple[TracePod, ...], rule: PlacingRule = OURS) -> RuleOutcome:
    found = play_rule(fleet_of(states), pods, rule, VerdictMemory(), large_pods([idle()]))
    assert isinstance(found, RuleOutcome)
    return found


def test_a_pod_waits_until_another_ends() -> None:
    """7 CPUs are left on the NUMA node with the reserved one, 8 on the other."""
    found = play(named(1, idle()), arriving((0, 100, "7", 0), (0, 50, "8", 0), (10, 30, "7", 0), (200, 1, "1", 0)))
    assert (found.pods, found.at_once, found.unplaced, found.rejections) == (4, 3, 0, 0)
    assert (found.mean_wait, found.longest_wait) == (10.0, 40.0)


def test_the_oldest_that_fits_goes_first() -> None:
    """At 60 the one of 8 CPUs, which is older than those of 4; they come when it has ended."""
    pods = arriving(
        (0, 60, "8", 0), (0, 200, "7", 0), (10, 5, "8", 0), (20, 5, "4", 0), (30, 5, "4", 0), (300, 1, "1", 0)
    )
    found = play(named(1, idle()), pods)
    assert found.at_once == 3
    assert found.longest_wait == 50.0
    assert found.mean_wait == pytest.approx((50 + 45 + 35) / 6)


def test_who_never_gets_a_node_has_waited_to_the_end() -> None:
    found = play(
        named(1, idle()), arriving((0, None, "8", 0), (0, None, "7", 0), (10, 30, "7", 0), (110, 1, "500m", 0))
    )
    assert found.unplaced == 2
    assert found.longest_wait == 100.0


def test_a_rejected_pod_comes_again_as_those_of_a_job() -> None:
    """3 CPUs are left on each NUMA node, and a scheduler that sees 6 sends a pod of 5: at 10, 20, 40, 80, 160, after
    which one of the others has ended."""
    pods = arriving((0, 100, "5", 0), (0, 300, "5", 0), (10, 5, "5", 0), (500, 1, "1", 0))
    found = play(named(1, idle()), pods, PACKED_BLIND)
    assert (found.rejections, found.rejected_pods, found.unplaced) == (4, 1, 0)
    assert found.longest_wait == 10 + 20 + 40 + 80
    exact = play(named(1, idle()), pods, PACKED)
    assert (exact.rejections, exact.longest_wait) == (0, 90.0)


def test_pods_that_fit_no_empty_node_are_told_apart() -> None:
    pods = arriving((0, 1, "9", 0), (1, 1, "2", 3), (2, 1, "2", 2))
    assert [own.pod.uid for own in possible([idle()], pods, VerdictMemory())] == ["p2"]


def by_chance(seed: int, count: int) -> tuple[TracePod, ...]:
    chance = random.Random(seed)
    pods, now = [], 0.0
    for number in range(count):
        now += chance.expovariate(0.2)
        pods.append(TracePod(now, chance.choice((5.0, 40.0, 200.0)), pod_by_chance(f"p{number}", chance)))
    return tuple(possible([idle()], pods, VerdictMemory()))


@pytest.mark.parametrize("seed", range(4))
def test_no_exact_rule_is_ever_rejected_and_every_pod_is_counted_once(seed: int) -> None:
    pods = by_chance(seed, 150)
    for rule in RULES:
        found = play(named(4, idle()), pods, rule)
        assert found.pods == len(pods) == sum(own.pods for own in found.sizes)
        assert found.at_once == sum(own.at_once for own in found.sizes)
        assert found.at_once + found.unplaced <= found.pods
        if rule in EXACT:
            assert found.rejections == found.rejected_pods == 0
        assert found == play(named(4, idle()), pods, rule)


def test_rooms_are_counted_before_a_pod_comes() -> None:
    found = play(named(2, idle()), arriving((0, None, "4", 2), (10, 1, "1", 0)))
    (gpus, numa) = found.large
    assert (gpus.shape.name, gpus.mean, gpus.least, gpus.none) == ("2 GPUs", 3.5, 3, 0.0)
    assert numa.shape.name == "NUMA node"
    assert found.used_devices == pytest.approx(0.125)
