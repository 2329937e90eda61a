from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from numafit.cluster.live.book import LEAVING_SECONDS, FleetBook
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import NODES_ANNOTATION, PLACE_GATE
from numafit.cluster.topology.read import read_topology
from numafit.decision.stage import Stage
from numafit.fleet.places import REFUSED, UNSCHEDULABLE
from numafit.workload.served import MIRROR, STATIC_POD_UID
from tests.cluster.live.cluster_objects import kept, lenient_stage, node, pod, pod_object, topology_object
from tests.cluster.topology.nodes import with_pods_on


def report(book: FleetBook, name: str, *pods: ClusterPod) -> None:
    """The node says that it has these, and nobody else."""
    stage: Stage = with_pods_on(lenient_stage(), *(own.pod for own in pods))
    book.reported(name, book.read(read_topology(msgspec.json.encode(topology_object(name, stage)))))


def names(book: FleetBook, new: ClusterPod) -> list[str]:
    return sorted(place.node for place in book.places(new.pod).places)


def reasons(book: FleetBook, new: ClusterPod) -> set[str]:
    return {refusal.reason for refusal in book.places(new.pod).refusals}


@pytest.fixture
def book() -> FleetBook:
    """Two nodes with eight GPUs each, on two NUMA nodes, and nobody there."""
    book = FleetBook()
    for name in ("n1", "n2"):
        book.node_told(node(name))
        report(book, name)
    return book


def test_a_node_needs_a_node_and_a_report() -> None:
    book, new = FleetBook(), pod("new")
    book.node_told(node("n1"))
    assert names(book, new) == []
    report(book, "n1")
    assert names(book, new) == ["n1"]
    report(book, "n2")
    assert names(book, new) == ["n1"]
    book.node_told(node("n2"))
    assert names(book, new) == ["n1", "n2"]
    book.node_gone("n1")
    assert names(book, new) == ["n2"]
    book.unreported("n2", "it is damaged")
    assert names(book, new) == []
    assert book.troubles == {"n2": "it is damaged"}


def test_a_bound_pod_counts_until_it_is_reported_and_from_then_on_as_reported(book: FleetBook) -> None:
    large, new = pod("large", gpus=8, node="n1"), pod("new", gpus=1)
    book.pod_told(large)
    assert names(book, new) == ["n2"]
    report(book, "n1", large)
    assert book.fleet.offers == {}
    assert names(book, new) == ["n2"]
    report(book, "n1")
    # It is bound, and who knows why its kubelet does not tell of it.
    assert names(book, new) == ["n2"]


def test_an_offer_counts_on_all_its_nodes_until_the_pod_is_bound(book: FleetBook) -> None:
    large, new = pod("large", gpus=8, gates=(PLACE_GATE,)), pod("new", gpus=1)
    book.pod_told(large)
    book.offer(large, ("n1", "n2"))
    assert names(book, new) == []
    book.pod_told(pod("large", gpus=8, node="n2"))
    assert names(book, new) == ["n1"]


def test_what_was_offered_is_read_from_the_annotation_of_a_pod(book: FleetBook) -> None:
    """So a new leader knows what the last one promised."""
    told = pod_object("large", gpus=8)
    told["metadata"]["annotations"] = {NODES_ANNOTATION: "n2,n1,n2", "other": "is not kept"}
    large = book.pod_told(kept(told))
    assert large.offered == ("n2", "n1")
    assert dict(large.metadata.annotations) == {NODES_ANNOTATION: "n2,n1,n2"}
    assert names(book, pod("new", gpus=1)) == []
    book.pod_gone("large", now=0)
    assert names(book, pod("new", gpus=1)) == ["n1", "n2"]


def test_an_annotation_that_names_more_nodes_than_anybody_offers_counts_nowhere(book: FleetBook) -> None:
    """Whoever wrote it would keep all nodes from others."""
    told = pod_object("forged", gpus=8)
    told["metadata"]["annotations"] = {NODES_ANNOTATION: ",".join(["n1", "n2"] * 32)}
    assert book.pod_told(kept(told)).offered == ("n1", "n2")
    told["metadata"]["annotations"] = {NODES_ANNOTATION: ",".join(["n1", "n2"] * 32 + ["n3"])}
    forged = book.pod_told(kept({**told, "metadata": {**told["metadata"], "name": "more", "uid": "more"}}))
    assert forged.offered == ()
    assert "more" not in book.fleet.offers


def test_a_bound_pod_that_vanishes_counts_until_the_next_report_or_for_some_seconds(book: FleetBook) -> None:
    new = pod("new", gpus=1)
    for name in ("n1", "n2"):
        book.pod_told(pod(f"on-{name}", gpus=8, node=name))
        book.pod_gone(f"on-{name}", now=100)
    assert names(book, new) == []
    report(book, "n1")
    assert names(book, new) == ["n1"]
    book.sweep(100 + LEAVING_SECONDS - 1)
    assert names(book, new) == ["n1"]
    book.sweep(100 + LEAVING_SECONDS)
    assert names(book, new) == ["n1", "n2"]


def test_what_a_report_has_is_not_free_because_the_object_has_gone(book: FleetBook) -> None:
    large = pod("large", gpus=8, node="n1")
    book.pod_told(large)
    report(book, "n1", large)
    book.pod_gone("large", now=0)
    book.sweep(1e9)
    assert names(book, pod("new", gpus=1)) == ["n2"]
    report(book, "n1")
    assert names(book, pod("new", gpus=1)) == ["n1", "n2"]


def test_a_rejection_is_remembered_until_the_node_changes(book: FleetBook) -> None:
    bad = pod("bad", gpus=2, node="n1")
    book.pod_told(bad)
    book.rejected(replace(bad, phase="Failed", reason="TopologyAffinityError", message="no"))
    again = pod("again", gpus=2)
    assert names(book, again) == ["n2"]
    assert REFUSED in reasons(book, again)
    assert names(book, pod("other", gpus=1)) == ["n1", "n2"]
    report(book, "n1", pod("somebody", node="n1"))
    assert names(book, again) == ["n1", "n2"]


@pytest.mark.parametrize("gone", ["report", "node"])
def test_a_rejection_is_remembered_while_the_node_or_its_report_is_away(book: FleetBook, gone: str) -> None:
    bad = pod("bad", node="n1")
    book.pod_told(bad)
    book.rejected(replace(bad, phase="Failed", reason="TopologyAffinityError", message="no"))

    def away() -> None:
        if gone == "report":
            book.unreported("n1")
        else:
            book.node_gone("n1")
        assert names(book, pod("new")) == ["n2"]
        assert book.fleet.refusing == frozenset()

    for _ in range(2):
        away()
        book.node_told(node("n1"))
        report(book, "n1")
        assert names(book, pod("new")) == ["n2"]
        assert reasons(book, pod("new")) == {REFUSED}
    away()
    book.node_told(node("n1"))
    report(book, "n1", pod("other", node="n1"))
    assert names(book, pod("new")) == ["n1", "n2"]


def test_two_watches_may_tell_of_a_rejection_in_any_order(book: FleetBook) -> None:
    bad = pod("bad", gpus=8, node="n1")
    book.rejected(replace(bad, phase="Failed", reason="OutOfcpu"))
    book.pod_told(bad)
    book.pod_gone("bad", now=0)
    assert names(book, pod("new", gpus=1)) == ["n1", "n2"]


def test_labels_taints_and_cordons_of_the_node_object_count_at_once(book: FleetBook) -> None:
    told = pod_object("new")
    told["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n2"}
    assert names(book, kept(told)) == ["n2"]
    book.node_told(node("n1", unschedulable=True))
    assert names(book, pod("other")) == ["n2"]
    assert UNSCHEDULABLE in reasons(book, pod("other"))
    book.node_told(node("n1", taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    assert names(book, pod("other")) == ["n2"]


def test_what_the_node_object_lists_counts_from_then_on(book: FleetBook) -> None:
    told = pod_object("new")
    for own in told["spec"]["containers"][0]["resources"].values():
        own["example.com/licence"] = "1"
    new = kept(told)
    assert names(book, new) == []
    known = node("n2")
    book.node_told(replace(known, allocatable={**known.allocatable, "example.com/licence": known.allocatable["pods"]}))
    assert names(book, new) == ["n2"]


def test_what_a_pod_asks_for_is_known_also_where_the_report_came_first(book: FleetBook) -> None:
    """It has no CPUs of its own, so its requests count in the sum of the node only."""
    told = pod_object("sums", cpus=100)
    del told["spec"]["containers"][0]["resources"]["limits"]
    told["spec"]["nodeName"] = "n1"
    sums = kept(told)
    report(book, "n1", sums)
    new = pod("new", cpus=60)
    assert names(book, new) == ["n1", "n2"]
    book.pod_told(sums)
    assert names(book, new) == ["n2"]


def test_a_pod_that_calls_itself_like_another_is_itself_only(book: FleetBook) -> None:
    """Whoever makes a pod writes its annotations."""

    def pretends(name: str, **more: Any) -> ClusterPod:
        told = pod_object(name, gpus=1, node="n1", **more)
        told["metadata"]["annotations"] = {STATIC_POD_UID: "victim", MIRROR: "victim"}
        return kept(told)

    book.pod_told(pretends("first"))
    assert set(book.pods) == {"victim"}
    book.pod_told(pod("victim", gpus=8, node="n2"))
    assert {uid: own.metadata.name for uid, own in book.pods.items()} == {"victim": "victim", "first": "first"}
    book.pod_told(pretends("second"))
    assert set(book.pods) == {"victim", "first", "second"}
    for name in ("first", "second", "victim"):
        book.pod_gone(name, now=0)
    assert book.pods == {}


def test_a_mirror_of_a_static_pod_is_known_by_the_uid_of_the_kubelet(book: FleetBook) -> None:
    told = pod_object("mirror", gpus=8, node="n1")
    told["metadata"]["annotations"] = {STATIC_POD_UID: "static", MIRROR: "static"}
    mirror = book.pod_told(kept(told))
    assert mirror.uid == "static"
    report(book, "n1", mirror)
    assert book.fleet.offers == {}
    assert book.pod_gone("mirror", now=0) is mirror


def test_an_offer_of_a_bound_pod_is_not_taken_back(book: FleetBook) -> None:
    book.pod_told(pod("large", gpus=8, node="n1"))
    book.withdraw("large")
    assert names(book, pod("new", gpus=1)) == ["n2"]


def test_a_pod_that_is_no_mirror_is_known_by_its_own_uid(book: FleetBook) -> None:
    """It would count twice: as its kubelet reports it, and as one that is promised for ever."""
    told = pod_object("hides", gpus=4, node="n1")
    told["metadata"]["annotations"] = {STATIC_POD_UID: "nobody"}
    hides = book.pod_told(kept(told))
    assert hides.uid == "hides"
    report(book, "n1", hides)
    assert book.fleet.offers == {}
    assert names(book, pod("new", gpus=4)) == ["n1", "n2"]


def test_what_a_resized_pod_gives_back_is_free_when_its_kubelet_says_so(book: FleetBook) -> None:
    """The spec says less at once. The kubelet counts what it has allocated (1.27 to 1.36): for some seconds, or for
    ever where the resize is infeasible."""
    told = pod_object("sums", cpus=100, node="n1")
    del told["spec"]["containers"][0]["resources"]["limits"]
    report(book, "n1", book.pod_told(kept(told)))
    new = pod("new", cpus=60)
    assert names(book, new) == ["n2"]
    told["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1"
    told["status"]["containerStatuses"] = [{"name": "main", "allocatedResources": {"cpu": "100", "memory": "1Gi"}}]
    book.pod_told(kept(told))
    assert names(book, new) == ["n2"]
    told["status"]["containerStatuses"][0]["allocatedResources"]["cpu"] = "1"
    book.pod_told(kept(told))
    assert names(book, new) == ["n1", "n2"]


def test_a_pod_that_vanished_counts_until_those_beside_it_are_reported(book: FleetBook) -> None:
    """They keep the places that they were given beside it. A report without them may have been on its way before."""
    short, beside = pod("short", gpus=4, node="n1"), pod("beside", gpus=1, node="n1")
    book.pod_told(short)
    book.pod_told(beside)
    book.pod_gone("short", now=0)
    report(book, "n1")
    assert names(book, pod("new", gpus=4)) == ["n2"]
    report(book, "n1", beside)
    assert names(book, pod("new", gpus=4)) == ["n1", "n2"]
