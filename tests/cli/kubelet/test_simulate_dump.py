"""`numafit simulate` and others on what `kubectl get -o json` prints."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main
from tests.workload.dumps import dump, ended, manifest, pending, running

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
NODE = ["--machine", str(EXAMPLES / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml")]


def call(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def pods(out: str) -> dict[str, str]:
    """Pod -> its exclusive CPUs."""
    return {
        decision["pod"]: next(iter(decision["containers"].values())).get("cpus", "")
        for decision in json.loads(out)["decisions"]
    }


def test_a_dump_is_played_as_the_node_lived_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pod that started first is first, one that has ended is none, and a new manifest comes last."""
    new, file = tmp_path / "new.json", tmp_path / "pods.json"
    new.write_text(json.dumps(manifest("new")))
    file.write_text(dump(running("b", "10:00:02"), ended("gone"), running("a", "10:00:01"), pending("next")))
    status, out, _ = call(["simulate", *NODE, "-o", "json", str(new), str(file)], capsys)
    assert status == 0
    assert list(pods(out)) == ["default/a", "default/b", "default/new", "default/next"]


def test_pods_of_several_nodes_need_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pods.json"
    file.write_text(dump(running("a", node="one"), running("b", node="two")))
    status, _, err = call(["simulate", *NODE, str(file)], capsys)
    cure = "choose one by --node-name, or --all-nodes"
    assert (status, err) == (2, f"numafit: the pods are on 2 nodes: one (1), two (1) ({cure})\n")
    _, out, _ = call(["simulate", *NODE, "-o", "json", "--node-name", "two", str(file)], capsys)
    assert list(pods(out)) == ["default/b"]
    _, out, _ = call(["simulate", *NODE, "-o", "json", "--all-nodes", str(file)], capsys)
    assert list(pods(out)) == ["default/a", "default/b"]


def test_the_node_object_tells_whose_pods_are_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, node = tmp_path / "pods.json", tmp_path / "node-two.json"
    file.write_text(dump(running("a", node="one"), running("b", node="two")))
    info = {"nodeInfo": {"kubeletVersion": "v1.36.4"}}
    node.write_text(json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "two"}, "status": info}))
    status, out, _ = call(["simulate", *NODE, "-o", "json", "--node-object", str(node), str(file)], capsys)
    assert (status, list(pods(out))) == (0, ["default/b"])


@pytest.fixture
def state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The state files of a node where b came before a; a Burstable pod stands in none of them."""
    folder = tmp_path / "state"
    file = tmp_path / "before.json"
    file.write_text(dump(running("b", "10:00:00"), running("a", "10:00:01")))
    assert main(["simulate", *NODE, "--write-state", str(folder), str(file)]) == 0
    capsys.readouterr()
    return folder


def test_with_state_files_pods_that_run_are_not_played_again(
    tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the dump says of their start: b keeps the CPUs that it got first."""
    burstable = running("burstable")
    burstable["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "11"}}
    burstable["status"] |= {"qosClass": "Burstable", "containerStatuses": []}
    file = tmp_path / "pods.json"
    file.write_text(dump(running("a", "10:00:00"), running("b", "10:00:01"), burstable, pending("next")))
    status, out, _ = call(["simulate", *NODE, "--state", str(state), "-o", "json", str(file)], capsys)
    record = json.loads(out)
    assert (status, list(pods(out))) == (0, ["default/next"])
    # 16 CPUs, 2 reserved and 4 held: the requests of the Burstable pod, which no state file has, count as well
    assert record["decisions"][0]["message"].endswith("requested: 2000, used: 15000, capacity: 14000")


def test_a_dump_whose_pods_are_all_there_shows_what_is_left(
    tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only simulate can say something without a pod to come."""
    file = tmp_path / "pods.json"
    file.write_text(dump(running("a"), running("b")))
    status, out, _ = call(["simulate", *NODE, "--state", str(state), str(file)], capsys)
    assert (status, "LEFT" in out, "default/a" in out) == (0, True, False)
    status, _, err = call(["explain", *NODE, "--state", str(state), str(file)], capsys)
    assert (status, "those that are given are on the node already" in err) == (2, True)


def test_a_pod_that_runs_may_go(tmp_path: Path, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Though it never comes: it is there already, by its state."""
    file, events = tmp_path / "pods.json", tmp_path / "events.txt"
    file.write_text(dump(running("a"), running("b"), pending("next")))
    events.write_text("remove default/b\nadd next\n")
    arguments = ["--state", str(state), "--events", str(events), "-o", "json", str(file)]
    status, out, err = call(["simulate", *NODE, *arguments], capsys)
    assert (status, err) == (0, "")
    assert pods(out) == {"default/next": "1,9"}


def test_fit_counts_on_top_of_the_pods_that_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, file = tmp_path / "new.json", tmp_path / "pods.json"
    new.write_text(json.dumps(manifest("new")))
    file.write_text(dump(running("a"), running("b")))
    _, alone, _ = call(["fit", *NODE, "-o", "json", str(new)], capsys)
    _, beside, _ = call(["fit", *NODE, "-o", "json", str(new), str(file)], capsys)
    counts = [json.loads(out)["shapes"] for out in (alone, beside)]
    assert [[shape["admitted"] for shape in each] for each in counts] == [[7], [5]]
