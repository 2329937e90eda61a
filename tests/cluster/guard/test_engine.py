"""What the fleet says of a pod that is held."""

from numafit.cluster.guard.engine import HoldEngine
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import HOLD_GATE, PLACE_GATE
from tests.cluster.guard.looping import owned_object
from tests.cluster.guard.told_cluster import book
from tests.cluster.live.cluster_objects import kept


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
