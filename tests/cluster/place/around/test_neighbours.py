"""Nodes on which a pod's wishes about other pods hold. The same rules as the scheduler's, 1.36."""

from collections.abc import Sequence

from numafit.cluster.place.around.neighbours import Allowed, Neighbour, PodSurroundings, Wisher, allowed, chosen_names
from numafit.cluster.place.around.wishes import NeighbourWish, PodWishes, SelectorRule, SpreadWish

IS_WEB = (SelectorRule("app", "In", ("web",)),)
WEB = {"app": "web"}
NODES = {f"{zone}{number}": {"zone": zone, "host": f"{zone}{number}"} for zone in "abc" for number in (1, 2)}
SPREAD = SpreadWish("zone", 1, IS_WEB)
NEAR, APART = NeighbourWish("zone", IS_WEB, frozenset({"shop"})), NeighbourWish("host", IS_WEB, frozenset({"shop"}))


def web(*nodes: str, bound: bool = True, leaving: bool = False, apart: tuple[NeighbourWish, ...] = ()) -> Neighbour:
    return Neighbour("shop", WEB, nodes, bound, leaving, apart)


def ask(
    wishes: PodWishes, *pods: Neighbour, suited: Sequence[str] = tuple(NODES), labels: dict[str, str] = WEB
) -> Allowed:
    return allowed(Wisher("shop", labels, wishes), PodSurroundings(NODES, suited, tuple(NODES), pods))


def zones(found: Allowed) -> set[str]:
    return {NODES[name]["zone"] for name in found.nodes}


def test_a_pod_is_spread_into_domains_that_do_not_have_too_many() -> None:
    wishes = PodWishes(spread=(SPREAD,))
    assert zones(ask(wishes)) == {"a", "b", "c"}
    assert zones(ask(wishes, web("a1"))) == {"b", "c"}
    assert zones(ask(wishes, web("a1"), web("b1"), web("c2"))) == {"a", "b", "c"}


def test_only_nodes_that_the_pod_may_use_are_counted() -> None:
    """nodeAffinityPolicy Honor, which is the default."""
    wishes = PodWishes(spread=(SPREAD,))
    assert "a" in zones(ask(wishes, web("a1"), web("b1"), suited=("a1", "b1")))
    ignoring = PodWishes(spread=(SpreadWish("zone", 1, IS_WEB, by_affinity=False),))
    assert "a" not in zones(ask(ignoring, web("a1"), web("b1"), suited=("a1", "b1")))


def test_pods_that_leave_and_those_of_others_do_not_count() -> None:
    wishes = PodWishes(spread=(SPREAD,))
    others = Neighbour("elsewhere", WEB, ("a1",))
    assert zones(ask(wishes, web("a1", leaving=True), others)) == {"a", "b", "c"}


def test_offered_pods_of_one_domain_are_counted_as_if_they_were_there() -> None:
    """Else the fourth of a set would wait until the first three are bound."""
    wishes = PodWishes(spread=(SPREAD,))
    offered = [web("a1", "a2", bound=False), web("b1", bound=False), web("c1", bound=False)]
    assert zones(ask(wishes, *offered)) == {"a", "b", "c"}
    unsure = [web("a1", "b1", bound=False)]
    assert zones(ask(wishes, *unsure)) == {"c"}


def test_the_names_of_a_spread_pod_are_of_one_domain() -> None:
    found = ask(PodWishes(spread=(SPREAD,)), web("a1"))
    assert chosen_names(["a1", "b2", "c1", "b1", "c2"], found, NODES, 8) == ("b2", "b1")
    assert chosen_names(["a1"], found, NODES, 8) == ()


def test_with_a_least_number_of_domains_the_scheduler_must_see_so_many() -> None:
    """It takes the number of pods for 0 in those that it does not see."""
    wishes = PodWishes(spread=(SpreadWish("zone", 1, IS_WEB, least_domains=2),))
    pods = [web(name) for name in ("a1", "a1", "b1", "b1", "c1")]
    found = ask(wishes, *pods)
    assert zones(found) == {"c"}
    assert chosen_names(["a1", "b2", "c1", "c2"], found, NODES, 8) == ("c1", "a1")
    assert chosen_names(["c1", "c2"], found, NODES, 8) == ()
    first = ask(wishes)
    assert chosen_names(["c1", "c2"], first, NODES, 8) == ("c1", "c2")


def test_with_a_least_number_of_domains_one_comes_after_the_other() -> None:
    """Bound in another order, the one with nodes of one domain only would never be bound."""
    wishes = PodWishes(spread=(SpreadWish("zone", 1, IS_WEB, least_domains=2),))
    assert zones(ask(wishes, web("a1", bound=False))) == set()
    assert zones(ask(wishes, web("a1"))) == {"b", "c"}


def test_two_who_must_be_apart_get_different_nodes_also_before_the_first_is_bound() -> None:
    wishes = PodWishes(apart=(APART,))
    assert ask(wishes, web("a1"), web("b1", "b2", bound=False)).nodes == {"a2", "c1", "c2"}


def test_who_wants_nobody_near_keeps_others_away() -> None:
    lonely = web("a1", apart=(NeighbourWish("zone", (), None),))
    assert zones(ask(PodWishes(spread=(SpreadWish("zone", 9, IS_WEB),)), lonely)) == {"b", "c"}


def test_the_first_of_those_that_belong_together_may_go_anywhere_and_the_next_must_follow() -> None:
    wishes = PodWishes(near=(NEAR,))
    first = ask(wishes)
    assert zones(first) == {"a", "b", "c"}
    assert chosen_names(["b1", "a1", "b2"], first, NODES, 8) == ("b1", "b2")
    assert zones(ask(wishes, web("b1", "b2", bound=False))) == {"b"}
    assert zones(ask(wishes, web("a1"), web("c1"))) == {"a", "c"}


def test_nobody_is_near_where_the_pod_itself_is_not_meant() -> None:
    assert ask(PodWishes(near=(NEAR,)), labels={"app": "other"}).nodes == frozenset()


def test_a_node_without_the_label_takes_nobody_who_is_spread_by_it() -> None:
    nodes = {"bare": {}, "a1": {"zone": "a"}}
    wisher = Wisher("shop", WEB, PodWishes(spread=(SPREAD,)))
    assert allowed(wisher, PodSurroundings(nodes, tuple(nodes), tuple(nodes), ())).nodes == {"a1"}
