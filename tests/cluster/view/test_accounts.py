"""How a pod stands: from its object, from the report of its node, and by the engine."""

from pathlib import Path

from numafit.cluster.kube.access import access
from numafit.cluster.kube.client import Client
from numafit.cluster.live.words import NODES_ANNOTATION, PLACE_GATE
from numafit.cluster.topology.model import PATH
from numafit.cluster.view.accounts import Accountant, waiting_pods
from numafit.cluster.view.reading import read_cluster
from numafit.fleet.look.account import PodAccount
from tests.cluster.api_server import ApiServer
from tests.cluster.conftest import config, server
from tests.cluster.live.cluster_objects import kept
from tests.cluster.view.small_cluster import SmallCluster, stage, usual

__all__ = ["config", "server"]


def account(cluster: SmallCluster, config: Path, name: str) -> PodAccount:
    cluster.serve()
    with Client(access(config, None)) as client:
        view = read_cluster(client, namespace="team")
    found = next(own for own in cluster.pods if own["metadata"]["name"] == name)
    return Accountant(view).account(kept(found))


def test_a_pod_that_runs_is_told_with_its_seat(server: ApiServer, config: Path) -> None:
    found = account(usual(server), config, "train")
    assert (found.standing, found.node, found.policy) == ("runs", "gpu-1", "restricted, scope pod")
    assert found.seat is not None
    assert (found.seat.split, found.seat.holding.cpus.bit_count(), len(found.seat.holding.nodes)) == (False, 8, 1)


def test_a_rejected_pod_is_decided_again_on_its_node_as_that_stands(server: ApiServer, config: Path) -> None:
    found = account(usual(server), config, "turned")
    assert (found.standing, found.reason, found.message) == ("rejected", "TopologyAffinityError", "no locality")
    assert found.decision is not None
    assert not found.decision.admitted


def test_a_pod_that_waits_is_asked_of_every_node(server: ApiServer, config: Path) -> None:
    found = account(usual(server), config, "huge")
    assert found.standing == "waits"
    assert found.why is not None
    assert (found.why.nodes, found.why.unknown, found.why.fitting, found.why.never) == (2, 1, 0, 2)
    assert found.why.change is not None


def test_a_gated_pod_that_fits_is_told_where(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    cluster.pod("gated", 8, 4, gates=(PLACE_GATE,))
    found = account(cluster, config, "gated")
    assert (found.gates, sorted(found.best)) == ((PLACE_GATE,), ["gpu-1", "gpu-2"])


def test_what_the_placer_offered_is_told_and_is_not_in_its_own_way(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    own = cluster.pod("offered", 8, 4)
    own["metadata"]["annotations"] = {NODES_ANNOTATION: "gpu-2,gpu-1"}
    found = account(cluster, config, "offered")
    assert found.offered == ("gpu-2", "gpu-1")
    assert found.why is not None
    assert found.why.fitting == 2


def test_what_the_scheduler_said_is_told_of_a_pod_without_gates(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    told = [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]
    cluster.pod("stuck", 500, conditions=told)
    cluster.pod("held", 500, gates=("kueue.x-k8s.io/admission",), conditions=told)
    assert account(cluster, config, "stuck").message == "0/3 nodes are available"
    assert account(cluster, config, "held").message == ""


def test_bound_and_not_reported_is_on_its_way(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    cluster.pod("fresh", 2, 0, "gpu-2")
    found = account(cluster, config, "fresh")
    assert (found.standing, found.unknown) == ("coming", "the NodeTopology of gpu-2 does not have it yet")


def test_on_a_node_that_tells_nothing_it_runs_somewhere(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    cluster.pod("unseen", 2, 0, "dark", phase="Running")
    cluster.pod("refused", 2, 0, "dark", phase="Failed", reason="OutOfcpu")
    found = account(cluster, config, "unseen")
    assert (found.standing, found.unknown) == (
        "runs",
        "there is no NodeTopology of dark, so nobody tells how it stands",
    )
    assert account(cluster, config, "refused").unknown == found.unknown


def test_a_report_that_cannot_be_used_is_told_as_that(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    cluster.topologies["gpu-1"]["status"]["sharedPool"] = "0-3"
    assert "cannot be used: was changed by others" in account(cluster, config, "train").unknown


def test_one_that_has_ended_is_told_shortly(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    cluster.pod("done", 2, 0, "gpu-1", phase="Succeeded")
    cluster.pod("evicted", 2, 0, "gpu-1", phase="Failed", reason="Evicted", message="disk")
    assert account(cluster, config, "done") == PodAccount(
        "team/done", "ended", "gpu-1", "Succeeded", since="2026-01-01T00:00:00Z"
    )
    assert account(cluster, config, "evicted").reason == "Evicted"


def test_who_may_not_see_nodes_is_told_so_for_each_pod(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    cluster.serve()
    cluster.deny(PATH)
    with Client(access(config, None)) as client:
        view = read_cluster(client, namespace="team")
    pods = {own["metadata"]["name"]: kept(own) for own in cluster.pods}
    accountant = Accountant(view)
    assert "you may not list nodetopologies" in accountant.account(pods["huge"]).unknown
    assert "you may not list nodetopologies" in accountant.account(pods["train"]).unknown


def test_pods_that_wait_come_by_age(server: ApiServer, config: Path) -> None:
    cluster = SmallCluster(server)
    cluster.node("gpu-1", stage())
    for name, time in (("b", "2026-01-02T00:00:00Z"), ("a", "2026-01-03T00:00:00Z"), ("c", "2026-01-02T00:00:00Z")):
        cluster.pod(name)["metadata"]["creationTimestamp"] = time
    cluster.pod("bound", node="gpu-1")
    cluster.pod("over", phase="Failed")
    cluster.pods[0]["metadata"]["namespace"] = "other"
    cluster.serve()
    with Client(access(config, None)) as client:
        view = read_cluster(client, namespace="team")
    assert [pod.full_name for pod in waiting_pods(view, None)] == ["other/b", "team/c", "team/a"]
    assert [pod.full_name for pod in waiting_pods(view, "team")] == ["team/c", "team/a"]
