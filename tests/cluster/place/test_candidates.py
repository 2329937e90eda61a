"""Which nodes one waiting pod is offered."""

from typing import Any

from numafit.cluster.place.candidates import CandidateSearch, wanted_names
from tests.cluster.place.clusters import cluster_of, report, told_node, waiting

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"matchLabels": {"app": "web"}}


def spread(key: str = "zone") -> dict[str, Any]:
    return {
        "topologySpreadConstraints": [
            {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": WEB}
        ]
    }


def test_no_more_nodes_than_wanted_and_tried_ones_come_last() -> None:
    search = CandidateSearch(cluster_of("n1", "n2", "n3"))
    assert search.candidates(waiting("p"), 2, terms=False).names == ("n1", "n2")
    assert search.candidates(waiting("p"), 2, terms=False, last={"n1"}).names == ("n2", "n3")
    assert search.candidates(waiting("p"), 3, terms=False, last={"n1"}).names == ("n2", "n3", "n1")


def test_nodes_that_are_kept_for_somebody_else_are_not_offered_and_told() -> None:
    search = CandidateSearch(cluster_of("n1"))
    found = search.candidates(waiting("p"), 2, terms=False, kept={"n1"})
    assert (found.names, found.kept) == ((), 1)


def test_a_node_selector_of_the_user_is_kept() -> None:
    """kueue#4571."""
    book = cluster_of("n1", "n2")
    told_node(book, "n2", {"pool": "gpu"})
    found = CandidateSearch(book).candidates(waiting("p", nodeSelector={"pool": "gpu"}), 8, terms=False)
    assert found.names == ("n2",)


def test_several_nodes_beside_terms_of_the_user_need_labels_that_name_one_node_only() -> None:
    book = cluster_of("n1", "n2", "n3")
    told_node(book, "n1", {"kubernetes.io/hostname": "same"})
    told_node(book, "n2", {"kubernetes.io/hostname": "same"})
    search = CandidateSearch(book)
    assert search.hostnames() == {"n3": "n3"}
    assert search.candidates(waiting("p"), 8, terms=True).names == ("n1",)
    assert search.candidates(waiting("p"), 8, terms=True, last={"n1", "n2"}).names == ("n3",)
    assert search.candidates(waiting("p"), 8, terms=False).names == ("n1", "n2", "n3")


def test_unknown_nodes_come_last_and_only_with_room() -> None:
    book = cluster_of("n1")
    told_node(book, "bare")
    told_node(book, "cordoned", unschedulable=True)
    told_node(book, "tainted", taints=[{"key": "own", "effect": "NoSchedule"}])
    search = CandidateSearch(book)
    assert search.candidates(waiting("p"), 8, terms=False).names == ("n1",)
    report(book, "n1", waiting("large", cpus=120, gates=(), node="n1"))
    found = search.candidates(waiting("p", cpus=100), 8, terms=False)
    assert (found.names, found.unknown) == (("bare",), True)
    book.pod_told(waiting("there", cpus=100, gates=(), node="bare"))
    search.begin_round()
    assert search.candidates(waiting("p", cpus=100), 8, terms=False).names == ()
    never = CandidateSearch(book, unknown_nodes=False)
    assert never.candidates(waiting("p", cpus=100), 8, terms=False).names == ()


def test_what_was_offered_to_an_unknown_node_counts_there() -> None:
    book = cluster_of()
    told_node(book, "bare")
    search = CandidateSearch(book)
    first, second = waiting("p1", cpus=100), waiting("p2", cpus=100)
    book.pod_told(first)
    book.offer(first, ("bare",))
    assert search.candidates(second, 8, terms=False).names == ()


def test_the_pods_of_a_spread_set_go_to_different_zones_before_any_of_them_is_bound() -> None:
    book = cluster_of("a1", "a2", "b1", "c1", zones=True)
    search, zones = CandidateSearch(book), []
    for number in range(6):
        pod = waiting(f"p{number}", labels={"app": "web"}, **spread())
        book.pod_told(pod)
        search.told(pod)
        names = search.candidates(pod, 8, terms=False).names
        book.offer(pod, names)
        search.told(pod)
        assert len({name[0] for name in names}) == 1
        zones.append(names[0][0])
    assert sorted(zones[:3]) == sorted(zones[3:]) == ["a", "b", "c"]


def test_a_zone_that_has_too_many_is_told_apart_from_a_fleet_that_is_full() -> None:
    book = cluster_of("a1", "b1", zones=True)
    report(book, "b1", waiting("large", cpus=120, gates=(), node="b1"))
    book.pod_told(waiting("w1", cpus=1, gates=(), node="a1", labels={"app": "web"}))
    found = CandidateSearch(book).candidates(waiting("p", 100, labels={"app": "web"}, **spread()), 8, terms=False)
    assert (found.names, found.unwished) == ((), 1)


def test_one_that_wants_to_be_alone_keeps_others_away_before_and_after_it_is_bound() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
    alone = waiting("alone", affinity={"podAntiAffinity": {REQUIRED: [term]}})
    book = cluster_of("n1", "n2")
    search = CandidateSearch(book)
    book.pod_told(alone)
    book.offer(alone, ("n1",))
    search.told(alone)
    assert search.candidates(waiting("p"), 8, terms=False).names == ("n2",)
    bound = waiting("alone", gates=(), node="n1")
    book.pod_told(bound)
    search.told(bound)
    assert search.candidates(waiting("p"), 8, terms=False).names == ("n2",)
    search.gone(bound)
    assert set(search.candidates(waiting("p"), 8, terms=False).names) == {"n1", "n2"}


def test_where_many_wait_each_gets_few_names() -> None:
    assert [wanted_names(8, 100, waiting) for waiting in (0, 1, 12, 20, 100, 5000)] == [8, 8, 8, 5, 1, 1]
    assert wanted_names(8, 0, 1) == 1


def test_a_pod_that_was_bound_before_anybody_looked_keeps_others_away() -> None:
    """The scheduler refuses a node whose pods have to be apart from the new one, and so must we."""
    book = cluster_of("n1", "n2")
    apart = {REQUIRED: [{"topologyKey": "kubernetes.io/hostname", "labelSelector": WEB}]}
    book.pod_told(waiting("lonely", gates=(), node="n1", affinity={"podAntiAffinity": apart}))
    book.pod_told(waiting("other", gates=(), node="n2", affinity={"podAntiAffinity": {}}))
    search = CandidateSearch(book)
    for own in book.pods.values():
        search.told(own)
    assert search.candidates(waiting("p", labels={"app": "web"}), 8, terms=False).names == ("n2",)
    assert search.candidates(waiting("q", labels={"app": "db"}), 8, terms=False).names == ("n1", "n2")
