"""Rejected pods that are too many."""

from numafit.cluster.guard.leftovers import JOB_INDEX, PER_SECOND, Leftovers
from numafit.cluster.live.pods import ClusterPod
from tests.cluster.guard.looping import owned_object, rejected_pod
from tests.cluster.live.cluster_objects import kept


def names(found: list[ClusterPod]) -> list[str]:
    return [pod.uid for pod in found]


def test_the_newest_three_of_an_owner_are_kept() -> None:
    own = Leftovers()
    for made in (3, 1, 4, 0, 2):
        own.failed(rejected_pod(f"p{made}", made=made))
    own.failed(rejected_pod("other", owner="o2"))
    assert names(own.due(0)) == ["p0", "p1"]
    assert own.due(10) == []


def test_no_more_are_removed_in_a_second_than_the_bound() -> None:
    own = Leftovers()
    for made in range(20):
        own.failed(rejected_pod(f"p{made:02}", made=made))
    times = [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 2.0]
    found = [len(own.due(time)) for time in times]
    assert found == [PER_SECOND, 0, 0, 0, PER_SECOND, 0, PER_SECOND]


def test_pods_that_failed_by_themselves_are_none() -> None:
    own = Leftovers()
    for number in range(9):
        own.failed(kept(owned_object(f"p{number}", node="n1", phase="Failed", reason="Error")))
    assert own.due(0) == []


def test_pods_without_an_owner_stay() -> None:
    own = Leftovers()
    for number in range(9):
        own.failed(rejected_pod(f"p{number}", kind=""))
    assert own.due(0) == []


def test_pods_of_an_indexed_job_stay() -> None:
    """By an annotation of the newest one of an index the Job counts its failures."""
    own = Leftovers()
    for number in range(9):
        sent = owned_object(f"p{number}", kind="Job", node="n1", phase="Failed", reason="TopologyAffinityError")
        sent["metadata"]["annotations"] = {JOB_INDEX: "1"}
        own.failed(kept(sent))
    assert own.due(0) == []


def test_one_that_somebody_else_removed_does_not_count() -> None:
    own = Leftovers()
    for made in range(4):
        own.failed(rejected_pod(f"p{made}", made=made))
    own.gone("p3", "loop")
    assert own.due(0) == []


def test_what_is_not_wanted_takes_no_share_of_the_second() -> None:
    own = Leftovers()
    for made in range(9):
        own.failed(rejected_pod(f"p{made}", made=made))
    assert own.due(0, lambda _: False) == []
    assert len(own.due(0)) == PER_SECOND
