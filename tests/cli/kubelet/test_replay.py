"""`numafit replay`, called as a person calls it."""

import gzip
import json
from pathlib import Path

import pytest

from numafit.__main__ import main

TWO_NODES = {
    "numaNodes": [{"id": i, "memoryBytes": 1 << 30, "hugepages": {}, "distances": [10, 21]} for i in (0, 1)],
    "cpus": [{"cpu": i, "core": i, "socket": i, "numa": i} for i in (0, 1)],
}

KUBELET = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}


def merge_case(number: int, best: list[object] | None) -> dict[str, object]:
    """Two lists that agree on NUMA node 1 alone; `best` is what the recording claims, None leaves it out."""
    case: dict[str, object] = {
        "id": f"merge-{number}",
        "kubeVersion": "v1.36.4",
        "family": "hint-merge",
        "input": {
            "machine": TWO_NODES,
            "config": {"topologyManagerPolicy": "restricted"},
            "providers": [{"gpu": [[1, True], [2, True]]}, {"cpu": [[2, True], [3, False]]}],
        },
    }
    if best is not None:
        case["expect"] = {"best": best, "admit": True}
    return case


def write(path: Path, *cases: dict[str, object]) -> Path:
    text = "".join(json.dumps(case) + "\n" for case in cases)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_matching_cases_end_with_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = write(tmp_path / "cases.jsonl.gz", merge_case(0, [2, True]), merge_case(1, [2, True]))
    assert main(["replay", str(recording)]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "version  family      cases  match  other order  differs  computed",
        "v1.36.4  hint-merge      2      2            0        0         0",
    ]


def test_a_difference_is_shown_and_ends_with_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = write(tmp_path / "cases.jsonl", merge_case(0, [2, True]), merge_case(1, [1, True]))
    assert main(["replay", str(recording)]) == 1
    out = capsys.readouterr().out
    assert "v1.36.4 hint-merge merge-1: /best/0\n  expected 1\n  actual   2" in out


def test_results_of_all_cases_are_written(tmp_path: Path) -> None:
    """A case without `expect` is computed and written all the same."""
    recording = write(tmp_path / "cases.jsonl", merge_case(0, None), merge_case(1, [1, True]))
    out = tmp_path / "results.jsonl"
    assert main(["replay", str(recording), "--out", str(out)]) == 1
    actual = {"best": [2, True], "admit": True}
    assert [json.loads(line) for line in out.read_text().splitlines()] == [
        {"id": "merge-0", "kubeVersion": "v1.36.4", "family": "hint-merge", "actual": actual},
        {"id": "merge-1", "kubeVersion": "v1.36.4", "family": "hint-merge", "actual": actual},
    ]


def test_several_processes_give_the_same_results_in_the_same_order(tmp_path: Path) -> None:
    recording = write(tmp_path / "cases.jsonl", *(merge_case(i, None) for i in range(300)))
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    assert main(["replay", str(recording), "--out", str(one)]) == 0
    assert main(["replay", str(recording), "--out", str(two), "--jobs", "2"]) == 0
    assert one.read_bytes() == two.read_bytes()


def test_the_summary_can_be_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = write(tmp_path / "cases.jsonl", merge_case(0, [2, True]))
    assert main(["replay", str(recording), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "families": [{"kubeVersion": "v1.36.4", "family": "hint-merge", "cases": 1, "verdicts": {"match": 1}}],
        "differences": [],
    }


BAD_LINES = {
    "not json": (b"hello\n", "not a recording"),
    "not text": (b'{"family": "\xff"}\n', "not a recording"),
    "nested too deep": (b"[" * 2000 + b"\n", "nested too deep"),
    "no family": (b'{"id": "x", "kubeVersion": "v1.36.4", "input": {}}\n', "family"),
    "unknown family": (
        b'{"id": "x", "kubeVersion": "v1.36.4", "family": "nope", "input": {}}\n',
        '"nope" is not a family',
    ),
    "unknown version": (
        b'{"id": "x", "kubeVersion": "v1.9.0", "family": "node", "input": {}}\n',
        "kubelet v1.9.0 is not covered",
    ),
    "empty input": (b'{"id": "x", "kubeVersion": "v1.36.4", "family": "node", "input": {}}\n', "machine"),
    "no machine": (
        b'{"id": "x", "kubeVersion": "v1.36.4", "family": "hint-merge", "input": {"providers": []}}\n',
        "machine",
    ),
    "bad quantity": (
        json.dumps(
            {
                "id": "x",
                "kubeVersion": "v1.36.4",
                "family": "node",
                "input": {"machine": TWO_NODES, "config": {"nodeAllocatableReservation": {"cpu": "lots"}}},
            }
        ).encode(),
        "quantities must match the regular expression",
    ),
    "gates that are a number": (
        json.dumps(
            {
                "id": "x",
                "kubeVersion": "v1.36.4",
                "family": "validation",
                "input": {"kind": "config", "spec": KUBELET, "config": {"featureGates": 5}},
            }
        ).encode(),
        "not shaped like a recording",
    ),
    "bad step": (
        json.dumps(
            {
                "id": "x",
                "kubeVersion": "v1.36.4",
                "family": "node",
                "input": {"machine": TWO_NODES, "steps": [{"op": "explode"}]},
            }
        ).encode(),
        "explode",
    ),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_named_with_file_and_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence with the place, exit 2, and nothing is written."""
    line, text = BAD_LINES[name]
    recording = tmp_path / "cases.jsonl"
    recording.write_bytes((json.dumps(merge_case(0, None)) + "\n").encode() + line)
    out = tmp_path / "results.jsonl"
    assert main(["replay", str(recording), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"numafit: {recording}:2: ")
    assert text in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases.jsonl"]


def test_a_damaged_archive_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = write(tmp_path / "cases.jsonl.gz", merge_case(0, None))
    recording.write_bytes(recording.read_bytes()[:-20])
    assert main(["replay", str(recording)]) == 2
    assert capsys.readouterr().err.startswith(f"numafit: {recording}: cannot be read")


@pytest.mark.parametrize("name", ["missing.jsonl", "folder"])
def test_a_place_without_recordings_is_bad_input(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "folder").mkdir()
    assert main(["replay", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith(f"numafit: {tmp_path / name}: no ")


def test_a_result_file_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = write(tmp_path / "cases.jsonl", merge_case(0, None))
    assert main(["replay", str(recording), "--out", str(tmp_path / "no" / "such" / "file")]) == 2
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "\n" * 1000])
def test_a_recording_without_a_case_is_bad_input(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording, out = tmp_path / "cases.jsonl", tmp_path / "results.jsonl"
    recording.write_text(text)
    assert main(["replay", str(recording), "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"numafit: {recording}: there is no case in it\n"
    assert not out.exists()


SCENARIO = {"id": "x", "kubeVersion": "v1.36.4", "family": "node", "input": {"machine": TWO_NODES, "steps": []}}
ODD_RESULTS = {
    "files are a number": {"start": {"files": 5}},
    "the start is a number": {"start": 5},
    "steps are a number": {"start": {}, "steps": 5},
}


@pytest.mark.parametrize("name", ODD_RESULTS)
def test_a_recorded_result_of_another_form_is_a_sentence_or_a_difference(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = write(tmp_path / "cases.jsonl", {**SCENARIO, "expect": ODD_RESULTS[name]})
    assert main(["replay", str(recording)]) in (1, 2)
    assert "bug" not in capsys.readouterr().err


@pytest.mark.parametrize(("part", "key"), [("cpus", "cpu"), ("numaNodes", "id")])
@pytest.mark.parametrize("number", [-1, 10**12])
def test_an_id_that_no_machine_has_is_bad_input(
    part: str, key: str, number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A set is an integer: such an id would ask for a negative shift, or for all memory."""
    machine = {**TWO_NODES, part: [{**TWO_NODES[part][0], key: number}]}
    recording = write(tmp_path / "cases.jsonl", {**SCENARIO, "input": {"machine": machine, "steps": []}})
    assert main(["replay", str(recording)]) == 2
    assert f"{recording}:1: machine: Expected `int`" in capsys.readouterr().err
