"""A trace played by one rule: who comes when, who waits, who is rejected and comes again."""

import random

import pytest
from msgspec.structs import replace

from numafit.fleet.simulation.large import large_pods
from numafit.fleet.simulation.outcome import RuleOutcome, late_of
from numafit.fleet.simulation.rules import RULES, PlacingRule
from numafit.fleet.simulation.run import fleet_of, play_rule, possible
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory
from tests.fleet.fleets import pod_by_chance
from tests.fleet.simulation.nodes import arriving, idle, named

OURS, PACKED, SPREAD, STOCK, PACKED_BLIND, SPREAD_BLIND, STOCK_BLIND = RULES
EXACT = (OURS, PACKED, SPREAD, STOCK)


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


def test_one_that_would_come_a_second_after_the_last_arrival_is_not_among_those_that_never_do() -> None:
    """It waited when the last pod came, and that is told apart."""
    found = play(named(1, idle()), arriving((0, 11, "8", 0), (0, None, "7", 0), (10, 30, "7", 0)))
    assert (found.left_waiting, found.unplaced, found.overdue) == (1, 0, 0)
    assert (found.longest_wait, found.at_once) == (1.0, 2)


def test_it_ends_where_nothing_can_change_any_more() -> None:
    """The last one waits for pods that stay."""
    found = play(named(1, idle()), arriving((0, None, "8", 0), (0, 20, "7", 0), (10, 30, "8", 0)))
    assert (found.left_waiting, found.unplaced, found.overdue, found.longest_wait) == (1, 1, 1, 10.0)


def test_a_pod_that_is_made_again_for_ever_in_vain_does_not_keep_it_from_ending() -> None:
    """Of a DaemonSet, where two pods stay: 3 CPUs are left on each NUMA node, and it asks for 5."""
    pods = arriving((0, None, "5", 0), (0, None, "5", 0), (10, 5, "5", 0))
    pods = (*pods[:2], replace(pods[2], owner="DaemonSet"))
    found = play(named(1, idle()), pods, PACKED_BLIND)
    assert (found.left_waiting, found.unplaced, found.given_up) == (1, 1, 0)
    ending = (*(replace(own, run=50.0) for own in pods[:2]), pods[2])
    found = play(named(1, idle()), ending, PACKED_BLIND)
    # After 1, 3, 7, 15, 31 and 63 seconds.
    assert (found.left_waiting, found.unplaced, found.rejections, found.longest_wait) == (1, 0, 6, 63.0)


def test_a_mean_is_one_over_time_and_not_over_arrivals() -> None:
    """Two pods at 0 use 4 of 15 CPUs for 1,000 seconds; a third comes when that time is over."""
    found = play(named(1, idle()), arriving((0, None, "2", 0), (0, None, "2", 0), (1000, None, "4", 0)))
    assert len(found.moments) == 200
    assert [own.at for own in (found.moments[0], found.moments[-1])] == [0.0, 1000.0]
    assert {own.used_cpus for own in found.moments[:-1]} == {4 / 15}
    assert found.used_cpus == pytest.approx((199 * 4 + 8) / 200 / 15)


def test_where_all_come_at_once_the_fleet_is_looked_at_once() -> None:
    found = play(named(1, idle()), arriving((5, 1, "2", 0), (5, 1, "4", 0)))
    assert [(own.at, own.used_cpus) for own in found.moments] == [(0.0, 6 / 15)]


@pytest.mark.parametrize(("count", "late"), [(0, 0), (1, 1), (99, 99), (100, 99), (101, 100), (200, 198), (201, 199)])
def test_of_100_pods_99_wait_no_longer(count: int, late: int) -> None:
    """Not all of them."""
    assert late_of([float(wait) for wait in range(count, 0, -1)]) == late


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


def test_rooms_are_counted_of_what_is_free() -> None:
    found = play(named(2, idle()), arriving((0, None, "4", 2), (10, 1, "1", 0)))
    (gpus, numa) = found.large
    assert (gpus.shape.name, gpus.mean, gpus.least, gpus.none) == ("2 GPUs", 3.0, 3, 0.0)
    assert numa.shape.name == "NUMA node"
    assert found.used_devices == pytest.approx(0.25)
