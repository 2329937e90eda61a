"""How durations read in the table of a fleet in time."""

import pytest

from numafit.fleet.simulation.outcome import Alignment, LargeLeft, LargeShape, RuleOutcome
from numafit.show.records.fleet_run import FleetRunAnswer
from numafit.show.text.fleet.simulation import fleet_run_text

NOTHING = Alignment(cpus=0, cpus_together=0, memory=0, memory_near=0, devices=0, devices_near=0)
SOME = Alignment(
    cpus=8, cpus_together=6, memory=4, memory_near=4, devices=2, devices_near=1, device_distance=15.5, link_quality=0.8
)


def outcome(wait: float, large: tuple[LargeLeft, ...] = (), memory: float = 0.0) -> RuleOutcome:
    return RuleOutcome(
        rule="numafit",
        pods=4,
        at_once=3,
        rejections=1200,
        recreations=2_625_093_119,
        rejected_pods=7,
        mean_wait=wait,
        late_wait=wait,
        longest_wait=wait,
        left_waiting=2,
        unplaced=1,
        given_up=0,
        used_cpus=0.5,
        used_devices=0.5,
        stranded_cpus=12.4,
        stranded_memory=memory,
        stranded_gpus=0.25,
        largest=40.0 if large else 0.0,
        large=large,
        sizes=(),
        alignment=SOME if large else NOTHING,
    )


def answer(wait: float, none: float = 0.0, memory: float = 0.0) -> FleetRunAnswer:
    large = (LargeLeft(LargeShape("4 GPUs", {"cpu": "8", "example.com/gpu": "4"}), 2.25, 0, none),)
    return FleetRunAnswer(1, 4, 90.0, (outcome(wait, large, memory),))


@pytest.mark.parametrize(("wait", "said"), [(0.4, "0 s"), (119, "119 s"), (300, "5.0 min"), (7200, "2.0 h")])
def test_a_wait_is_told_in_a_unit_of_which_there_are_two(wait: float, said: str) -> None:
    assert fleet_run_text(answer(wait)).count(f"  {said}") == 2


def test_a_large_pod_is_told_with_how_often_none_could_come() -> None:
    text = fleet_run_text(answer(0.0, 0.125))
    assert "4 pods in 90 s on 1 node\n" in text
    assert "numafit         7  2,625.1 M    75.0%" in text
    assert "numafit  75.0%  100.0%    50.0%      15.5   0.80" in text
    assert "numafit  2.2 (12%)       40    12   0.2" in text
    assert text.endswith("Such a pod asks for: 4 GPUs: cpu 8, example.com/gpu 4.")


def test_memory_is_told_where_some_is_stranded() -> None:
    assert "numafit     2.2       40    12   3 GiB   0.2" in fleet_run_text(answer(0.0, memory=3.0 * (1 << 30)))


def test_without_large_pods_there_is_no_table_of_them() -> None:
    text = fleet_run_text(FleetRunAnswer(1, 4, 90.0, (outcome(0.0),)))
    assert "Large pods" not in text
    assert "numafit     -       -        -         -      -" in text


def test_no_more_than_ten_bad_rows_are_told() -> None:
    skipped = tuple(f"t.csv:{line}: no" for line in range(2, 14))
    text = fleet_run_text(FleetRunAnswer(1, 4, 90.0, (outcome(0.0),), (), skipped))
    assert "12 rows were left out:\n  t.csv:2: no\n" in text
    assert text.endswith("  t.csv:11: no\n  and 2 more: all of them with -o json")
