"""`numafit explain`, for pods that are played and for logs."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "small-node"
LOOP = EXAMPLES / "recreate-loop.log"
RELEASE = ["--kube-version", "1.36.4"]
NODE = ["--machine", str(EXAMPLES / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml"), *RELEASE]
RUNS = sorted((ROOT.parent / "shared" / "kubelet-runs").glob("*/result.json"))
NODE_NAME = "-numavm"


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["explain", "--check", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    _, out, _ = run([*arguments, "-o", "json"], capsys)
    result: dict[str, Any] = json.loads(out)
    return result


def test_exclusive_cpus_of_a_cause_are_a_set_that_any_program_can_read(capsys: pytest.CaptureFixture[str]) -> None:
    """A mask of 224 CPUs is no number in JSON for most of them."""
    machine = ["--machine", "dgx-h100"]
    answer = told([*machine, *RELEASE, str(EXAMPLES / "pod.yaml")], capsys)
    (story,) = answer["stories"]
    assert (story["story"]["cause"]["kind"], story["story"]["cause"]["cpus"]) == ("admitted", "1-2,113-114")


def test_a_played_pod_is_told_with_its_grid_and_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    gpus = ["--device", "nvidia.com/gpu=g0@0,g1@1"]
    status, out, _ = run([*NODE, *gpus, str(EXAMPLES / "pod.yaml")], capsys)
    assert status == 0
    lines = out.splitlines()
    assert lines[:2] == [
        "default/train (Guaranteed): admitted",
        "  Admitted on node 0 with CPUs 1-2,9-10, g0.",
    ]
    assert any(line.startswith("    4 CPUs ") and "free" in line for line in lines)


def test_a_played_pod_that_is_rejected_names_amounts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same sentence as from a log, with the amounts that a log does not hold."""
    limits = {"cpu": "9", "memory": "1Gi"}
    container = {"name": "app", "image": "app", "resources": {"limits": limits}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "wide"}, "spec": {"containers": [container]}}
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(pod))
    status, out, _ = run([*NODE, str(path)], capsys)
    assert status == 1
    told = "9 CPUs need nodes 0-1 together (at most 8 CPUs can be had on one node): `single-numa-node` rejects"
    assert told in " ".join(out.split())


def test_notes_about_pods_that_come_after_the_one_told_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of theirs can change it; what came before it can."""
    pods = tmp_path / "pods.yaml"
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {0}}}\n"
        "spec: {{nodeSelector: {{a: b}}, containers: [{{name: c}}]}}\n"
    )
    pods.write_text("---\n".join(text.format(name) for name in ("first", "second", "third")))
    about = [note["about"] for note in told([*NODE, "--pod", "second", str(pods)], capsys)["notes"]]
    assert about == ["default/first", "default/second"]


def test_a_log_is_told_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """Who wrote it, the sentence, the hints, the loop and its ways out."""
    status, out, _ = run(["--log", str(LOOP)], capsys)
    assert status == 1
    assert out.splitlines()[:8] == [
        "Kubelet 1021: release 1.28 to 1.30, by the style of its lines; topology policy",
        "single-numa-node; scope container.",
        "",
        "db/store-0: rejected, TopologyAffinityError",
        "  Aug 15 22:24:53, line 2, UID 563dafa2-77a7-4dab-949e-9dbf079a4a70",
        "  The same 2 times, last at Aug 15 22:24:54.",
        "  The CPUs fit no single node but node 1 and the memory fits no single node but",
        "  node 0, so no node has room for both: `single-numa-node` rejects container",
    ]
    assert (
        "Recreate loop: db/store-0 was rejected 2 times (TopologyAffinityError) and came again 2 times, every 0.6 s"
        in (" ".join(out.split()))
    )
    assert max(len(line) for line in out.splitlines()) <= 80


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_may_come_packed_and_on_standard_input(
    packed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = LOOP.read_bytes()
    stream = io.TextIOWrapper(io.BytesIO(gzip.compress(data) if packed else data))
    monkeypatch.setattr(sys, "stdin", stream)
    result = told(["--log", "-"], capsys)
    assert (result["rejected"], result["loops"][0]["pod"]) == (2, "db/store-0")


def test_a_machine_says_which_cpus_the_nodes_have(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(["--log", str(LOOP), "--machine", str(EXAMPLES / "machine.json")], capsys)
    assert "NUMA node 0: CPUs 0-3,8-11; node 1: CPUs 4-7,12-15." in out


def test_pods_beside_a_log_are_predicted_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """The log does not know this pod, so there is nothing to agree about."""
    arguments = ["--log", str(LOOP), *NODE, "--kube-version", "1.36", str(EXAMPLES / "pod.yaml")]
    assert told(arguments, capsys)["compared"] == [
        {
            "pod": "default/train",
            "predicted": "admitted",
            "logged": "not in the log",
            "agrees": None,
            "differences": [],
        }
    ]
    _, out, _ = run(arguments, capsys)
    assert out.endswith(
        "The log and the prediction:\n- default/train: not told: not in the log; predicted is admitted\n"
    )


def test_one_pod_can_be_picked(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["--log", str(LOOP), "--pod", "store-0"], capsys)["stories"] != []
    assert told(["--log", str(LOOP), "--pod", "store-1"], capsys)["stories"] == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"nothing\nhere", "no line of a kubelet in 2 lines"),
        (b"", "no line of a kubelet in 0 lines"),
        (gzip.compress(b"x" * 1000, mtime=0)[:-9], "is not whole gzip"),
    ],
)
def test_a_file_that_is_no_log_gets_one_sentence(
    data: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(data)
    status, out, err = run(["--log", str(path)], capsys)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--log", "/no/such/file"], "cannot be read: No such file or directory"),
        (["--all", *NODE, str(EXAMPLES / "pod.yaml")], "goes with --log only"),
    ],
)
def test_wrong_usage_gets_one_sentence(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(arguments, capsys)
    assert status == 2
    assert message in err


def test_why_not_tells_of_one_numa_node(capsys: pytest.CaptureFixture[str]) -> None:
    """The pod with its verdict, what the merge says of the node, and what becomes of the pod."""
    box = [str(ROOT / "examples" / "gpu-box"), "--pod", "five-gpus"]
    code, out, _ = run([*box, "--why-not", "1"], capsys)
    assert code == 1
    assert out.split("\n")[:2] == [
        "default/five-gpus and NUMA node 1: rejected, TopologyAffinityError",
        "  Node 1 alone cannot give 5 nvidia.com/gpu: it has 4 in all.",
    ]
    code, _, problem = run([*box, "--why-not", "7"], capsys)
    assert (code, problem.strip()) == (2, "numafit: --why-not: there is no NUMA node 7 (there are 0-1)")
    code, _, problem = run([*box, "--why-not", "1", "--events", "none"], capsys)
    assert (code, "--why-not: goes without --log, --events and --past" in problem) == (2, True)


def devices_of(story: dict[str, Any]) -> set[tuple[str, str, str]]:
    containers = story["containers"].items()
    return {(name, key, id) for name, own in containers for key, ids in own.get("devices", {}).items() for id in ids}


def devices_held(step: dict[str, Any]) -> set[tuple[str, str, str]]:
    entries = ((step["device_checkpoint"] or {}).get("Data") or {}).get("PodDeviceEntries") or []
    return {
        (entry["ContainerName"], entry["ResourceName"], id)
        for entry in entries
        if entry["PodUID"] == step["uid"]
        for ids in entry["DeviceIDs"].values()
        for id in ids
    }


@pytest.mark.parametrize("result", RUNS, ids=lambda path: path.parent.name)
def test_the_log_of_a_run_tells_the_same_decisions(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Verdict, reason, message, UID, exclusive CPUs and devices; policy and scope; all merges as computed (1.36.4)."""
    steps = json.loads(result.read_text())["steps"]
    config = json.loads((result.parent / "case.json").read_text())["config"]
    report = told(["--log", str(result.parent / "kubelet.log.gz")], capsys)
    stories = [story for story in report["stories"] if story["line"]]
    assert [story["pod"].removesuffix(NODE_NAME) for story in stories] == [f"default/{step['pod']}" for step in steps]
    for step, story in zip(steps, stories, strict=True):
        message = (step["message"] or "").removeprefix("Pod was rejected: ")
        verdict = (story["admitted"], story["reason"], story["message"], story["uid"])
        assert verdict == (step["reason"] is None, step["reason"] or "", message, step["uid"]), step["pod"]
        assert story["story"]["doubts"] == []
        if story["admitted"]:
            cpus = {name: own["cpus"] for name, own in story["containers"].items() if "cpus" in own}
            assert cpus == (step["cpu_manager_state"].get("entries") or {}).get(step["uid"], {})
            assert devices_of(story) == devices_held(step)
    (kubelet,) = report["kubelets"]
    assert (kubelet["release"], kubelet["policy"]) == ("v1.36.4", config["topologyManagerPolicy"])
    assert kubelet["scope"] == config.get("topologyManagerScope", "container")


def test_there_are_runs_to_compare_with() -> None:
    if not RUNS:
        pytest.skip("the shared runs of the kubelet are not there")
    assert len(RUNS) >= 9
