"""Verdicts on recordings."""

import json
from typing import Any

import pytest

from numafit.ledger.state_files import DEVICE_FILE
from numafit.replay.cases.scenario import Scenario
from numafit.replay.choices import RecordedChoices
from numafit.replay.comparison import Mismatch
from numafit.replay.replay import compute, replay
from numafit.settings.versions import parse_version

GPU = "nvidia.com/gpu"
MERGE = {
    "id": "merge",
    "kubeVersion": "v1.36.4",
    "family": "hint-merge",
    "input": {
        "machine": {"numaNodes": [{"id": 0}, {"id": 1}], "cpus": []},
        "config": {"topologyManagerPolicy": "restricted"},
        "providers": [{"a": [[1, True]]}, {"b": [[1, True], [2, True]]}],
    },
}


def scenario(*counts: int) -> dict[str, Any]:
    """Two GPUs without topology; pods ask for so many of them, one after the other."""
    steps = []
    for i, count in enumerate(counts):
        containers = [{"name": "app", "limits": {GPU: str(count)}}]
        steps.append({"op": "add", "pod": {"uid": f"uid-{i}", "name": f"pod-{i}", "containers": containers}})
    return {
        "id": "devices",
        "kubeVersion": "v1.36.4",
        "family": "devices",
        "input": {
            "machine": {"numaNodes": [{"id": 0}], "cpus": [{"cpu": 0, "core": 0, "socket": 0, "numa": 0}]},
            "devices": [{"resource": GPU, "id": name} for name in ("a", "b")],
            "plugins": [{"resource": GPU}],
            "steps": steps,
        },
    }


def recorded(case: dict[str, Any], **more: Any) -> dict[str, Any]:
    """With what numafit says as the record, in the form that a file has."""
    return {**case, "expect": json.loads(json.dumps(compute(case))), **more}


def test_without_a_record_there_is_only_a_result() -> None:
    """For other tools that compare."""
    found = replay(MERGE)
    assert (found.verdict, found.actual) == ("computed", compute(MERGE))


def test_what_comes_out_as_recorded_matches() -> None:
    """Start, steps and files."""
    assert replay(recorded(scenario(1, 1))).verdict == "match"
    assert replay(recorded(MERGE)).verdict == "match"


def test_another_result_differs_and_the_place_is_named() -> None:
    """The first one."""
    case = recorded(MERGE)
    case["expect"]["admit"] = not case["expect"]["admit"]
    found = replay(case)
    assert found.verdict == "differs"
    assert found.difference == Mismatch("/admit", case["expect"]["admit"], compute(MERGE)["admit"])


@pytest.mark.parametrize(("first_random", "marked"), [(None, False), (0, True), (1, False)])
def test_an_outcome_that_another_map_order_gives_is_told_apart(first_random: int | None, marked: bool) -> None:
    """The kubelet took b before a. Whether the recording knows that this is chance is said too."""
    case = scenario(1)
    turned = recorded(case)
    told = turned["expect"]["steps"][0]
    told["containers"]["app"]["devices"] = {GPU: {"b": [-1]}}
    told["pluginCalls"][0]["devices"] = ["b"]
    told["files"] = {DEVICE_FILE: following(case, told)}
    if first_random is not None:
        turned["firstNondeterministicStep"] = first_random
    found = replay(turned)
    assert (found.verdict, found.marked) == ("other order", marked)
    assert found.difference is not None
    assert found.difference.path == f"/steps/0/files/{DEVICE_FILE}"


def following(case: dict[str, Any], told: dict[str, Any]) -> str:
    """The device file that a kubelet writes which follows `told`."""
    played = Scenario(case["input"], parse_version(case["kubeVersion"]), lambda step, _: RecordedChoices(told)).play()
    text = played["steps"][0]["files"][DEVICE_FILE]
    assert isinstance(text, str)
    return text


def test_a_device_that_does_not_exist_is_no_other_order() -> None:
    """No order of the map gives it."""
    case = recorded(scenario(1), firstNondeterministicStep=0)
    case["expect"]["steps"][0]["containers"]["app"]["devices"] = {GPU: {"c": [-1]}}
    assert replay(case).verdict == "differs"


def test_a_missing_step_differs() -> None:
    """The kubelet stopped after the first one, numafit did not."""
    case = recorded(scenario(1, 1))
    del case["expect"]["steps"][1]
    found = replay(case)
    assert (found.verdict, found.difference) == ("differs", Mismatch("/steps", 1, 2))


def test_the_sockets_of_1_20_may_start_in_any_order() -> None:
    """13 CPUs free on one socket, 11 on the other, 16 wanted: both outcomes were seen in the field."""
    cpus = [{"cpu": i, "core": i, "socket": i // 14, "numa": i // 14} for i in range(28)]
    case = {
        "id": "cpu",
        "kubeVersion": "v1.20.1",
        "family": "cpu-assign",
        "input": {
            "kind": "take",
            "machine": {"numaNodes": [{"id": 0}, {"id": 1}], "cpus": cpus},
            "available": "1-13,17-27",
            "numCPUs": 16,
        },
    }
    assert compute(case) == {"cpus": "1-5,17-27", "error": None}
    found = replay({**case, "expect": {"cpus": "1-13,17-19", "error": None}})
    assert (found.verdict, found.marked) == ("other order", False)
    assert replay({**case, "expect": {"cpus": "1-12,17-20", "error": None}}).verdict == "differs"
