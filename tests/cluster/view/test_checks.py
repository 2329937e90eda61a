"""What is wrong with which node."""

from pathlib import Path

from numafit.cluster.kube.access import access
from numafit.cluster.kube.client import Client
from numafit.cluster.view.checks import AGENT_LABEL, AGENT_NAME, checkup_of
from numafit.cluster.view.reading import read_cluster
from numafit.cluster.view.stale import stale_nodes
from numafit.fleet.look.findings import FleetCheckup
from tests.cluster.api_server import ApiServer
from tests.cluster.conftest import config, server
from tests.cluster.view.small_cluster import SmallCluster, stage

__all__ = ["config", "server"]


def checked(cluster: SmallCluster, config: Path) -> FleetCheckup:
    cluster.serve()
    with Client(access(config, None)) as client:
        view = read_cluster(client, namespace="team")
        return checkup_of(view, stale_nodes(view, client, seconds=0))


def found(cluster: SmallCluster, config: Path) -> dict[str, tuple[str, ...]]:
    """Code -> nodes, but for what lint says of all."""
    findings = checked(cluster, config).findings
    return {own.finding.code: own.nodes for own in findings if not own.finding.code.startswith("NF")}


def alike(server: ApiServer, number: int = 3) -> SmallCluster:
    cluster = SmallCluster(server)
    for index in range(number):
        cluster.node(f"n{index}", stage())
    return cluster


def test_nodes_that_are_alike_and_well_have_no_findings(server: ApiServer, config: Path) -> None:
    checkup = checked(alike(server), config)
    assert [own for own in checkup.findings if not own.finding.code.startswith("NF")] == []
    assert (checkup.nodes, checkup.known, checkup.failed) == (3, 3, False)
    (kubelets,) = checkup.kubelets
    assert (kubelets.topology, kubelets.nodes) == ("restricted", ("n0", "n1", "n2"))


def test_a_node_that_nobody_tells_of_and_one_whose_agent_does_not_run(server: ApiServer, config: Path) -> None:
    cluster = alike(server)
    for name in ("dark", "down", "windows"):
        cluster.node(name, None)
    cluster.nodes["windows"]["metadata"]["labels"]["kubernetes.io/os"] = "windows"
    cluster.pod("agent", node="down")["metadata"]["labels"] = {AGENT_LABEL: AGENT_NAME}
    assert found(cluster, config) == {"no-topology": ("dark",), "agent-not-running": ("down",)}


def test_reports_that_were_tampered_with_or_are_too_new_are_errors(server: ApiServer, config: Path) -> None:
    cluster = alike(server, 5)
    cluster.topologies["n0"]["status"]["sharedPool"] = "0-3"
    cluster.topologies["n1"]["status"]["digest"] = "0" * 32
    cluster.topologies["n2"]["status"]["format"] = 99
    cluster.topologies["n3"]["status"]["holders"] = 7
    assert found(cluster, config) == {
        "topology-changed": ("n0", "n1"),
        "topology-too-new": ("n2",),
        "topology-unusable": ("n3",),
    }
    assert checked(cluster, config).failed


def test_a_policy_that_differs_inside_a_pool(server: ApiServer, config: Path) -> None:
    cluster = SmallCluster(server)
    pool = {"eks.amazonaws.com/nodegroup": "train"}
    for index in range(3):
        cluster.node(f"n{index}", stage(), pool)
    cluster.node("other", stage(more="\nmaxPods: 20\n"), pool)
    cluster.node("elsewhere", stage(more="\nmaxPods: 30\n"), {"eks.amazonaws.com/nodegroup": "web"})
    (finding,) = [own for own in checked(cluster, config).findings if own.finding.code == "differs-in-pool"]
    assert finding.nodes == ("other",)
    assert finding.finding.text == (
        "is not configured like 3 other nodes of pool train: maxPods is 20 here and not set there"
    )


def test_without_labels_equal_machines_are_a_pool(server: ApiServer, config: Path) -> None:
    cluster = alike(server)
    cluster.node("other", stage(more="\nmaxPods: 20\n"))
    assert found(cluster, config) == {"differs-in-pool": ("other",)}


def test_what_lint_finds_is_told_once_for_all_that_have_it(server: ApiServer, config: Path) -> None:
    cluster = SmallCluster(server)
    for index in range(3):
        cluster.node(f"n{index}", stage(more="\ntopologyManagerPolicyOptions: {prefer-closest-numa-nodes: 'true'}\n"))
    findings = checked(cluster, config).findings
    assert all(own.nodes == ("n0", "n1", "n2") for own in findings)


def test_an_upgraded_kubelet_and_another_allocatable(server: ApiServer, config: Path) -> None:
    cluster = alike(server)
    cluster.nodes["n0"]["status"]["nodeInfo"]["kubeletVersion"] = "v1.37.0"
    cluster.nodes["n1"]["status"]["allocatable"]["cpu"] = "3"
    cluster.nodes["n2"]["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    assert found(cluster, config) == {
        "release-differs": ("n0",),
        "allocatable-differs": ("n1",),
        "not-ready": ("n2",),
    }


def test_an_agent_is_stale_that_misses_a_pod_or_has_one_too_many(server: ApiServer, config: Path) -> None:
    cluster = alike(server)
    cluster.node("ghost", stage(("gone", 2, 0)))
    cluster.pod("missed", 2, 0, "n0", phase="Running")
    cluster.pod("fresh", 2, 0, "n1")
    assert found(cluster, config) == {"agent-stale": ("ghost", "n0")}


def test_a_report_that_is_new_at_the_second_look_was_not_stale(server: ApiServer, config: Path) -> None:
    cluster = alike(server)
    cluster.pod("there", 2, 0, "n0", phase="Running")
    cluster.serve()
    with Client(access(config, None)) as client:
        view = read_cluster(client, namespace="team")
        cluster.node("n0", stage(("there", 2, 0)))
        cluster.serve()
        assert stale_nodes(view, client, seconds=0) == ()


def test_a_report_without_a_node(server: ApiServer, config: Path) -> None:
    cluster = alike(server)
    del cluster.nodes["n1"]
    assert found(cluster, config) == {"no-node": ("n1",)}
