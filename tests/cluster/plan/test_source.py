"""Nodes and pods out of the objects of a cluster, from a dump and from its server."""

import json
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main
from numafit.cluster.plan.planned import idle_state
from numafit.cluster.plan.source import nodes_in, objects_in, pods_in
from numafit.cluster.sim.table import NodeAssumptions
from numafit.cluster.topology.model import KIND, PATH
from numafit.errors import InputError
from tests.cluster.api_server import ApiServer
from tests.cluster.conftest import config, server
from tests.cluster.live.cluster_objects import topology_object
from tests.cluster.sim.test_dump import dump, node, pod
from tests.cluster.view.small_cluster import SmallCluster, stage

__all__ = ["config", "server"]

GPU = "nvidia.com/gpu"


def test_nodes_with_a_topology_are_as_it_tells_and_the_others_are_assumed() -> None:
    """Equal ones are one kind, whoever holds what there; the plan begins with nobody."""
    text = dump(
        node("gpu-1", "128"),
        node("gpu-2", "128"),
        node("dark", "8"),
        topology_object("gpu-1", stage(("train", 8, 4))),
        topology_object("gpu-2", stage()),
    )
    planned = nodes_in(objects_in(text, "d.json"), NodeAssumptions())
    (exact, exact_names), (_, dark_names) = planned.kinds
    assert (exact_names, dark_names) == (("gpu-1", "gpu-2"), ("dark",))
    told, own = stage().node, idle_state(exact).node
    assert own.machine == told.machine
    assert own.settings == told.settings
    assert not idle_state(exact).ledger.active
    assert [note.code for note in planned.notes] == ["nodes-numa-assumed", "nodes-kubelet-assumed"]
    assert planned.notes[0].text.startswith(f"each node of the 1 without a {KIND} is taken for one of 2 NUMA nodes")


def test_where_all_nodes_tell_what_they_are_nothing_is_assumed() -> None:
    planned = nodes_in(objects_in(dump(topology_object("a", stage())), "d.json"), NodeAssumptions())
    assert planned.notes == ()
    assert planned.count == 1


def test_what_is_told_cannot_be_assumed_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a node beside it of which less is known the option is for that one."""
    file = tmp_path / "d.json"
    words = ["fleet", "simulate", str(file), str(file), "--numa", "1", "--rule", "numafit"]
    file.write_text(dump(topology_object("a", stage()), pod("p")))
    assert main(words) == 2
    assert "--numa: would change nothing" in capsys.readouterr().err
    file.write_text(dump(topology_object("a", stage()), node("b", "16"), pod("p")))
    assert main(words) == 0


def test_a_topology_that_was_changed_by_hand_is_told_and_its_node_assumed() -> None:
    damaged: dict[str, Any] = topology_object("a", stage())
    damaged["status"]["release"] = "v1.30.0"
    planned = nodes_in(objects_in(dump(node("a"), damaged), "d.json"), NodeAssumptions())
    assert [names for _, names in planned.kinds] == [("a",)]
    assert len(planned.skipped) == 1
    assert "was changed by others than the agent" in planned.skipped[0]


def test_a_source_without_nodes_or_pods_is_told() -> None:
    for read in (lambda own: nodes_in(own, NodeAssumptions()), lambda own: pods_in(own, "Job")):
        with pytest.raises(InputError, match=r"there is no (node|pod) in it"):
            read(objects_in(dump(), "d.json"))


def small(server: ApiServer) -> SmallCluster:
    cluster = SmallCluster(server)
    cluster.node("gpu-1", stage(("train", 8, 4)))
    cluster.node("dark", None)
    cluster.nodes["dark"]["status"]["capacity"] = {"cpu": "8", "memory": "16Gi"}
    cluster.nodes["gpu-1"]["status"]["capacity"] = {"cpu": "128", "memory": "64Gi", GPU: "8"}
    made = [("train", 8, 4, "2026-01-02T03:04:05Z"), ("web", 2, 0, "2026-01-02T03:05:05Z")]
    for name, cpus, gpus, created in made:
        cluster.pod(name, cpus, gpus, phase="Running")["metadata"]["creationTimestamp"] = created
    cluster.serve()
    return cluster


@pytest.mark.parametrize("command", ["simulate", "what-if"])
def test_the_cluster_itself_stands_for_nodes_and_pods(
    command: str, server: ApiServer, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small(server)
    words = ["--kubeconfig", str(config), "--rule", "numafit", "-o", "json"]
    words += ["--change", "policy=none"] if command == "what-if" else []
    assert main(["fleet", command, "cluster:", "cluster:", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["nodes"], found["pods"], found["seconds"]) == (2, 2, 60.0)
    assert found["skipped"] == []
    assert [note["code"] for note in found["notes"]] == ["nodes-numa-assumed", "nodes-kubelet-assumed"]


def test_a_cluster_without_topologies_has_nodes_that_are_assumed(
    server: ApiServer, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a trace of one's own, and no right to list NodeTopologies; who may not list nodes is told so."""
    cluster = small(server)
    cluster.deny(PATH)
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival,cpu,memory\n0,2,1Gi\n")
    words = ["fleet", "simulate", "cluster:", str(trace), "--kubeconfig", str(config), "-o", "json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == 2
    cluster.deny("/api/v1/nodes")
    assert main(words) == 2
    assert "forbidden" in capsys.readouterr().err


def test_pods_of_a_dump_get_whole_cpus_as_those_of_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod of 1500m has none for itself otherwise."""
    own = pod("x")
    for amounts in own["spec"]["containers"][0]["resources"].values():
        amounts["cpu"] = "1500m"
    file = tmp_path / "cluster.json"
    file.write_text(dump(node("a", "16"), own))
    words = ["fleet", "simulate", str(file), str(file), "--rule", "numafit", "-o", "json"]
    counts = []
    for more in ([], ["--whole-cpus"]):
        assert main([*words, *more]) == 0
        counts.append(json.loads(capsys.readouterr().out)["rules"][0]["alignment"]["cpus"])
    assert counts == [0, 1]
