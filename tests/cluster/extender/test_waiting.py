"""Pods that were refused, and how their scheduler is told."""

from numafit.cluster.extender.waiting import MOST_WOKEN, RefusedPods
from numafit.cluster.live.pods import ClusterPod
from tests.cluster.live.cluster_objects import pod


def test_of_equal_pods_without_room_one_is_looked_at_and_of_many_with_room_some_are_woken() -> None:
    looked: list[str] = []

    def fits(own: ClusterPod) -> bool:
        looked.append(own.uid)
        return own.uid.startswith("small")

    pods = RefusedPods(fits)
    for index in range(50):
        pods.refused(pod(f"large-{index}", cpus=64), 1.0)
        pods.refused(pod(f"small-{index}"), 1.0)
    pods.changed(2.0)
    assert pods.to_wake(2.0) == []
    assert len(pods.to_wake(3.0)) == MOST_WOKEN
    assert [own for own in looked if own.startswith("large")] == ["large-0"]
