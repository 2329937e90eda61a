"""`numafit simulate -o wide`, `-o yaml` and `--record`."""

import json
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from numafit.__main__ import main
from numafit.advice.compare import facts_of
from numafit.show.text.simulation import placement_text, simulation_table
from tests.advice.stages import stage
from tests.cli.kubelet.test_simulate import EXAMPLES, GPUS, NODE, pod, run
from tests.decision.strategies import cpus
from tests.decision.strategies import pod as pod_of


def test_wide_adds_what_was_asked_for_and_the_merged_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Across both nodes single-numa-node has no hint at all; a request below its limit shows both."""
    (tmp_path / "1.json").write_text(pod("one"))
    (tmp_path / "2.json").write_text(pod("wide", cpu="9"))
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    burst = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "burst"}, "spec": {"containers": [container]}}
    (tmp_path / "3.json").write_text(json.dumps(burst))
    status, out, _ = run([*NODE, "-o", "wide", str(tmp_path)], capsys)
    lines = out.splitlines()
    assert (status, [line[lines[0].index("ASKED") :].split("  ") for line in lines[:4]]) == (
        1,
        [
            ["ASKED", "", "", "", "", "", "", "HINT"],
            ["cpu 4, memory 4Gi", "0 preferred"],
            ["cpu 9, memory 4Gi", "none"],
            ["cpu 1..2", "", "", "", "", " any preferred"],
        ],
    )


def test_yaml_says_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*NODE, *GPUS, str(EXAMPLES / "pod.yaml"), "-o"]
    assert yaml.safe_load(run([*arguments, "yaml"], capsys)[1]) == json.loads(run([*arguments, "json"], capsys)[1])


def test_a_recording_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`numafit replay` of it finds no difference."""
    path = tmp_path / "case.jsonl"
    assert run([*NODE, *GPUS, str(EXAMPLES / "pod.yaml"), "--record", str(path)], capsys)[0] == 0
    assert main(["replay", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["v1.36.4", "node", "1", "1", "0", "0", "0"]
    case = json.loads(path.read_text())
    assert (case["id"], case["input"]["steps"][0]["pod"]["containers"][0]["requests"]["cpu"]) == ("case", "4")


def test_a_recording_of_a_node_with_pods_is_that_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says who is there, and what the state files held."""
    state, path = tmp_path / "state", tmp_path / "case.jsonl"
    run([*NODE, str(EXAMPLES / "pod.yaml"), "--write-state", str(state)], capsys)
    (tmp_path / "pod.json").write_text(pod("two"))
    arguments = [*NODE, "--state", str(state), str(tmp_path / "pod.json"), "--record", str(path)]
    assert run(arguments, capsys)[0] == 0
    case = json.loads(path.read_text())
    assert (case["family"], len(case["input"]["residents"])) == ("run", 1)
    assert main(["replay", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["v1.36.4", "run", "1", "1", "0", "0", "0"]


def test_events_are_recorded_with_the_configurations_that_they_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who is refused after a restart that allows one pod less is so in the replay, too."""
    (tmp_path / "1.json").write_text(pod("one"))
    (tmp_path / "2.json").write_text(pod("two"))
    events, path = tmp_path / "events", tmp_path / "case.jsonl"
    kubelet = yaml.safe_load((EXAMPLES / "kubelet.yaml").read_text()) | {"maxPods": 1}
    (tmp_path / "fewer.yaml").write_text(yaml.safe_dump(kubelet))
    events.write_text("add one\nadd two\nrestart config=fewer.yaml\nremove one\nreconcile\n")
    pods = [str(tmp_path / "1.json"), str(tmp_path / "2.json")]
    assert run([*NODE, *pods, "--events", str(events), "--record", str(path)], capsys)[0] == 1
    case = json.loads(path.read_text())
    assert [entry["event"] for entry in case["expect"]["events"]] == events.read_text().splitlines()
    assert [each["reason"] for each in case["expect"]["events"][2]["decisions"]] == ["", "OutOfpods"]
    assert case["expect"]["events"][2]["allocatable"]["pods"] == "1"
    (tmp_path / "fewer.yaml").unlink()
    assert main(["replay", str(path)]) == 0
    case["expect"]["events"][2]["decisions"][1]["reason"] = "OutOfcpu"
    path.write_text(json.dumps(case))
    assert main(["replay", str(path)]) == 1
    assert "/events/2 restart config=fewer.yaml/decisions/admission default/two/reason" in capsys.readouterr().out


def test_an_empty_set_of_cpus_has_a_sign() -> None:
    """A blank cell would shift what stands to its right."""
    on = stage()
    played = on.play([pod_of("uid", cpus("app", "4"))])
    (step,) = played.steps
    placement = replace(step.decision.containers["app"], cpus=0)
    decision = replace(step.decision, containers={"app": placement})
    table = simulation_table(replace(played, steps=(replace(step, decision=decision),)))
    assert table.splitlines()[1].split() == ["default/pod-uid", "Guaranteed", "admitted", "0", "-", "1Gi@0", "-"]
    assert placement_text(placement) == "no CPUs, 1Gi@0"
    assert facts_of(decision)["app cpus"] == "none"


def test_a_rejected_pod_shows_no_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs nowhere: not on any node, and not on the shared CPUs."""
    (tmp_path / "pod.json").write_text(pod("wide", cpu="9"))
    _, out, _ = run([*NODE, str(tmp_path)], capsys)
    assert out.splitlines()[1].split() == ["default/wide", "Guaranteed", "TopologyAffinityError", "-", "-", "-", "-"]
