"""`--node` where numafit's agent publishes what it knows: who sits where is known, and nothing is guessed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.__main__ import main
from numafit.bits import cpuset_text
from numafit.cluster.topology.model import PATH
from numafit.cluster.topology.write import topology_bytes, topology_of
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.machine.file.read import read_machine_file
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import KubeVersion
from numafit.workload.reading import read_pods
from tests.cluster.api_server import CONFIGZ, FORBIDDEN, ApiServer, Reply, recorded, refusal
from tests.cluster.conftest import config, server

__all__ = ["config", "server"]

SMALL = Path("examples/small-node")
POD = str(SMALL / "pod.yaml")
OBJECT = f"{PATH}/gpu-1"


def small_stage(change: Callable[[str], str] = lambda text: text) -> Stage:
    """The node of the recorded answers, on which its pods came in the other order."""
    machine = read_machine_file((SMALL / "machine.json").read_text())
    sources = ConfigSources(ConfigFile("kubelet.yaml", change((SMALL / "kubelet.yaml").read_text())))
    stage = new_stage(Start(version=KubeVersion(1, 36, 4), sources=sources, machine=machine))
    listed = {**recorded("pods.json"), "kind": "PodList", "apiVersion": "v1"}
    listed["items"] = [pod for pod in listed["items"] if pod["spec"]["nodeName"] == "gpu-1"]
    running = read_pods(json.dumps(listed).encode(), "pods.json", pod_level=True).running
    return replace(stage, ledger=stage.play(tuple(reversed(running))).after)


@pytest.fixture(autouse=True)
def kubeconfig(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(config))


@pytest.fixture
def stage(server: ApiServer) -> Stage:
    found = small_stage()
    server.replies[OBJECT] = Reply(body=topology_bytes(topology_of("gpu-1", found)))
    return found


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status = main([*arguments, "-o", "json"])
    out, error = capsys.readouterr()
    assert status in (0, 1), error
    return json.loads(out)


def codes(found: Any) -> list[str]:
    return [note["code"] for note in found["notes"]]


def test_pods_that_run_are_not_played_again(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """The one that comes finds exactly what the node has left."""
    found = answer(capsys, "simulate", "--node", "gpu-1", POD)
    (decision,) = found["decisions"]
    assert decision["pod"] == "default/train"
    assert "pods-replayed" not in codes(found)
    assert stage.ledger.cpu.entries


@pytest.mark.parametrize("command", ["simulate", "explain", "advise", "fit"])
def test_a_live_node_and_its_folder_give_one_answer(
    stage: Stage, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "case"
    main(["node", "pull", "gpu-1", "-o", str(folder)])
    assert "nodetopology.json" in capsys.readouterr().out
    live, kept = (answer(capsys, command, *where, POD) for where in (("--node", "gpu-1"), (str(folder),)))
    assert json.loads(json.dumps(live).replace("node gpu-1/", "")) == json.loads(
        json.dumps(kept).replace(f"{folder}/", "")
    )


def test_a_decision_is_the_one_on_the_node_itself(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "simulate", "--node", "gpu-1", POD)
    (pod,) = read_pods(Path(POD).read_bytes(), POD, pod_level=True).pods
    decision = stage.decide(stage.ledger, pod)
    (told,) = found["decisions"]
    assert told["admitted"] == decision.admitted
    placed = {name: cpuset_text(own.cpus or 0) for name, own in decision.containers.items()}
    assert {name: own.get("cpus") or "" for name, own in told["containers"].items()} == placed


def test_no_right_on_the_kubelet_is_needed(stage: Stage, server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.replies[CONFIGZ] = FORBIDDEN
    found = answer(capsys, "simulate", "--node", "gpu-1", POD)
    assert not {"node-partly-known", "kubelet-assumed", "cores-guessed"} & set(codes(found))
    lint = answer(capsys, "lint", "--node", "gpu-1")
    assert lint["files"] == 2


def test_another_answer_of_the_kubelet_is_noted(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    old = small_stage(lambda text: text.replace("Policy: single-numa-node", "Policy: restricted"))
    server.replies[OBJECT] = Reply(body=topology_bytes(topology_of("gpu-1", old)))
    found = answer(capsys, "simulate", "--node", "gpu-1", POD)
    (note,) = [note for note in found["notes"] if note["code"] == "kubelet-disagrees"]
    assert note["text"] == "its NodeTopology is believed, and it answers with another topologyManagerPolicy"


def test_where_a_person_says_otherwise_what_pods_hold_is_not_used(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, "simulate", "--node", "gpu-1", "--kubelet", str(SMALL / "kubelet.yaml"), POD)
    assert len(found["decisions"]) == 4
    (note,) = [note for note in found["notes"] if note["code"] == "topology-not-used"]
    assert note["text"] == (
        "what its pods hold is not taken from its NodeTopology: --kubelet says otherwise of the node"
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"kind": "NodeTopology"', "is no NodeTopology"),
        (b'{"kind": "NodeTopology", "apiVersion": "topology.numafit.io/v2"}', "v2 is not understood"),
        (topology_bytes(topology_of("gpu-2", small_stage())), "tells of the node gpu-2, not of gpu-1"),
        (topology_bytes(topology_of("gpu-1", small_stage())).replace(b"v1.36.4", b"v1.36.3"), "status.digest"),
    ],
)
def test_an_object_that_makes_no_sense_is_noted_and_not_used(
    server: ApiServer, body: bytes, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = body if body.endswith(b"}") else body + b"}"
    server.replies[OBJECT] = Reply(body=whole)
    found = answer(capsys, "simulate", "--node", "gpu-1", POD)
    (note,) = [note for note in found["notes"] if note["code"] == "topology-not-used"]
    assert why in note["text"]
    assert "pods-replayed" in codes(found)


def test_who_may_not_read_it_is_told(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.replies[OBJECT] = refusal(403, "no")
    found = answer(capsys, "simulate", "--node", "gpu-1", POD)
    texts = [note["text"] for note in found["notes"] if note["code"] == "node-partly-known"]
    assert "its NodeTopology, if there is one, is not known: you may not read it" in texts


def test_a_pod_that_runs_is_explained_as_if_it_came_now(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    """To the others as they sit, and without what it holds itself."""
    main(["explain", "--node", "gpu-1", "--pod", "ml/train-0"])
    printed = capsys.readouterr().out
    assert printed.startswith("ml/train-0 (Guaranteed): admitted\n")
    assert "is held by ml/train-0" not in printed
    assert "ml/train-0: runs, and is played again as if it came now, after all others" in printed


def test_two_kubelets_are_compared_by_pods_that_come_in_the_same_way(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    """What pods hold under one of them says nothing of the other."""
    found = answer(capsys, "compare", "--node", "gpu-1", "--with-kube-version", "1.31", POD)
    texts = [note["text"] for note in found["notes"] if note["code"] == "topology-not-used"]
    assert texts[0].endswith("--with-kube-version says otherwise of the node")
    assert "pods-replayed" in codes(found)
