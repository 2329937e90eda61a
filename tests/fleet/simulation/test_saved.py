"""A run that is stopped and goes on comes to the same."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.simulation.rules import RULES, PlacingRule
from numafit.fleet.simulation.run import fleet_of, play_rule
from numafit.fleet.simulation.saved import NodeEvent, SavedRun
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.verdicts import VerdictMemory
from tests.fleet.simulation.nodes import arriving, idle, named
from tests.fleet.simulation.test_run import by_chance

TO_THE_END = 1 << 30
OWNERS = ("ReplicaSet", "Job", "StatefulSet")


def played(
    pods: tuple[TracePod, ...], rule: PlacingRule, stop_at: int, saved: SavedRun | None
) -> RuleOutcome | SavedRun:
    left = [stop_at]

    def stopped() -> bool:
        left[0] -= 1
        return left[0] < 0

    fleet = fleet_of(named(3, idle()))
    return play_rule(fleet, pods, rule, VerdictMemory(), stopped=stopped, saved=saved)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 3), st.sampled_from(RULES), st.integers(0, 80), st.integers(1, 40))
def test_stopped_at_any_pod_and_kept_as_json_it_goes_on_to_the_same(
    seed: int, rule: PlacingRule, first: int, then: int
) -> None:
    """Twice, with pods that loop, wait and are rejected."""
    pods = tuple(
        msgspec.structs.replace(own, owner=OWNERS[number % len(OWNERS)])
        for number, own in enumerate(by_chance(seed, 90))
    )
    whole = played(pods, rule, TO_THE_END, None)
    found = played(pods, rule, first, None)
    for stop_at in (then, TO_THE_END):
        if isinstance(found, SavedRun):
            kept = msgspec.json.decode(msgspec.json.encode(found), type=SavedRun)
            found = played(pods, rule, stop_at, kept)
    assert isinstance(whole, RuleOutcome)
    assert found == whole


def test_one_that_is_stopped_after_the_last_arrival_goes_on_from_there() -> None:
    """Two wait when the last one has come; one of them comes at 100, and it is stopped before the other does at 150."""
    pods = arriving(*((0, 100 + 10 * number, "8", 0) for number in range(3)), (1, 50, "8", 0), (2, 10, "8", 0))
    found = played(pods, RULES[0], len(pods) + 1, None)
    assert isinstance(found, SavedRun)
    assert (found.arrived, found.left_waiting, found.now) == (5, 2, 100.0)
    kept = msgspec.json.decode(msgspec.json.encode(found), type=SavedRun)
    again = played(pods, RULES[0], TO_THE_END, kept)
    assert again == played(pods, RULES[0], TO_THE_END, None)
    assert isinstance(again, RuleOutcome)
    assert (again.left_waiting, again.unplaced, again.longest_wait) == (2, 0, 108.0)


def test_what_was_kept_before_there_was_anything_after_the_last_arrival_is_refused() -> None:
    found = played(arriving((0, 1, "1", 0), (1, 1, "1", 0)), RULES[0], 1, None)
    fields = msgspec.to_builtins(found)
    del fields["left_waiting"]
    with pytest.raises(msgspec.ValidationError, match="left_waiting"):
        msgspec.json.decode(msgspec.json.encode(fields), type=SavedRun)


def test_what_cannot_have_happened_is_refused() -> None:
    """Three pods of 8 CPUs on one node."""
    pods = arriving((0, None, "8", 0), (0, None, "8", 0), (0, None, "8", 0))
    found = played(pods, RULES[0], 1, None)
    assert isinstance(found, SavedRun)
    wrong = msgspec.structs.replace(found, happened=tuple(NodeEvent(number, "n0") for number in range(3)))
    with pytest.raises(ValueError, match="a pod that was admitted is not"):
        played(pods, RULES[0], 3, wrong)
