"""`numafit place`: which words go together, and what it prints. What it does is tested in tests/kube."""

import shlex
from typing import Any

import pytest
import yaml

from numafit.__main__ import main
from numafit.cluster.live.words import MOST_OFFERED


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--image x", "--image: goes with --manifest only"),
        ("--jobs", "--jobs: goes with --manifest only"),
        ("--manifest", "--manifest: an image is needed (name one with numafit in it by --image)"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", *shlex.split(words)]) == 2
    assert capsys.readouterr().err.startswith(f"numafit: {said}")


def printed(words: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["place", "--manifest", "--image=example.com/numafit:1", *words.split()]) == 0
    return list(yaml.safe_load_all(capsys.readouterr().out))


@pytest.mark.parametrize("guard", ["off", "dry-run", "on"])
def test_a_job_can_ignore_rejected_pods_beside_the_placer_too(guard: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the policy of the guard, for the namespaces that it looks at. The pods themselves are told nothing of it."""
    found = printed(f"--jobs --opt-in --guard={guard}", capsys)
    (policy,) = (own for own in found if own["kind"] == "MutatingAdmissionPolicy")
    assert policy["metadata"]["name"] == "numafit-guard-jobs"
    wanted = policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"][0]
    assert wanted == {"key": "numafit.io/guard", "operator": "In", "values": ["enabled"]}
    assert "MutatingAdmissionPolicyBinding" in {own["kind"] for own in found}
    assert "--jobs" not in found[-1]["spec"]["template"]["spec"]["containers"][0]["command"]
    assert not any(own["kind"].startswith("Mutating") for own in printed(f"--guard={guard}", capsys))


def test_no_more_nodes_are_named_than_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    printed(f"--names={MOST_OFFERED}", capsys)
    assert main(["place", f"--names={MOST_OFFERED + 1}"]) == 2
