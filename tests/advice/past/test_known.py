"""Pods of manifests by the names of a log."""

from numafit.advice.past.known import KnownPods
from tests.advice.past.pasts import pod


def test_several_manifests_of_one_name_come_one_after_the_other() -> None:
    """Pods that were deleted and made again, as somebody saved them."""
    first, second = pod("a"), pod("a", "x")
    known = KnownPods([first, second])
    assert [known.coming("default/a", "api") for _ in range(2)] == [first, second]


def test_a_uid_chooses_among_them() -> None:
    first, second = pod("a"), pod("a", "x")
    assert KnownPods([second, first]).coming("default/a", "api", "uid-a") == second


def test_a_static_pod_without_a_known_node_has_the_longest_name_that_fits() -> None:
    short, long = pod("etcd"), pod("etcd-events")
    known = KnownPods([short, long])
    found = known.coming("default/etcd-events-n1", "file")
    assert found is not None
    assert (found.name, found.static) == ("etcd-events", True)


def test_names_of_the_api_server_are_taken_as_they_are() -> None:
    known = KnownPods([pod("etcd")])
    assert known.coming("default/etcd-n1", "api") is None
    assert list(known.missing) == ["default/etcd-n1"]


def test_pods_that_never_come_are_noted() -> None:
    known = KnownPods([pod("a"), pod("b")])
    known.coming("default/a", "api")
    (note,) = known.notes("kubelet.log")
    assert note.text == "this pod was given, and nothing is told of it: default/b"
