"""A folder that holds a run of a whole kubelet, replayed."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main
from numafit.cli.kubelet.run_folder import case_of_folder

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "maxPods": 1,
    "cpuManagerReconcilePeriod": "1s",
}


def pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def run_folder(folder: Path, *, second: str | None = "OutOfpods", **case: Any) -> Path:
    """Two pods come to a node for one."""
    message = "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1"
    steps = [
        {"op": "add", "pod": "a", "uid": "uid-a", "reason": None, "message": None},
        {"op": "add", "pod": "b", "uid": "uid-b", "reason": second, "message": message if second else None},
    ]
    pods = [pod("a"), pod("b")]
    events = [{"op": "add", "pod": "a"}, {"op": "add", "pod": "b"}]
    whole = {"mode": "api", "pods": pods, "events": events, **case}
    (folder / "manifests").mkdir(parents=True)
    for own in pods:
        (folder / "manifests" / f"{own['metadata']['name']}.json").write_text(json.dumps(own))
    (folder / "case.json").write_text(json.dumps(whole))
    (folder / "result.json").write_text(json.dumps({"steps": steps}))
    (folder / "kubelet-config.json").write_text(json.dumps(KUBELET))
    (folder / "kubelet.log.gz").write_bytes(
        gzip.compress(b'I1115 server.go:545] "Kubelet version" kubeletVersion="v1.36.3"\n')
    )
    (folder / "cri.jsonl").write_text("no recording\n")
    shutil.copy(EXAMPLES / "machine.json", folder)
    (folder / "machine").write_text("machine.json\n")
    return folder


def row(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()[1].split()


def test_a_run_is_compared_with_what_was_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check of the node as a whole is part of it."""
    assert main(["replay", str(run_folder(tmp_path / "right"))]) == 0
    assert row(capsys) == ["v1.36.3", "run", "1", "1", "0", "0", "0"]
    assert main(["replay", str(run_folder(tmp_path / "wrong", second=None))]) == 1
    assert "/events/2 add b/decisions/admission default/b/admitted" in capsys.readouterr().out


def test_a_folder_of_runs_and_recordings_is_read_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of a run that end like recordings are none."""
    run_folder(tmp_path / "one")
    run_folder(tmp_path / "two")
    shutil.copy(EXAMPLES / "recording.jsonl", tmp_path)
    assert main(["replay", str(tmp_path)]) == 0
    lines = [line.split()[:4] for line in capsys.readouterr().out.splitlines()[1:3]]
    assert lines == [["v1.36.3", "run", "2", "2"], ["v1.36.4", "hint-merge", "2", "2"]]


def test_static_pods_are_critical_and_have_the_uids_of_the_run(tmp_path: Path) -> None:
    case = case_of_folder(run_folder(tmp_path / "run", mode="static"))
    assert case is not None
    assert [(own["uid"], own["static"]) for own in case["input"]["pods"]] == [("uid-a", True), ("uid-b", True)]


def test_a_run_that_begins_with_what_no_word_says_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path / "run", events=[{"op": "start", "config": {}}])
    assert case_of_folder(folder) is None
    assert main(["replay", str(folder)]) == 2
    error = capsys.readouterr().err
    assert "there is no case in it" in error
    assert "no word of an event file says event 0: start" in error


def test_a_run_that_is_compared_in_part_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A match of its first events is none of the whole."""
    edit = {"op": "restart", "edit": {"file": "cpu_manager_state"}}
    folder = run_folder(tmp_path / "run", events=[{"op": "add", "pod": "a"}, {"op": "add", "pod": "b"}, edit])
    assert main(["replay", str(folder)]) == 0
    why = f"{folder}: no word of an event file says event 2: edit; the run is compared up to there"
    assert why in capsys.readouterr().err
    assert main(["replay", str(run_folder(tmp_path / "whole"))]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("case.json", b"[]", "case.json: not a run: Expected `object`, got `array`"),
        ("result.json", b"{}", "run: not a run: KeyError('steps') in case.json or result.json"),
        ("kubelet.log.gz", b"no archive", "kubelet.log.gz: cannot be read"),
        ("kubelet.log.gz", gzip.compress(b"nothing\n", mtime=0), "the log does not tell the release of its kubelet"),
    ],
)
def test_a_folder_of_another_form_gets_a_sentence(
    name: str, text: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path / "run")
    (folder / name).write_bytes(text)
    assert main(["replay", str(folder)]) == 2
    assert message in capsys.readouterr().err
