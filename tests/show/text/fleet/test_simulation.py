"""How durations read in the table of a fleet in time."""

import pytest

from numafit.fleet.simulation.outcome import LargeLeft, RuleOutcome
from numafit.show.records.fleet_run import FleetRunAnswer, LargeShape
from numafit.show.text.fleet.simulation import fleet_run_text


def answer(wait: float, none: float = 0.0) -> FleetRunAnswer:
    large = (LargeLeft("4 GPUs", 2.25, 0, none),)
    rule = RuleOutcome("numafit", 4, 3, 1200, 7, wait, wait, wait, 1, 0.5, 0.5, 12.4, 0.25, large, ())
    return FleetRunAnswer(1, 4, 0, 90.0, (LargeShape("4 GPUs", {"cpu": "8", "example.com/gpu": "4"}),), (rule,))


@pytest.mark.parametrize(("wait", "said"), [(0.4, "0 s"), (119, "119 s"), (300, "5.0 min"), (7200, "2.0 h")])
def test_a_wait_is_told_in_a_unit_of_which_there_are_two(wait: float, said: str) -> None:
    assert fleet_run_text(answer(wait)).count(f"  {said}") == 3


def test_a_large_pod_is_told_with_how_often_none_could_come() -> None:
    text = fleet_run_text(answer(0.0, 0.125))
    assert "4 pods in 90 s on 1 node\n" in text
    assert "numafit     1,200    75.0%" in text
    assert "numafit  2.2 (12%)    12   0.2" in text
    assert text.endswith("Such a pod asks for: 4 GPUs: cpu 8, example.com/gpu 4.")


def test_without_large_pods_there_is_one_table() -> None:
    run = answer(0.0)
    rule = RuleOutcome("numafit", 4, 4, 0, 0, 0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, (), ())
    assert "Large pods" not in fleet_run_text(FleetRunAnswer(1, 4, 0, 90.0, (), (rule,), run.notes))
