"""`kubectl numafit` and `numafit fleet`: one look at a cluster, answered for people and for programs."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from numafit.__main__ import kubectl, main
from numafit.cluster.live.words import PLACE_GATE
from numafit.cluster.topology.model import PATH
from tests.cluster.api_server import ApiServer, refusal
from tests.cluster.conftest import config, server
from tests.cluster.view.small_cluster import NODES, OWN_PODS, PODS, SmallCluster, usual

__all__ = ["config", "server"]

Told = tuple[int, str, str]
Ask = Callable[..., Told]


@pytest.fixture
def ask(config: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Status, standard output and standard error of a command, in the namespace `team`."""
    text = config.read_text().replace('"user": "jane"}}', '"user": "jane", "namespace": "team"}}')
    config.write_text(text)

    def asked(*words: str) -> Told:
        status = kubectl([*words, "--kubeconfig", str(config)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return asked


@pytest.fixture
def cluster(server: ApiServer) -> SmallCluster:
    return usual(server)


POD = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "more"},
    "spec": {
        "replicas": 9,
        "selector": {"matchLabels": {"app": "more"}},
        "template": {
            "metadata": {"labels": {"app": "more"}},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "x",
                        "resources": {"limits": {"cpu": "8", "memory": "1Gi", "nvidia.com/gpu": "2"}},
                    }
                ]
            },
        },
    },
}


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "more.json"
    path.write_text(json.dumps(POD))
    return str(path)


def test_kubectl_finds_it_by_its_name() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["kubectl-numafit"] == "numafit.__main__:kubectl"


def test_both_names_are_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert kubectl(["top", "--help"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("Usage: kubectl numafit top ")
    assert main(["fleet", "top", "--help"]) == 0
    assert capsys.readouterr().out.split("\n")[1:] == first.split("\n")[1:]


def test_top_shows_what_is_stranded_and_the_totals(ask: Ask, cluster: SmallCluster) -> None:
    status, out, err = ask("top")
    assert (status, err) == (0, "")
    lines = out.split("\n")
    assert lines[0].split() == ["NODE", "PODS", "CPUS", "ON", "ONE", "GPUS", "MEMORY", "STRANDED", "SPLIT", "POLICY"]
    assert lines[1].startswith("gpu-1 ")
    assert "4/8" in lines[1]
    assert "CPUs" in lines[1]
    assert lines[3].startswith("2 nodes ")
    assert "Nothing is known of 1 node: dark." in out


def test_top_as_json_has_numbers_for_programs(ask: Ask, cluster: SmallCluster) -> None:
    answer = json.loads(ask("top", "-o", "json", "--sort-by", "name")[1])
    assert [own["node"] for own in answer["nodes"]] == ["gpu-1", "gpu-2"]
    assert answer["total"]["gpus"] == {"total": 16, "free": 12, "stranded": 0}
    assert answer["unknown"] == ["dark"]
    assert ask("top", "--check")[0] == 1


def test_top_can_be_cut_and_says_so(ask: Ask, cluster: SmallCluster) -> None:
    assert "1 more node not shown." in ask("top", "--limit", "1")[1]


def test_explain_tells_where_a_pod_sits(ask: Ask, cluster: SmallCluster) -> None:
    status, out, _ = ask("explain", "pod/train")
    assert status == 0
    assert out.startswith("team/train: runs on gpu-1, aligned\n  8 CPUs (")
    assert "4 nvidia.com/gpu (" in out
    assert ask("explain", "train", "--check")[0] == 0


def test_explain_tells_why_a_pod_was_rejected(ask: Ask, cluster: SmallCluster) -> None:
    status, out, _ = ask("explain", "team/turned", "--check")
    assert status == 1
    assert "rejected by gpu-1, TopologyAffinityError" in out
    assert "The kubelet said: no locality" in out
    assert "As gpu-1 stands now (restricted, scope pod):" in out
    assert "5 nvidia.com/gpu" in out


def test_explain_tells_why_a_pod_waits_and_what_would_help(ask: Ask, cluster: SmallCluster) -> None:
    out = ask("explain", "huge")[1]
    assert out.startswith("team/huge: waits\n  500 CPUs")
    assert "Node by node:" in out
    assert "What would help:" in out
    answer = json.loads(ask("explain", "huge", "-o", "json")[1])["pods"][0]
    assert (answer["standing"], answer["waiting"]["never"]) == ("waits", 2)


def test_explain_takes_several_and_says_which_is_not_there(ask: Ask, cluster: SmallCluster) -> None:
    assert ask("explain", "train", "huge")[1].count("team/") >= 2
    status, _, err = ask("explain", "pod/trian")
    assert status == 2
    assert "there is no pod trian in the namespace team (did you mean train?)" in err


def test_why_pending_has_a_sentence_for_each(ask: Ask, cluster: SmallCluster) -> None:
    cluster.pod("gated", 8, 4, gates=(PLACE_GATE,))
    cluster.pod("queued", 2, 0, gates=("kueue.x-k8s.io/admission",))
    cluster.serve()
    status, out, _ = ask("why-pending", "-A")
    assert status == 0
    rows = {line.split()[0]: line for line in out.strip().split("\n")[1:]}
    assert set(rows) == {"team/huge", "team/gated", "team/queued"}
    assert "2 nodes would take it now" in rows["team/gated"]
    assert "somebody else must remove: kueue.x-k8s.io/admission" in rows["team/queued"]
    assert ask("why-pending", "--check")[0] == 1
    assert ask("why-pending", "-n", "other")[1] == "No pod waits.\n"


def test_fit_counts_over_all_nodes(ask: Ask, cluster: SmallCluster, manifest: str) -> None:
    """Two GPUs each: six of eight pairs are free, and nine are asked for."""
    status, out, _ = ask("fit", "-f", manifest)
    assert status == 0
    assert out.startswith("default/more-0: 6 more fit, on 2 nodes; 9 are asked for\n")
    assert ask("fit", "-f", manifest, "--check")[0] == 1
    answer = json.loads(ask("fit", "-f", manifest, "-o", "json")[1])["shapes"][0]
    assert (answer["wanted"], answer["total"]) == (9, 6)
    assert {own["nodes"][0]: own["each"] for own in answer["counts"]} == {"gpu-1": 2, "gpu-2": 4}


def test_fit_without_a_pod_in_the_file_is_bad_input(ask: Ask, cluster: SmallCluster, tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("kind: ConfigMap\napiVersion: v1\n")
    status, _, err = ask("fit", "-f", str(path))
    assert status == 2
    assert "there is no pod in this file" in err


def test_node_is_drawn_with_who_sits_where(ask: Ask, cluster: SmallCluster) -> None:
    status, out, _ = ask("node", "gpu-1", "--ascii")
    assert status == 0
    assert out.startswith("gpu-1: kubelet v1.")
    assert "NUMA 0" in out
    assert "train" in out
    answer = json.loads(ask("node", "gpu-1", "-o", "json")[1])
    assert [(own["uid"], own["aligned"]) for own in answer["pods"]] == [("train", True)]


@pytest.mark.parametrize("name", ["gpu-9", "dark"])
def test_a_node_that_is_not_known_is_a_sentence(ask: Ask, cluster: SmallCluster, name: str) -> None:
    status, out, err = ask("node", name)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1


def test_doctor_groups_equal_findings(ask: Ask, cluster: SmallCluster) -> None:
    cluster.topologies["gpu-1"]["status"]["digest"] = "0" * 32
    cluster.serve()
    status, out, _ = ask("doctor", "--check")
    assert status == 1
    assert out.startswith("3 nodes, of which 1 tells how it stands.")
    assert "1. error topology-changed: 1 node: gpu-1" in out
    assert "warning no-topology: 1 node: dark" in out
    codes = [own["code"] for own in json.loads(ask("doctor", "-o", "json")[1])["findings"]]
    assert codes[0] == "topology-changed"


@pytest.mark.parametrize("words", [["top"], ["doctor"], ["why-pending"]])
def test_without_the_right_to_see_reports_there_is_no_answer_but_the_rule_to_add(
    ask: Ask, cluster: SmallCluster, words: list[str]
) -> None:
    cluster.deny(PATH)
    status, out, err = ask(*words)
    assert (status, out) == (2, "")
    assert "you may not list nodetopologies of topology.numafit.io" in err
    assert "kind: ClusterRole\n" in err


def test_with_a_part_of_the_rights_there_is_a_part_of_the_answer(ask: Ask, cluster: SmallCluster) -> None:
    cluster.deny(NODES, PODS)
    status, out, err = ask("explain", "train")
    assert status == 0
    assert out.startswith("team/train: runs on gpu-1, aligned")
    assert "- nodes: you may not list them: labels, taints and cordons are not known" in out
    assert "kind: ClusterRoleBinding" in err


def test_who_may_see_no_pod_is_told_which_right_lacks(ask: Ask, cluster: SmallCluster) -> None:
    cluster.deny(PODS, OWN_PODS)
    status, out, err = ask("explain", "train")
    assert (status, out) == (2, "")
    assert 'cannot list resource "pods"' in err
    assert "kind: ClusterRole\n" in err
    assert ask("why-pending")[0] == 2


def test_a_cluster_without_agents_is_told_what_to_install(ask: Ask, cluster: SmallCluster, server: ApiServer) -> None:
    server.replies[PATH] = refusal(404, "the server could not find the requested resource")
    status, _, err = ask("top")
    assert status == 2
    assert "this cluster does not know the kind NodeTopology" in err
    assert "numafit node-agent --manifest" in err


def test_a_server_that_does_not_answer_is_one_sentence(ask: Ask, server: ApiServer) -> None:
    server.token = "another"
    status, out, err = ask("top")
    assert (status, out, err.count("\n")) == (2, "", 1)
