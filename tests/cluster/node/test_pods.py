"""What the API server and the kubelet say of the pods of a node."""

from numafit.cluster.node.pods import NodePodReader, by_uid
from numafit.workload.served import MIRROR, STATIC_POD_UID
from tests.cluster.node.fakes import ENDED, REFUSED, RUNNING, node_pod


def mirror_of(uid: str) -> dict[str, str]:
    """Annotations as a kubelet writes them."""
    return {STATIC_POD_UID: uid, MIRROR: uid}


def test_what_a_kubelet_says_of_a_pod() -> None:
    waiting, runs, ended, refused = (node_pod("p", "u", status=own) for own in ({}, RUNNING, ENDED, REFUSED))
    assert [(own.admitted, own.rejected, own.ended) for own in (waiting, runs, ended, refused)] == [
        (False, False, False),
        (True, False, False),
        (True, False, True),
        (False, True, True),
    ]


def test_a_pod_that_is_refused_for_something_else_was_never_admitted() -> None:
    evicted = node_pod("p", "u", status={"phase": "Failed", "reason": "NodeAffinity", "startTime": "x"})
    assert (evicted.admitted, evicted.rejected, evicted.ended) == (False, False, True)


def test_a_time_of_start_alone_is_no_admission() -> None:
    """A kubelet that was killed and started again writes it for a pod that it has rejected, and phase and reason only
    with its next round of statuses (v1.36.4)."""
    told = node_pod("p", "u", status={"phase": "Pending", "startTime": "2026-01-01T00:00:00Z"})
    assert (told.admitted, told.rejected, told.ended) == (False, False, False)


def test_a_static_pod_has_the_uid_of_its_manifest() -> None:
    own = node_pod("p", "of-the-mirror", annotations=mirror_of("of-the-manifest"))
    (read,) = NodePodReader().pods(by_uid([own]), pod_level=True).values()
    assert (own.uid, read.uid) == ("of-the-manifest", "of-the-manifest")


def test_a_pod_is_read_once_and_again_when_its_spec_changes() -> None:
    reader = NodePodReader()
    first = reader.pods(by_uid([node_pod("p", "u")]), pod_level=True)["u"]
    assert reader.pods(by_uid([node_pod("p", "u", status=RUNNING)]), pod_level=True)["u"] is first
    assert (first.full_name, str(first.containers[0].requests["cpu"])) == ("team/p", "1")


def test_one_that_cannot_be_read_is_left_out_and_told() -> None:
    reader = NodePodReader()
    bad = node_pod("bad", "u2")
    bad = type(bad)(bad.metadata, type(bad.spec)(b'{"containers": 7}'), bad.status)
    assert list(reader.pods(by_uid([node_pod("p", "u"), bad]), pod_level=True)) == ["u"]
    assert list(reader.unreadable) == ["team/bad"]
    reader.pods(by_uid([node_pod("p", "u")]), pod_level=True)
    assert reader.unreadable == {}


def test_nobody_takes_the_place_of_another_pod_by_an_annotation() -> None:
    """Whoever makes a pod writes its annotations: with an ended one the pod that runs would be told as gone."""
    runs = node_pod("runs", "u1", status=RUNNING, created="2026-01-01T00:00:01Z")
    claims = node_pod("claims", "u2", status=ENDED, created="2026-01-01T00:00:00Z", annotations=mirror_of("u1"))
    mirror = node_pod("mirror", "u3", status=RUNNING, created="2026-01-01T00:00:00Z", annotations=mirror_of("static"))
    late = node_pod("late", "u4", status=ENDED, created="2026-01-01T00:00:09Z", annotations=mirror_of("static"))
    for order in ((runs, claims, mirror, late), (late, mirror, claims, runs)):
        found = by_uid(order)
        assert found == {"u1": runs, "u2": claims, "static": mirror, "u4": late}
        assert [own.uid for own in NodePodReader().pods(found, pod_level=True).values()] == list(found)


def test_a_pod_that_runs_as_itself_is_not_hidden_by_an_annotation() -> None:
    """A kubelet runs no mirrors: a pod that names a UID and is none holds CPUs by its own UID. By the other one it
    would be told as gone, its CPUs as free, and whoever is sent there would be rejected."""
    hides = node_pod("hides", "u1", status=RUNNING, annotations={STATIC_POD_UID: "nobody"})
    assert list(by_uid([hides])) == ["u1"]
