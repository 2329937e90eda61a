"""Questions about a place, about who could go, about a kubelet's health, and a proposal applied."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from numafit.errors import InputError
from numafit.service.workers.answer import ANSWERS
from numafit.service.workers.question import BODIES
from numafit.service.workers.scene import Scenes
from numafit.show.records.checkup import CheckupAnswer
from numafit.show.records.elsewhere import WhyNotAnswer
from numafit.show.records.patch import PatchAnswer
from numafit.show.records.whatif import WhatIfAnswer
from tests.service.workers.test_answer import KUBELET, MANIFEST, OPTIONS, PLACE, PODS, answer, printed, read_as
from tests.service.workers.test_scene import busy

TRAIN = """apiVersion: v1
kind: Pod
metadata: {name: big}
spec:
  containers:
  - name: main
    image: x
    resources:
      limits: {cpu: "20", memory: 64Gi, nvidia.com/gpu: %d}
"""


def of_busy(scenes: Scenes, kind: str, body: Mapping[str, Any]) -> Any:
    question = msgspec.json.decode(json.dumps(body), type=BODIES[kind])
    return msgspec.json.decode(msgspec.json.encode(ANSWERS[kind](scenes, question)))


def test_why_not_here_is_answered_from_the_hints() -> None:
    """By typed claims with the sentence beside them."""
    found = answer("why-not", {**PLACE, "pods": TRAIN % 5, "numa": 1})
    read_as(found, WhyNotAnswer)
    ((pod,), (merge,)) = found["pods"], found["pods"][0]["merges"]
    assert (pod["pod"], pod["admitted"], merge["standing"]) == ("default/big", False, "short")
    gpus = next(each for each in merge["resources"] if each["resource"] == "nvidia.com/gpu")
    assert (gpus["needed"], gpus["free"], gpus["offered"]) == (5, 4, False)
    assert answer("why-not", {**PLACE, "pods": TRAIN % 2, "numa": 1})["pods"][0]["merges"][0]["standing"] == (
        "other-number"
    )


def test_why_not_here_is_answered_as_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`numafit explain --why-not`."""
    expected = printed(capsys, "explain", *OPTIONS, "--why-not", "1", MANIFEST)
    assert answer("why-not", {**PLACE, "pods": PODS, "numa": 1}) == expected
    assert len(expected["pods"]) > 1


def test_a_numa_node_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"there is no NUMA node 9 \(there are 0-1\)"):
        answer("why-not", {**PLACE, "pods": PODS, "numa": 9})


def test_a_holder_can_be_taken_away() -> None:
    """What it held is free after the question and held before it; a question without pods asks just that."""
    scenes = busy()
    uid, pod = next(iter(scenes.snapshot.ledger.active.items()))
    for name in (uid, pod.full_name):
        found = of_busy(scenes, "whatif", {"pods": "", "without": [name], "advice": False})
        read_as(found, WhatIfAnswer)
        assert found["stories"] == []
        assert pod.known_name not in {holder["name"] for holder in found["ledger"]["holders"]}
        before = sum(node["cpus"]["free"] for node in found["before"])
        assert before < sum(node["cpus"]["free"] for node in found["ledger"]["nodes"])
        assert "holder-not-there" not in {note["code"] for note in found["notes"]}


def test_a_holder_that_is_gone_already_is_noted() -> None:
    """A link may be older than the pod's end."""
    found = of_busy(busy(), "whatif", {"pods": TRAIN % 1, "without": ["default/none"], "advice": False})
    (note,) = [note for note in found["notes"] if note["code"] == "holder-not-there"]
    assert note["text"].startswith("default/none ")


def test_without_a_holder_its_own_pod_may_come_again() -> None:
    """Which is refused while it is there."""
    scenes = busy()
    pod = next(iter(scenes.snapshot.ledger.active.values()))
    again = TRAIN.replace("{name: big}", f"{{name: {pod.name}, namespace: {pod.namespace}, uid: {pod.uid}}}") % 0
    with pytest.raises(InputError, match="is on this node already"):
        of_busy(scenes, "simulate", {"pods": again})
    assert of_busy(scenes, "simulate", {"pods": again, "without": [pod.uid]})["decisions"]


def test_the_doctor_answers_as_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    """With the findings, their places and cures of `numafit doctor -o json`."""
    broken = KUBELET.replace("cpuManagerPolicy: static", "cpuManagerPolicy: statik")
    path = tmp_path / "kubelet.yaml"
    path.write_text(broken)
    (tmp_path / "none").mkdir()
    arguments = ("--machine", "gpu8-128cpu", "--kubelet", str(path), "--kubelet-dir", str(tmp_path / "none"))
    expected = printed(capsys, "doctor", *arguments)
    found = answer("doctor", {"machine": "gpu8-128cpu", "kubelet": broken})
    read_as(found, CheckupAnswer)
    assert [each.pop("place") for each in found["findings"]] == ["kubelet"]
    assert [each.pop("place") for each in expected["findings"]] == [str(path)]
    assert found == expected


def test_the_doctor_looks_at_the_state_of_the_node_that_is_shown() -> None:
    found = of_busy(busy(), "doctor", {})
    assert (found["starts"], found["files"]) == (
        True,
        ["cpu_manager_state", "memory_manager_state", *found["files"][2:]],
    )
    assert of_busy(busy(), "doctor", {"empty": True})["files"] == []


def test_a_proposal_is_applied_to_its_file() -> None:
    """The pod that is asked with the new text is decided as the proposal said."""
    text = TRAIN % 5
    (advice,) = answer("advise", {**PLACE, "pods": text})["advice"]
    for proposal in advice["proposals"]:
        if proposal["patches"] == "manifest":
            found = answer("apply", {"pods": text, "pod": "big", "patch": proposal["patch"]})
            then = answer("simulate", {**PLACE, "pods": found["pods"]})["decisions"]
            assert found["kubectl"].startswith("kubectl get pod big --namespace default")
        elif proposal["patches"] == "kubelet":
            found = answer("apply", {"kubelet": KUBELET, "patch": proposal["patch"]})
            then = answer("simulate", {**PLACE, "kubelet": found["kubelet"], "pods": text})["decisions"]
            assert found["kubectl"] == ""
        else:
            continue
        read_as(found, PatchAnswer)
        assert [one["containers"] for one in then] == [one["containers"] for one in proposal["then"]]
    assert {"manifest", "kubelet"} <= {proposal["patches"] for proposal in advice["proposals"]}


def test_a_patch_without_a_file_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to patch"):
        answer("apply", {"patch": {}})


@pytest.mark.parametrize("text", ["- a\n", "words", "7", "null"])
def test_a_patch_of_a_kubelet_that_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="kubelet: is no"):
        answer("apply", {"kubelet": text, "patch": {"topologyManagerPolicy": "none"}})


def test_a_patch_is_of_a_manifest_or_of_a_kubelet() -> None:
    """Neither is left out silently."""
    with pytest.raises(InputError, match="a patch is of one of both"):
        answer("apply", {"kubelet": KUBELET, "pods": TRAIN % 5, "pod": "big", "patch": {"spec": {}}})


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": None},
        {"spec": 7},
        {"spec": {"containers": None}},
        {"spec": {"containers": "all"}},
        {"kind": None, "metadata": None},
        {"metadata": {"name": "other"}},
        {"kind": "Service"},
    ],
)
def test_a_patch_that_leaves_no_such_pod_is_refused(patch: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"^patch: "):
        answer("apply", {"pods": TRAIN % 5, "pod": "big", "patch": patch})
