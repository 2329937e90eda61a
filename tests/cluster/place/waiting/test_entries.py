"""A waiting pod's place in the queue."""

from msgspec.structs import replace

from numafit.cluster.place.waiting.entries import EntryMaker, is_ours, kind_of, order_of, waits
from tests.cluster.place.clusters import waiting

SPREAD = [
    {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
]


def test_pods_of_one_template_are_of_one_kind_whatever_they_are_called() -> None:
    assert kind_of(waiting("a", labels={"app": "web"})) == kind_of(waiting("b", labels={"app": "db"}))
    assert kind_of(waiting("a")) != kind_of(waiting("a", cpus=3))
    assert kind_of(waiting("a")) != kind_of(waiting("a", nodeSelector={"pool": "gpu"}))


def test_who_it_is_counts_for_one_that_has_wishes_about_others() -> None:
    web, db = ({"labels": {"app": name}, "topologySpreadConstraints": SPREAD} for name in ("web", "db"))
    assert kind_of(waiting("a", **web)) == kind_of(waiting("b", **web))  # type: ignore[arg-type]
    assert kind_of(waiting("a", **web)) != kind_of(waiting("b", **db))  # type: ignore[arg-type]


def test_a_pod_is_ours_when_our_gate_is_the_last() -> None:
    pod = waiting("a")
    assert waits(pod)
    assert is_ours(pod)
    both = replace(pod, gates=("other", *pod.gates))
    assert waits(both)
    assert not is_ours(both)
    leaving = replace(pod, metadata=replace(pod.metadata, deletionTimestamp="2026-01-01T00:00:00Z"))
    assert not waits(leaving)
    assert not waits(replace(pod, gates=("other",)))


def test_priority_age_and_name_make_the_order() -> None:
    pods = [
        waiting("b"),
        waiting("a"),
        waiting("old", made="2025-01-01T00:00:00Z"),
        waiting("urgent", priority=7, made="2026-05-01T00:00:00Z"),
    ]
    assert [pod.uid for pod in sorted(pods, key=order_of)] == ["urgent", "old", "a", "b"]


def test_a_kind_is_made_anew_only_for_another_spec() -> None:
    maker, pod = EntryMaker(), waiting("a")
    kind = maker.entry(pod).kind
    assert maker.entry(replace(pod, message="news")).kind is kind
    assert maker.entry(waiting("a", cpus=3)).kind != kind
    maker.forget("a")
    assert maker.entry(pod).kind == kind
