"""What a pod wants of other pods, as its spec tells it."""

import json
from typing import Any

from numafit.cluster.place.around.wishes import NO_WISHES, NeighbourWish, SelectorRule, SpreadWish, read_wishes, selects

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"matchLabels": {"app": "web"}}
IS_WEB = (SelectorRule("app", "In", ("web",)),)


def read(**spec: Any) -> Any:
    return read_wishes(json.dumps(spec).encode(), "shop", {"app": "web", "hash": "1"})


def test_soft_wishes_are_left_to_the_scheduler() -> None:
    soft = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": WEB}
    assert not read(topologySpreadConstraints=[soft], affinity={"nodeAffinity": {}})
    assert read() is NO_WISHES


def test_a_hard_spread_counts_by_the_defaults_of_the_scheduler() -> None:
    hard = {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": WEB}
    assert read(topologySpreadConstraints=[hard]).spread == (SpreadWish("zone", 2, IS_WEB),)
    more = {
        **hard,
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["hash"],
    }
    selector = (*IS_WEB, SelectorRule("hash", "In", ("1",)))
    assert read(topologySpreadConstraints=[more]).spread == (SpreadWish("zone", 2, selector, 3, False, True),)


def test_neighbours_are_in_the_own_namespace_unless_others_are_named() -> None:
    terms = [
        {"topologyKey": "host", "labelSelector": WEB},
        {"topologyKey": "host", "labelSelector": WEB, "namespaces": ["a", "b"]},
        {"topologyKey": "host", "labelSelector": WEB, "namespaceSelector": {}},
        {"topologyKey": "host", "labelSelector": WEB, "namespaceSelector": {"matchLabels": {"x": "y"}}},
    ]
    found = read(affinity={"podAntiAffinity": {REQUIRED: terms}})
    assert found.apart == (
        NeighbourWish("host", IS_WEB, frozenset({"shop"})),
        NeighbourWish("host", IS_WEB, frozenset({"a", "b"})),
        NeighbourWish("host", IS_WEB, None),
    )
    assert found.near == ()


def test_labels_that_must_differ_are_taken_from_the_pod_itself() -> None:
    terms = [{"topologyKey": "host", "labelSelector": {}, "mismatchLabelKeys": ["hash"]}]
    (wish,) = read(affinity={"podAffinity": {REQUIRED: terms}}).near
    assert wish.means("shop", {"hash": "2"})
    assert not wish.means("shop", {"hash": "1"})


def test_a_selector_holds_as_the_api_has_it() -> None:
    rules = [("In", ("1",)), ("NotIn", ("2",)), ("Exists", ())]
    assert selects(tuple(SelectorRule("x", operator, values) for operator, values in rules), {"x": "1"})
    assert selects((SelectorRule("x", "NotIn", ("2",)), SelectorRule("x", "DoesNotExist", ())), {})
    assert selects((), {"any": "pod"})
    assert not selects(None, {})
    assert not selects((SelectorRule("x", "Gt", ("1",)),), {"x": "2"})
