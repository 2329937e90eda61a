"""Everything is killed by chance beside two placers, for half a minute; `counted.unrest` does it for longer."""

import os
import shutil
import tempfile
from pathlib import Path
from random import randrange
from typing import Any

import pytest

from tests.kube.build import missing
from tests.kube.counted.unrest import Load, decided_after_start, live_through, touched, unexcused
from tests.kube.counted.watched import PodCourse

SECONDS = 30


def course(name: str, node: str = "n", **more: Any) -> PodCourse:
    own = PodCourse(name, "single", 0.0, node=node)
    for field, value in more.items():
        setattr(own, field, value)
    return own


def test_a_rejection_of_a_released_pod_is_excused_only_by_one_that_came_past_the_webhook_to_the_same_node() -> None:
    bad = course("bad", gated=True, bound=100.0, rejected="TopologyAffinityError")
    others = [course("past", bound=90.0), course("elsewhere", node="m", bound=100.0), course("gated", gated=True)]
    assert unexcused([bad, *others]) == []
    assert unexcused([bad, *others[1:]]) == [bad]
    assert unexcused([bad, course("long ago", bound=10.0)]) == [bad]
    # One that no webhook gated is rejected as on a stock cluster.
    assert unexcused([course("stock", bound=1.0, rejected="OutOfcpu")]) == []


def test_a_rejection_is_that_of_a_restart_only_where_the_kubelet_ended_between_its_report_and_its_decision() -> None:
    bad = course("bad", gated=True, bound=100.0, ended=120.0, rejected="TopologyAffinityError")
    reports = [(10.0, ()), (99.0, ()), (119.0, ())]
    assert decided_after_start(bad, reports, [99.5])
    assert decided_after_start(bad, reports, [110.0])
    assert not decided_after_start(bad, reports, [50.0, 121.0])
    assert not decided_after_start(bad, reports, [])


def test_a_pod_that_ran_and_is_gone_was_touched_unless_the_load_did_it() -> None:
    load = Load.__new__(Load)
    load.deleted, load.shrunk = {"asked"}, {"set-1"}
    gone: dict[str, Any] = {"ran": 1.0, "gone": 2.0}
    courses = [course("asked", **gone), course("touched", **gone), course("waits", gone=2.0), course("runs", ran=1.0)]
    assert touched(courses, load) == ["touched ran, and is gone"]


@pytest.mark.real
def test_nobody_is_gated_for_ever_rejected_or_touched_while_everything_is_killed() -> None:
    """Its control plane is its own. `NUMAFIT_SEED` names the seed that was printed."""
    if lacking := missing():
        pytest.skip(lacking)
    seed = int(os.environ.get("NUMAFIT_SEED") or randrange(1_000_000))
    print(f"seed {seed}")
    folder = Path(tempfile.mkdtemp(prefix="numafit-unrest-"))
    try:
        report = live_through(seed, SECONDS, folder, print, guard="on")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(report)
    assert report.violations == ()
    assert report.ran > 0
    assert report.kills
