"""`--node`: a node of a cluster in the place of files."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from numafit.__main__ import main
from tests.cluster.api_server import CONFIGZ, FORBIDDEN, PODS, TOPOLOGY, ApiServer, Reply, recorded, refusal
from tests.cluster.conftest import config, server
from tests.service.agents import running

__all__ = ["config", "server"]

MACHINE = ["--machine", "examples/small-node/machine.json"]
KUBELET = ["--kubelet", "examples/small-node/kubelet.yaml"]
POD = "examples/small-node/pod.yaml"
NEEDS = {"compare": ["--with-kube-version", "1.31"]}


@pytest.fixture(autouse=True)
def kubeconfig(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(config))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main([*arguments, "-o", "json"])
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["simulate", "explain", "advise", "fit", "compare"])
def test_a_live_node_and_its_folder_give_one_answer(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was pulled decides as the node itself; only the place of a file in a sentence differs."""
    folder = tmp_path / "case"
    main(["node", "pull", "gpu-1", "-o", str(folder)])
    capsys.readouterr()
    needs = [*NEEDS.get(command, []), *MACHINE, POD]
    live = printed(capsys, command, "--node", "gpu-1", *needs)
    kept = printed(capsys, command, str(folder), *needs)
    assert live
    assert json.loads(live.replace("node gpu-1/", "")) == json.loads(kept.replace(f"{folder}/", ""))


def test_pods_that_run_come_first_in_the_order_of_their_start(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that have ended hold nothing."""
    answer = json.loads(printed(capsys, "simulate", "--node", "gpu-1", *MACHINE, POD))
    names = [decision["pod"] for decision in answer["decisions"]]
    assert names == ["web/front-0", "ml/train-0", "ml/cache-0", "default/train"]


def test_the_agent_of_a_live_node_knows_what_its_node_object_tells() -> None:
    """As `simulate --node` does."""
    with running("--node", "gpu-1", *MACHINE) as agent:
        facts = httpx.get(f"{agent.url}/api/v1/state", timeout=60).json()["facts"]
    told = recorded("node.json")
    assert (facts["name"], facts["labels"]) == ("gpu-1", told["metadata"]["labels"])
    assert facts["offers"]["ephemeral-storage"] == told["status"]["allocatable"]["ephemeral-storage"]


def test_a_pod_that_was_rejected_is_explained_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """It has ended, so it is played only where its name is given; that is a note."""
    main(["explain", "--node", "gpu-1", "--pod", "ml/train-1", *MACHINE])
    assert capsys.readouterr().out.startswith("ml/train-1 (Guaranteed): rejected, TopologyAffinityError\n")


def test_the_release_is_that_of_the_node(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--node", "gpu-2", *MACHINE, *KUBELET])
    assert "The kubelet v1.34.2 would start" in capsys.readouterr().out


def test_lint_judges_the_configuration_and_the_pods_of_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--node", "gpu-1", *MACHINE, "-o", "json"]) in (0, 1)
    answer = json.loads(capsys.readouterr().out)
    assert answer["files"] == 2
    assert main(["lint"]) == 2
    assert "nothing to lint" in capsys.readouterr().err


def test_doctor_says_that_state_files_are_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--node", "gpu-1", *MACHINE])
    assert "state files are not checked, the API does not tell them" in capsys.readouterr().out


def test_without_a_machine_the_three_ways_to_one_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Never this machine, which is another."""
    assert main(["simulate", "--node", "gpu-2", POD]) == 2
    assert capsys.readouterr().err == (
        "numafit: the machine of node gpu-2 is not known: the cluster tells no NodeResourceTopology of it (give it "
        "with --machine (`numafit machine capture` on the node makes a file), ask numafit's agent there with --agent, "
        "or let it or a topology updater publish what it knows)\n"
    )


def test_the_topology_of_the_node_is_its_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Zones tell CPUs, memory and devices per NUMA node; what they do not tell is noted."""
    answer = json.loads(printed(capsys, "simulate", "--node", "gpu-1", POD))
    assert [decision["admitted"] for decision in answer["decisions"]] == [True, True, True, False]


def test_a_configuration_that_is_not_told_can_be_given(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    expected = printed(capsys, "simulate", "--node", "gpu-1", *MACHINE, POD)
    server.replies[CONFIGZ] = FORBIDDEN
    given = json.loads(printed(capsys, "simulate", "--node", "gpu-1", *MACHINE, *KUBELET, POD))
    assert given["decisions"] == json.loads(expected)["decisions"]
    assert "its configuration is not known" not in json.dumps(given["notes"])


def test_an_empty_node_takes_the_pods_that_are_given(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.replies[PODS] = Reply(body=b'{"kind": "PodList", "metadata": {}, "items": []}')
    answer = json.loads(printed(capsys, "simulate", "--node", "gpu-1", *MACHINE, POD))
    assert [decision["pod"] for decision in answer["decisions"]] == ["default/train"]


def test_two_nodes_are_compared_by_the_pods_to_come(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody runs on gpu-2 here, so the pod that gpu-1 rejects fits there."""
    both = ["compare", "--node", "gpu-1", "--with-node", "gpu-2", *MACHINE, *KUBELET]
    main([*both, POD, "-o", "json"])
    [pod] = json.loads(capsys.readouterr().out)["pods"]
    assert (pod["pod"], pod["admitted"]) == ("default/train", [False, True])
    assert main(both) == 2
    assert "no pods to compare two nodes by (name pods to come)" in capsys.readouterr().err
    assert main(["compare", "--with-node", "gpu-2", *MACHINE, *KUBELET, POD]) == 2
    assert "--with-node: goes with --node only" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--context", "test", POD], "numafit: --context: goes with --node only\n"),
        (["--kubeconfig", "x", POD], "numafit: --kubeconfig: goes with --node only\n"),
        (["--node", "gpu-1", "--context", "tset"], "there is no context tset (did you mean test?)"),
        (["--node", "gpu-l"], "there is no node gpu-l (did you mean gpu-2 or gpu-1?)"),
    ],
)
def test_what_is_typed_wrong_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_pods_that_are_not_told_are_a_note(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.replies[PODS] = refusal(403, "no")
    server.replies[f"{TOPOLOGY}/gpu-1"] = refusal(403, "no")
    assert main(["simulate", "--node", "gpu-1", *MACHINE, POD, "-o", "json"]) == 0


WITHOUT = """
import sys
for name in ("lightkube", "httpx2"):
    sys.modules[name] = None
from numafit.__main__ import main
sys.exit(main(["simulate", "--node", "gpu-1"]))
"""
PLAIN = """
import sys
from numafit.__main__ import main
status = main(["simulate", "examples/small-node"])
unwanted = {"lightkube", "httpx2", "ssl", "numafit.cluster.kube", "numafit.cluster.case.fetch"}
loaded = sorted(unwanted & sys.modules.keys())
sys.exit(f"loaded: {loaded}" if loaded else status)
"""


def test_without_the_extra_it_is_named() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "numafit: to ask a cluster the Python package lightkube is needed, which is not installed "
        "(install numafit with it, in its checkout: pipx install --force '.[kubernetes]')\n"
    )


def test_a_command_without_a_cluster_loads_nothing_for_one() -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
