"""What the fleet says of a pod that is held."""

from typing import Any

import pytest

from numafit.cluster.guard.engine import HoldEngine
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import HOLD_GATE, PLACE_GATE
from numafit.cluster.place.candidates import CandidateSearch, PlacedCluster
from tests.cluster.guard.looping import owned_object
from tests.cluster.guard.told_cluster import book
from tests.cluster.live.cluster_objects import kept
from tests.cluster.place.clusters import cluster_of, waiting


def held(gpus: int = 1, gates: tuple[str, ...] = (HOLD_GATE,)) -> ClusterPod:
    return kept(owned_object("p", gpus=gpus, gates=gates))


def test_nodes_that_can_take_it_are_named() -> None:
    engine = HoldEngine(book("n1", "n2"))
    assert engine.nodes(held()) == ("n1", "n2")
    assert not engine.hopeless(held())


def test_it_is_hopeless_where_every_node_is_known_and_none_can() -> None:
    assert HoldEngine(book("n1")).hopeless(held(gpus=9))
    assert HoldEngine(book("n1")).nodes(held(gpus=9)) == ()


def test_a_node_that_has_not_reported_may_be_tried() -> None:
    engine = HoldEngine(book("n1", untold=("n2",)))
    assert engine.unknown(held(gpus=9)) == 1
    assert not engine.hopeless(held(gpus=9))


def test_where_nobody_reports_nothing_is_known() -> None:
    engine = HoldEngine(book(untold=("n1",)))
    assert engine.nodes(held()) == ()
    assert not engine.hopeless(held(gpus=9))


def test_where_the_placer_has_a_gate_nothing_is_promised() -> None:
    own = book("n1")
    HoldEngine(own).promise(held(gates=(HOLD_GATE, PLACE_GATE)), ("n1",))
    assert own.fleet.offers == {}
    HoldEngine(own).promise(held(), ("n1",))
    assert own.fleet.offers == {"p": ("n1",)}
    HoldEngine(own).take_back(held())
    assert own.fleet.offers == {}


def apart_from_web() -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_who_wants_to_be_apart_is_seen_also_by_one_without_wishes() -> None:
    """The scheduler would refuse that node. Bound before anybody looked, come since, and gone again."""
    own = cluster_of("n1", "n2", "n3")
    own.pod_told(waiting("before", gates=(), node="n1", affinity=apart_from_web()))
    engine = HoldEngine(own)
    web = waiting("p", gates=(HOLD_GATE,), labels={"app": "web"})
    assert engine.nodes(web) == ("n2", "n3")
    since = waiting("since", gates=(), node="n2", affinity=apart_from_web())
    own.pod_told(since)
    engine.told(since)
    assert engine.nodes(web) == ("n3",)
    own.pod_gone("since", now=0)
    engine.gone(since)
    # Of one that was rejected older news may come.
    engine.told(since)
    assert engine.nodes(web) == ("n2", "n3")


def test_one_search_serves_all_that_are_asked_about_until_nobody_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """It indexes all pods of the cluster."""
    made: list[str] = []

    class Counted(CandidateSearch):
        def __init__(self, cluster: PlacedCluster, *, unknown_nodes: bool = True) -> None:
            made.append("search")
            super().__init__(cluster, unknown_nodes=unknown_nodes)

    monkeypatch.setattr("numafit.cluster.guard.engine.CandidateSearch", Counted)
    engine = HoldEngine(book("n1"))
    engine.rest()
    engine.begin_round()
    assert made == []
    engine.nodes(held())
    engine.begin_round()
    engine.nodes(held())
    engine.patch(held(), ("n1",), {}, annotated=False)
    assert made == ["search"]
    engine.rest()
    engine.nodes(held())
    assert made == ["search", "search"]
