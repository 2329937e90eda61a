"""Pods that are made again without a pause: counted as they would have come."""

import pytest

from numafit.fleet.simulation.loops import Loop, SharedPace, TriesInVain, unplayed
from numafit.fleet.simulation.rules import RULES
from numafit.fleet.simulation.trace import TracePod
from tests.fleet.simulation.nodes import arriving, idle, named
from tests.fleet.simulation.test_run import play

PACKED_BLIND = next(rule for rule in RULES if rule.name == "most-allocated, blind")
PACE = 37


def of_replica_set(pods: tuple[TracePod, ...]) -> tuple[TracePod, ...]:
    return tuple(TracePod(own.arrival, own.run, own.pod, "ReplicaSet") for own in pods)


def test_a_replica_set_makes_pods_until_there_is_room() -> None:
    """3 CPUs are left on each NUMA node, 6 by sums: a pod of 5 is rejected 37 times a second for 90 seconds."""
    pods = of_replica_set(arriving((0, 100, "5", 0), (0, 300, "5", 0), (10, 5, "5", 0), (500, 1, "1", 0)))
    found = play(named(1, idle()), pods, PACKED_BLIND)
    assert (found.rejected_pods, found.unplaced, found.given_up) == (1, 0, 0)
    assert found.rejections == found.recreations == pytest.approx(90 * PACE, abs=3)
    assert found.longest_wait == pytest.approx(90.0, abs=2 / PACE)


def test_one_that_never_gets_in_is_counted_to_the_end() -> None:
    """Until the last one ends, after which nothing changes any more; while that one runs, sums are too small, too."""
    pods = of_replica_set(arriving((0, None, "5", 0), (0, None, "5", 0), (10, 5, "5", 0), (110, 1, "1", 0)))
    found = play(named(1, idle()), pods, PACKED_BLIND)
    assert found.unplaced == 1
    assert found.longest_wait == pytest.approx(101.0, abs=2 / PACE)
    assert found.rejections == pytest.approx(100 * PACE, abs=3)


def test_equal_pods_follow_each_other_out_of_a_loop() -> None:
    """Two loop; when both NUMA nodes are free again both get in, without another pod that ends."""
    ends = [(0, 100, "5", 0), (0, 101, "5", 0), (10, 500, "5", 0), (11, 500, "5", 0), (400, 1, "1", 0)]
    found = play(named(1, idle()), of_replica_set(arriving(*ends)), PACKED_BLIND)
    assert found.unplaced == 0
    assert found.longest_wait == pytest.approx(90, abs=3 / PACE)


def test_owners_that_loop_at_once_share_one_controller() -> None:
    """Pods of 4 and of 5 CPUs are rejected for 90 and 80 seconds: together 37 times a second, not each of them."""
    ends = [(0, 100, "5", 0), (0, 100, "5", 0), (10, 500, "5", 0), (20, 500, "4", 0), (400, 1, "1", 0)]
    found = play(named(1, idle()), of_replica_set(arriving(*ends)), PACKED_BLIND)
    assert (found.rejected_pods, found.unplaced) == (2, 0)
    assert found.rejections == pytest.approx(90 * PACE, abs=6)


def test_turns_are_an_even_part_of_the_time() -> None:
    pace = SharedPace()
    pace.begins(1, 10.0)
    pace.begins(2, 14.0)
    assert pace.until(20.0) - 10.0 == 4.0 + 6.0 / 2
    assert pace.seconds(1.5) == 3.0
    pace.ends(1, 20.0)
    pace.ends(1, 25.0)
    assert pace.until(30.0) - 10.0 == 4.0 + 3.0 + 10.0


def test_a_job_gives_up_and_waits_no_longer() -> None:
    """10, 20 … 320 seconds after its rejections it comes again; the seventh ends it."""
    pods = arriving((0, None, "5", 0), (0, None, "5", 0), (10, 5, "5", 0), (5000, 1, "1", 0))
    found = play(named(1, idle()), pods, PACKED_BLIND)
    assert (found.rejections, found.recreations, found.given_up, found.unplaced) == (7, 6, 1, 1)
    assert found.longest_wait == 630.0


def test_a_pod_of_nobody_is_gone_with_its_first_rejection() -> None:
    own = arriving((0, None, "5", 0), (0, None, "5", 0), (10, 5, "5", 0), (5000, 1, "1", 0))
    pods = tuple(TracePod(one.arrival, one.run, one.pod, "Pod") for one in own)
    found = play(named(1, idle()), pods, PACKED_BLIND)
    assert (found.rejections, found.recreations, found.given_up, found.longest_wait) == (1, 0, 1, 0.0)


def test_only_what_may_end_a_loop_matters() -> None:
    vain = TriesInVain(0, 0, 100, set())
    vain.add("a", 40)
    vain.add("b", 60)
    loop = Loop(vain, [(0, 0.0)])
    assert (vain.tries, vain.least) == (2, 40)
    assert [loop.matters(name, points) for name, points in (("a", -1), ("c", 39), ("c", 40))] == [True, False, True]
    loop.trying = 0
    assert not loop.matters("a", 100)


def test_the_pace_is_kept() -> None:
    assert [unplayed(10.0, now, 0.5) for now in (10.0, 10.4, 10.5, 12.0)] == [0, 0, 1, 4]
