"""`numafit fleet what-if`: which change gains most, how many nodes are enough, and what is said of wrong words."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main
from numafit.cli.fleet import plays

NODES = """\
nodes:
  - name: box
    count: 2
    machine: sketch:2 sockets x 4 cores x 2 threads, 16Gi per numa, gpu 0@0 1@1
    kubelet: {cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node, reservedSystemCPUs: "0"}
  - name: small
    count: 1
    machine: sketch:1 sockets x 4 cores x 2 threads, 16Gi per numa
    kubelet: {cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node, reservedSystemCPUs: "0"}
"""
HEAD = "arrival,run,cpu,memory,nvidia.com/gpu\n"
TRACE = (
    HEAD + "".join(f"{number},300,{5 + number % 2},1Gi,{number % 3 % 2}\n" for number in range(12)) + "600,1,9,1Gi,\n"
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    nodes, trace = tmp_path / "nodes.yaml", tmp_path / "trace.csv"
    nodes.write_text(NODES)
    trace.write_text(TRACE)
    return nodes, trace


def told(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["fleet", "what-if", *map(str, words)]) == 0
    return capsys.readouterr().out


def found(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    return json.loads(told(capsys, *words, "-o", "json"))


def test_changes_are_played_each_by_itself_and_ordered_by_what_they_gain(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A pod of 9 CPUs fits no NUMA node: with `none` it has a node. By several processes as by one."""
    words = (*files, "--change", "policy=none", "--change", "nodes=+1", "--change", "scope=pod")
    answer = found(capsys, *words, "--jobs", "1")
    assert answer == found(capsys, *words, "--jobs", "2")
    assert (answer["nodes"], answer["pods"], answer["rule"], answer["by"]) == (
        3,
        13,
        "stock, blind",
        "overdue",
    )
    names = [own["change"] for own in answer["changes"]]
    assert sorted(names) == ["nodes=+1", "policy=none", "scope=pod"]
    assert names[-1] == "scope=pod"
    gains = [own["gain"]["overdue"] for own in answer["changes"]]
    assert gains == sorted(gains, reverse=True)
    by_name = {own["change"]: own for own in answer["changes"]}
    assert (answer["before"]["impossible"], by_name["policy=none"]["outcome"]["impossible"]) == (1, 0)
    before, after = answer["before"], by_name["nodes=+1"]["outcome"]
    overdue = before["overdue"] + before["impossible"] - after["overdue"] - after["impossible"]
    assert by_name["nodes=+1"]["gain"]["overdue"] == overdue > 0


@pytest.mark.parametrize(
    ("change", "kinds"), [("cpu-manager=none", ["CPUs", "memory"]), ("memory-manager=None", ["memory"])]
)
def test_a_manager_that_is_taken_away_takes_its_alignment_with_it(
    change: str, kinds: list[str], files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, trace = files
    static = "memoryManagerPolicy: Static, reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}], "
    nodes.write_text(NODES.replace("{cpuManagerPolicy", f"{{{static}cpuManagerPolicy"))
    trace.write_text("arrival,run,cpu,memory\n" + "".join(f"{n},300,5,1Gi\n" for n in range(9)))
    text = told(capsys, nodes, trace, "--change", change)
    lost = " and ".join(f"{kind} (100.0% before, none now)" for kind in kinds)
    assert f"It costs alignment of {lost}." in text
    assert "It makes no difference" not in text


def test_the_usual_changes_are_played_where_nobody_names_any(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    page = files[0].parent / "page.html"
    text = told(capsys, *files, "--html", page)
    assert text.startswith("13 pods in 10.0 min on 3 nodes, placed by stock, blind.\n")
    for word in ("policy=none", "numa=4", "nodes=+10%", "scheduler=numafit", "memory-manager=Static"):
        assert word in text
    assert "policy=single-numa-node " not in text
    assert "Most is gained by " in text
    assert page.read_text().startswith("<!doctype html>")


def test_the_number_of_nodes_was_played_and_one_less_is_too_few(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = (*files, "--nodes-for", "10%", "--wait", "30", "--rule", "numafit")
    answer = found(capsys, *words, "--change", "policy=none")
    assert [own["change"] for own in answer["fleets"]] == ["", "policy=none"]
    for fleet in answer["fleets"]:
        played = {own["nodes"]: own for own in fleet["played"]}
        least = fleet["least"]
        assert played[least]["enough"]
        assert not played[least - 1]["enough"]
        assert played[least]["overdue"] <= 0.1 * 13 < played[least - 1]["overdue"]
        assert sum(fleet["groups"].values()) == least
    text = told(capsys, *words)
    assert f"as it is: {answer['fleets'][0]['least']} nodes are enough; " in text
    assert "there are 3" in text


def test_another_machine_is_played_as_nodes_that_are_such_machines(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its name in the catalogue, as a file and as a sketch, by several processes too; named twice it is played
    once."""
    sketch = "2 sockets x 8 cores x 2 threads, 32Gi per numa, gpu 0@0 1@1"
    file, alike = tmp_path / "m.json", tmp_path / "alike.yaml"
    assert main(["machine", "show", "--machine", f"sketch:{sketch}", "-o", "json"]) == 0
    file.write_text(capsys.readouterr().out)
    changes = [f"machine=sketch:{sketch}", f"machine={file}", "machine=dgx-h100", "machine=dgx-h100"]
    words = [word for change in changes for word in ("--change", change)]
    answer = found(capsys, *files, *words, "--jobs", "2")
    played = {own["change"]: own for own in answer["changes"]}
    assert sorted(played) == sorted(set(changes))
    assert played[changes[0]]["outcome"] == played[changes[1]]["outcome"]
    # As many cores stay reserved, as whole ones.
    first_core = {changes[1]: "0,16", changes[2]: "0,112"}
    for change, core in first_core.items():
        alike.write_text(
            re.sub(r"machine: .*", f"machine: {change.partition('=')[2]}", NODES).replace(
                'CPUs: "0"', f'CPUs: "{core}"'
            )
        )
        other = found(capsys, alike, files[1], "--change", "scope=pod")["before"]
        # Which large pods are watched is taken from the fleet as it is.
        watched = ("large", "moments")
        assert [own for name, own in other.items() if name not in watched] == [
            own for name, own in played[change]["outcome"].items() if name not in watched
        ]


def test_a_part_of_pods_is_taken_as_it_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """29 of 100 pods fit no node: 29 % may be overdue, though a float makes 28.999… of it."""
    nodes, trace = tmp_path / "nodes.yaml", tmp_path / "trace.csv"
    nodes.write_text(NODES)
    trace.write_text(HEAD + "".join(f"{9 * n},1,{200 if n < 29 else 1},1Gi,\n" for n in range(100)))
    for part in ("29%", "0.29", "29.0%"):
        answer = found(capsys, nodes, trace, "--nodes-for", part)
        assert (answer["allowed"], answer["fleets"][0]["least"]) == (29, 1)
    assert "29 pods fit no empty node" in told(capsys, nodes, trace, "--nodes-for", "28.9%")


def test_only_nodes_of_one_group_are_varied(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    page = files[0].parent / "page.html"
    words = ("--nodes-for", "0.1", "--group", "box", "--rule", "numafit", "--html", page)
    answer = found(capsys, *files, *words)
    (fleet,) = answer["fleets"]
    assert (answer["group"], answer["varied"]) == ("box", 2)
    assert fleet["groups"] == {"box": fleet["least"], "small": 1}
    assert "How many nodes are enough" in page.read_text()


def test_the_only_group_keeps_a_node(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """With others beside it, it may go; and no large pod is looked for on the nodes that are too small for one."""
    nodes, trace = files
    trace.write_text(HEAD + "0,1,1,1Gi,\n")
    words = (*files, "--nodes-for", "0%", "--rule", "numafit", "--group", "box")
    (fleet,) = found(capsys, *words)["fleets"]
    assert (fleet["least"], fleet["groups"]) == (0, {"small": 1})
    nodes.write_text(NODES[: NODES.index("  - name: small")].replace("4 cores x 2 threads", "1 cores"))
    (fleet,) = found(capsys, *words)["fleets"]
    assert (fleet["least"], fleet["groups"]) == (1, {"box": 1})
    assert min(own["nodes"] for own in fleet["played"]) == 1


def test_where_pods_fit_no_node_no_number_of_nodes_is_enough(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = told(capsys, *files, "--nodes-for", "0%")
    assert "as it is: no number of nodes was enough, up to 3: 1 pod fits no empty node." in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--change", "policy=strict"), '--change: "policy=strict" is no change (like policy=restricted/pod'),
        (("--change", "polcy=none"), '--change: "polcy=none" is no change (did you mean policy?)'),
        (("--change", "reserved-cpus=77"), "--change: reserved-cpus=77: the kubelet of box does not start"),
        (("--change", "numa=3"), "--change: numa=3: the 16 CPUs of box cannot be split into 3 equal parts"),
        (("--change", "nodes=-100%"), "--change: nodes=-100%: of 3 nodes none is left"),
        (("--change", "nodes=-3"), "--change: nodes=-3: of 3 nodes none is left"),
        (("--nodes-for", "1/3"), '--nodes-for: "1/3" is no part of pods'),
        (("--nodes-for", "nan%"), '--nodes-for: "nan%" is no part of pods'),
        (("--change", "machine=nothing-like-it"), "nothing-like-it"),
        (("--change", "kubelet=nowhere.yaml"), "nowhere.yaml"),
        (("--change", "nodes=+1", "--nodes-for", "1%"), "--change: nodes=+1 is what --nodes-for looks for"),
        (("--nodes-for", "many"), '--nodes-for: "many" is no part of pods (like 1% or 0.01)'),
        (("--nodes-for", "100%"), '--nodes-for: "100%" is no part of pods'),
        (("--group", "box"), "--group: goes with --nodes-for only"),
        (("--nodes-for", "1%", "--group", "bx"), '--group: no group of nodes is called "bx" (did you mean box?)'),
        (("--wait", "-1"), "--wait: -1 is no time to wait"),
        (("--wait", "nan"), "--wait: nan is no time to wait"),
        (("--context", "x"), "--context: goes with cluster: for NODES or TRACE only"),
        (("--by", "luck"), "luck"),
    ],
)
def test_a_wrong_word_is_told(
    files: tuple[Path, Path], words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", "what-if", *map(str, files), *words]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("--change", "policy=none", "--change", "numa=1"),
        ("--nodes-for", "10%", "--rule", "numafit", "--change", "policy=none"),
    ],
)
def test_one_that_is_stopped_goes_on_from_its_file(
    files: tuple[Path, Path],
    words: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As by Ctrl-C in the middle; the answer is that of a run that nobody stopped, and the file is gone."""
    own = [*map(str, files), *words, "-o", "json", "--jobs", "1"]
    whole = told(capsys, *own)
    kept = files[0].parent / "kept.json"
    asked = iter(range(1000))
    monkeypatch.setattr(plays._Stop, "is_set", lambda _: next(asked) >= 20)
    assert main(["fleet", "what-if", *own, "--continue", str(kept)]) == 130
    assert capsys.readouterr() == ("", f"numafit: stopped; the same command goes on from {kept}\n")
    monkeypatch.undo()
    assert main(["fleet", "what-if", *own, "--change", "scope=pod", "--continue", str(kept)]) == 2
    assert "was left by a run of other nodes, pods or options" in capsys.readouterr().err
    assert told(capsys, *own, "--continue", kept) == whole
    assert not kept.exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind are those of Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_processes_without_a_traceback(
    number: signal.Signals, files: tuple[Path, Path], tmp_path: Path
) -> None:
    """Ctrl-C, and what `timeout` sends to the whole group."""
    nodes, trace = files
    trace.write_text(HEAD + "".join(f"{number},5,{1 + number % 5},1Gi,\n" for number in range(20_000)))
    kept = tmp_path / "kept.json"
    command = [sys.executable, "-m", "numafit", "fleet", "what-if", str(nodes), str(trace), "--continue", str(kept)]
    with subprocess.Popen(
        [*command, "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None and not children.read_text().split():
            time.sleep(0.05)
        time.sleep(0.5)
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, "")
    assert err == f"numafit: stopped; the same command goes on from {kept}\n"
