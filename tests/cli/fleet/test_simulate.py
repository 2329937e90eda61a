"""`numafit fleet simulate`: what it prints, and what it says where its files are wrong."""

import json
import os
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.cli.fleet import plays
from tests.cluster.sim.test_dump import dump, node, pod

NODES = """\
nodes:
  - name: box
    count: 2
    machine: sketch:2 sockets x 4 cores x 2 threads, 16Gi per numa, gpu 0@0 1@1
    kubelet: {cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node, reservedSystemCPUs: "0"}
"""
TRACE = """\
arrival,run,cpu,memory,nvidia.com/gpu
0,100,5,1Gi,1
0,300,5,1Gi,
0,300,5,1Gi,
5,300,5,1Gi,
10,5,5,1Gi,1
20,5,9,1Gi,
500,1,1.5,1Gi,
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    nodes, trace = tmp_path / "nodes.yaml", tmp_path / "trace.csv"
    nodes.write_text(NODES)
    trace.write_text(TRACE)
    return nodes, trace


def told(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["fleet", "simulate", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_it_prints_a_line_for_each_rule(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, *files)
    assert text.startswith("7 pods in 8.3 min on 2 nodes; 1 of them fit no empty node, and are left out\n")
    lines = [line for line in text.splitlines() if line.startswith("numafit ")]
    assert lines[0].split() == ["numafit", "0", "0", "83.3%", "15", "s", "90", "s", "0", "0"]
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith(("Such", "Alignment", "(10")))


def test_json_has_all_of_it(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(told(capsys, *files, "-o", "json", "--rule", "numafit", "--rule", "most-allocated, blind"))
    assert (found["nodes"], found["pods"], found["seconds"]) == (2, 7, 500.0)
    ours, blind = found["rules"]
    assert (ours["rule"], ours["pods"], ours["impossible"], ours["rejections"]) == ("numafit", 6, 1, 0)
    assert (ours["meanWait"], ours["lateWait"], len(ours["moments"])) == (15.0, 90.0, 200)
    assert ours["alignment"]["cpusTogether"] == ours["alignment"]["cpus"] == 5
    assert blind["rejections"] > 0
    assert [own["devices"] for own in ours["sizes"]] == [0, 1]
    assert ours["large"][0]["shape"]["requests"].keys() == {"cpu", "memory"}


def test_pods_may_come_faster_and_a_large_pod_of_ones_own_is_watched(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("-o", "json", "--speed", "10", "--most", "3", "--large", "cpu=8,memory=1Gi", "--rule", "numafit")
    found = json.loads(told(capsys, *files, *words))
    assert (found["pods"], found["seconds"]) == (3, 0.0)
    (left,) = found["rules"][0]["large"]
    assert left["shape"] == {"name": "cpu=8,memory=1Gi", "requests": {"cpu": "8", "memory": "1Gi"}}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--speed", "0"), "--speed: 0 is no number of times (more than 0)"),
        (("--large", "cpu"), '--large: "cpu": '),
        (("--large", "cpu=-4"), '--large: "cpu=-4" is no amount that a pod can ask for'),
        (("--large", "nvidia.com/gpu=1.5"), '--large: "nvidia.com/gpu=1.5" is no amount that a pod can ask for'),
        (("--large", "cpu=4,cpu=5"), '--large: "cpu" stands there twice'),
        (("--large", "foo=3"), '--large: "foo" is no resource'),
        (("--rule", "random"), "random"),
        (("--policy", "strict"), '--policy: "strict" is no policy (one of none, best-effort, '),
        (("--policy", "restricted/node"), '--policy: "restricted/node" is no policy'),
        (("--owner", "Cron"), "Cron"),
        (("--most", "0"), "0"),
        (("--numa", "2"), "--numa: would change nothing: NODES tells machine and kubelet of each node (what-if"),
        (("--kubelet", os.devnull), "--kubelet: would change nothing: NODES tells machine and kubelet of each node"),
    ],
)
def test_a_wrong_option_is_told(
    files: tuple[Path, Path], words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", "simulate", *map(str, files), *words]) == 2
    assert said in capsys.readouterr().err


def test_a_trace_for_which_no_node_is_made_is_told(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, trace = files
    trace.write_text("arrival,cpu,memory\n0,99,1Gi\n")
    assert main(["fleet", "simulate", str(nodes), str(trace)]) == 2
    assert "none of its pods fits an empty node" in capsys.readouterr().err
    trace.write_text("arrival,cpu,memory\n0,x,1Gi\n")
    assert main(["fleet", "simulate", str(nodes), str(trace)]) == 2
    assert "trace.csv:2: cpu:" in capsys.readouterr().err


ROWS = """\
name,count,cpu,memory,nvidia.com/gpu
big,2,16,32Gi,2
odd,1,two,32Gi,
"""


def test_rows_are_nodes_each_policy_is_played_and_a_bad_row_is_told(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """By several processes as by one. With `none` a pod of 9 CPUs fits an empty node, on both its NUMA
    nodes."""
    nodes, trace = files
    nodes.write_text(ROWS)
    trace.write_text(TRACE + "600,1,x,1Gi,\n")
    words = ("--policy", "none", "--policy", "single-numa-node/pod", "--rule", "most-allocated, blind", "-o", "json")
    assert main(["fleet", "simulate", str(nodes), str(trace), *words, "--jobs", "2"]) == 0
    several = capsys.readouterr().out
    assert told(capsys, nodes, trace, *words, "--jobs", "1") == several
    found = json.loads(several)
    none, strict = found["rules"]
    assert (none["policy"], none["pods"], none["impossible"]) == ("none", 7, 0)
    assert (strict["policy"], strict["pods"], strict["impossible"]) == ("single-numa-node/pod", 6, 1)
    assert none["alignment"]["cpusTogether"] < none["alignment"]["cpus"]
    assert strict["alignment"]["cpusTogether"] == strict["alignment"]["cpus"]
    assert [own.rpartition("/")[2][:12] for own in found["skipped"]] == ["nodes.yaml:3", "trace.csv:9:"]
    assert [note["code"] for note in found["notes"]] == ["nodes-numa-assumed", "nodes-kubelet-assumed"]
    text = told(capsys, nodes, trace, *words[:-2])
    assert "; 0 with none, 1 with single-numa-node/pod fit no empty node, and are left out" in text
    assert "\n2 rows were left out:\n" in text


def test_the_owner_of_pods_and_the_seed_are_the_users(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = (*files, "--rule", "most-allocated, blind", "-o", "json")
    jobs, sets, alone = (
        json.loads(told(capsys, *words, "--owner", own))["rules"][0] for own in ("Job", "ReplicaSet", "Pod")
    )
    assert alone["recreations"] == 0 < jobs["recreations"] < sets["recreations"]
    assert told(capsys, *words, "--seed", "7") == told(capsys, *words, "--seed", "7")


def test_a_page_is_written_whole(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    page = files[0].parent / "fleet.html"
    told(capsys, *files, "--rule", "numafit", "--html", page)
    assert page.read_text().startswith("<!doctype html>")
    assert main(["fleet", "simulate", *map(str, files), "--html", str(page / "no" / "file")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_run_that_is_stopped_goes_on_from_its_file(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Ctrl-C in the middle of the second rule; when it is done the file is gone."""
    words = [*map(str, files), "--rule", "numafit", "--rule", "most-allocated, blind", "-o", "json", "--jobs", "1"]
    whole = told(capsys, *words)
    kept = files[0].parent / "kept.json"
    asked = iter(range(100))
    monkeypatch.setattr(plays._Stop, "is_set", lambda _: next(asked) >= 10)
    assert main(["fleet", "simulate", *words, "--continue", str(kept)]) == 130
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"numafit: stopped; the same command goes on from {kept}\n")
    monkeypatch.undo()
    assert main(["fleet", "simulate", *words, "--most", "3", "--continue", str(kept)]) == 2
    assert "was left by a run of other nodes, pods or options" in capsys.readouterr().err
    assert told(capsys, *words, "--continue", kept) == whole
    assert not kept.exists()
    kept.write_text("{}")
    assert main(["fleet", "simulate", *words, "--continue", str(kept)]) == 2
    assert "is no run that was stopped" in capsys.readouterr().err


def test_what_kubectl_printed_is_both_nodes_and_trace(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = files[0].parent / "cluster.json"
    file.write_text(dump(node("a", "16"), node("b", "16"), pod("x", owner="ReplicaSet"), pod("y")))
    found = json.loads(told(capsys, file, file, "--rule", "numafit", "-o", "json"))
    assert (found["nodes"], found["pods"], found["rules"][0]["atOnce"]) == (2, 2, 2)
    assert [own["code"] for own in found["notes"]] == [
        "nodes-numa-assumed",
        "nodes-kubelet-assumed",
        "dump-wishes-dropped",
    ]
