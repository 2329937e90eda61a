"""Everything is killed by chance beside two placers, for half a minute; `counted.unrest` does it for longer."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from random import randrange
from typing import Any

import pytest

from tests.kube.build import missing
from tests.kube.counted.audited import requests, touching
from tests.kube.counted.unrest import Holders, Load, found_at_start, live_through, touched, unexcused
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


def test_a_rejection_is_that_of_a_restart_only_where_the_kubelet_started_and_found_the_pod_there() -> None:
    bad = course("bad", gated=True, bound=100.0, ended=120.0, rejected="TopologyAffinityError")
    assert found_at_start(bad, [50.0, 118.0])
    # It was bound while the kubelet started.
    assert found_at_start(bad, [95.0])
    # The kubelet ran for long when the pod came, or decided about it long after its start, or before it.
    assert not found_at_start(bad, [50.0])
    assert not found_at_start(course("late", bound=100.0, ended=150.0), [101.0])
    assert not found_at_start(bad, [121.0])
    assert not found_at_start(bad, [])


def test_a_pod_that_came_alone_and_ran_and_is_gone_was_touched_unless_the_load_did_it() -> None:
    load = Load.__new__(Load)
    load.deleted = {"asked"}
    gone: dict[str, Any] = {"ran": 1.0, "gone": 2.0}
    courses = [course("asked", **gone), course("touched", **gone), course("waits", gone=2.0), course("runs", ran=1.0)]
    assert touched(courses, load) == ["touched ran, and is gone"]


def audited(
    verb: str, node: str, phase: str, subresource: str = "", condition: str = "", stage: str = "ResponseComplete"
) -> bytes:
    """As the API server writes it."""
    pod = {"kind": "Pod", "spec": {"nodeName": node} if node else {}, "status": {"phase": phase}}
    asked = {"metadata": {"uid": "u"}, "status": {"conditions": [{"type": condition}]}} if condition else None
    event = {
        "kind": "Event",
        "level": "RequestResponse",
        "stage": stage,
        "verb": verb,
        "user": {"username": "placers"},
        "objectRef": {"resource": "pods", "name": "p", **({"subresource": subresource} if subresource else {})},
        "responseStatus": {"code": 200},
        "requestObject": asked,
        "responseObject": {"kind": "Status"} if subresource == "binding" else pod,
    }
    return json.dumps(event).encode() + b"\n"


def test_by_the_audit_log_a_pod_was_touched_where_it_was_bound_and_had_not_ended(tmp_path: Path) -> None:
    fine = [
        audited("patch", "", "Pending"),
        audited("delete", "", "Pending"),
        audited("delete", "n", "Failed"),
        audited("patch", "n", "Running", "status", "numafit.io/Placed"),
        audited("delete", "n", "Running").replace(b'"code": 200', b'"code": 409'),
    ]
    bad = [
        audited("patch", "n", "Running"),
        audited("delete", "n", "Pending"),
        audited("patch", "n", "Running", "status", "DisruptionTarget"),
        audited("create", "n", "Pending", "binding"),
    ]
    log = tmp_path / "audit.log"
    assert requests(log) == []
    log.write_bytes(b"".join(fine) + audited("patch", "", "Pending")[:50])
    assert len(requests(log)) == 4
    assert touching(requests(log)) == []
    log.write_bytes(b"".join([*fine, *bad]))
    assert touching(requests(log)) == [
        "patch of p : it was bound, and had not ended",
        "delete of p : it was bound, and had not ended",
        "patch of p status: it was bound, and had not ended",
        "create of p binding: nobody knows how the pod stood",
    ]


def test_what_two_pods_hold_by_a_kubelets_state_files_is_told(tmp_path: Path) -> None:
    own = {"policyName": "static", "defaultCpuSet": "0", "entries": {"a": {"main": "1-2"}, "b": {"main": "2-3"}}}
    (tmp_path / "n-1").mkdir()
    (tmp_path / "n-1" / "cpu_manager_state").write_text(json.dumps(own))
    holders = Holders(tmp_path)
    holders.look()
    assert (holders.looks, holders.twice) == (1, {"n-1: CPU 2 is held by a and b"})


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
    assert report.requests > 0
    assert report.looks > 0
