"""`numafit advise`, called as a person calls it, on the node of the documentation."""

import json
from pathlib import Path

import pytest
import yaml

from numafit.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
RELEASE = ["--kube-version", "1.36.4"]
NODE = ["--machine", str(EXAMPLES / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml"), *RELEASE]
CROWDED = str(EXAMPLES / "crowded")


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["advise", "--check", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_advice_is_shown_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run([*NODE, "--pod", "train-1", "--most", "1", CROWDED], capsys)
    assert (status, out.splitlines()) == (
        1,
        [
            "default/train-1: rejected, TopologyAffinityError",
            "  6 CPUs would fit fewer nodes, but are free only across nodes 0-1: `single-numa-node` rejects the pod.",
            "",
            "  1. fewer: train: cpu 6 -> 4 (in all 2 pods)",
            "     then admitted: CPUs 4-5,12-13, 8Gi@1, GPU-1",
            "",
            "  4 more with --most 5",
        ],
    )


def test_a_pod_that_lies_well_ends_with_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run([*NODE, str(EXAMPLES / "pod.yaml")], capsys)
    assert (status, out) == (
        0,
        "default/train: nothing to change\n  now  admitted: CPUs 1-2,9-10, 4Gi@0, GPU-0\n",
    )


def test_the_patch_is_one_of_the_object_that_makes_the_pod(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run([*NODE, "--patch", CROWDED], capsys)
    assert status == 1
    assert out.startswith("# Deployment default/train, so that default/train-1 fits: train: cpu 6 -> 4\n")
    container = {"name": "train", "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}}
    assert yaml.safe_load(out) == {"spec": {"template": {"spec": {"containers": [container]}}}}


def test_the_json_has_every_proposal_with_its_decision_and_patch(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run([*NODE, "-o", "json", CROWDED], capsys)
    advices = json.loads(out)["advice"]
    assert [advice["pod"] for advice in advices] == ["default/web", "default/train-0", "default/train-1"]
    proposals = advices[-1]["proposals"]
    assert [(proposal["kind"], proposal["patches"]) for proposal in proposals] == [
        ("fewer", "manifest"),
        ("move", None),
        ("replicas", "manifest"),
        ("reservation", "kubelet"),
        ("policy", "kubelet"),
    ]
    assert all(then["admitted"] for proposal in proposals for then in proposal["then"])
    assert [proposals[2]["patch"], proposals[3]["patch"]["reservedSystemCPUs"]] == [{"spec": {"replicas": 1}}, "4,12"]


def test_an_unknown_pod_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, error = run([*NODE, "--pod", "nobody", CROWDED], capsys)
    assert (status, out) == (2, "")
    assert "there is no pod nobody" in error
