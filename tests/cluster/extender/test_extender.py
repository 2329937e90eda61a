"""What an extender answers a scheduler."""

import json
from itertools import pairwise

import msgspec
import pytest

from numafit.cluster.extender import extender as extender_module
from numafit.cluster.extender.texts import TEXTS
from numafit.cluster.live.words import NODES_ANNOTATION
from numafit.fleet.orders import PROMISED
from tests.cluster.extender.asked import AskedExtender
from tests.cluster.live.cluster_objects import kept, pod_object


def test_one_node_is_offered_and_counts_at_once() -> None:
    own = AskedExtender()
    assert own.filter(pod_object("a", gpus=8)) == {"NodeNames": ["n1"]}
    assert own.offered(pod_object("b", gpus=8)) == ["n2"]
    assert own.filter(pod_object("c", gpus=8)) == {
        "NodeNames": [],
        "FailedAndUnresolvableNodes": {"n1": TEXTS[PROMISED], "n2": TEXTS[PROMISED]},
    }
    assert own.outcomes() == {"offered": 2, "refused": 1}


def test_only_nodes_that_were_sent_are_offered() -> None:
    own = AskedExtender()
    assert own.offered(pod_object("a", gpus=8), "n2") == ["n2"]
    assert list(own.filter(pod_object("b", gpus=8), "n2")["FailedAndUnresolvableNodes"]) == ["n2"]


def test_several_nodes_are_offered_where_somebody_wants_that_and_the_pod_counts_on_all() -> None:
    own = AskedExtender(3, offer=2)
    assert own.offered(pod_object("a", gpus=8)) == ["n1", "n2"]
    assert own.offered(pod_object("b", gpus=8)) == ["n3"]
    own.bind(pod_object("a", gpus=8), "n2")
    assert own.offered(pod_object("c", gpus=8)) == ["n1"]


def test_all_nodes_that_would_admit_it_are_offered_with_those_that_nobody_knows() -> None:
    own = AskedExtender(3, offer=None)
    assert own.offered(pod_object("a", gpus=8), "x", "n1", "n3") == ["n1", "n3", "x"]


def test_nodes_that_publish_nothing_come_after_those_that_do() -> None:
    own = AskedExtender(1)
    assert own.offered(pod_object("a", gpus=8), "x", "n1", "y") == ["n1"]
    assert own.filter(pod_object("b", gpus=8), "x", "n1", "y") == {"NodeNames": ["x", "y"]}
    assert own.outcomes() == {"offered": 1, "unknown": 1}


def test_a_pod_that_is_asked_about_again_gets_another_node_first() -> None:
    own, pod = AskedExtender(3), pod_object("a", gpus=8)
    assert [own.offered(pod)[0] for _ in range(7)] == ["n1", "n2", "n3", "n1", "n2", "n3", "n1"]
    assert own.offered(pod, "n1") == ["n1"]
    assert len(own.extender.offers) == 1
    assert own.live.fleet.offers == {"a": ("n1",)}


def test_an_offer_ends_when_its_pod_is_gone() -> None:
    own = AskedExtender(1)
    own.live.book.pod_told(kept(pod_object("a", gpus=8)))
    assert own.offered(pod_object("a", gpus=8)) == ["n1"]
    own.gone("a")
    assert own.offered(pod_object("b", gpus=8)) == ["n1"]
    assert len(own.extender.offers) == 1


def test_an_offer_that_nobody_takes_is_withdrawn_in_time_and_what_was_tried_is_remembered() -> None:
    own = AskedExtender(2, seconds=60.0)
    assert own.offered(pod_object("a", gpus=8)) == ["n1"]
    own.time += 59
    own.extender.sweep()
    assert (own.live.fleet.offers, own.extender.offers.expired) == ({"a": ("n1",)}, 0)
    own.time += 2
    own.extender.sweep()
    assert (own.live.fleet.offers, own.extender.offers.expired, len(own.extender.offers)) == ({}, 1, 0)
    assert own.offered(pod_object("a", gpus=8)) == ["n2"]


def test_a_pod_that_is_bound_before_its_offer_ends_counts_until_it_is_reported() -> None:
    own, pod = AskedExtender(1), pod_object("a", gpus=8)
    assert own.offered(pod) == ["n1"]
    bound = own.bind(pod, "n1")
    own.time += 1000
    own.extender.sweep()
    assert own.offered(pod_object("b", gpus=8)) == []
    own.report("n1", bound)
    assert own.offered(pod_object("b", gpus=8)) == []
    own.report("n1")
    assert own.extender.offers.expired == 0


def test_pods_that_need_no_decision_pass_untouched() -> None:
    own = AskedExtender()
    assert own.offered(pod_object("plain", gpus=8), "n2", "x", "n1") == ["n2", "x", "n1"]
    placed = pod_object("placed", gpus=8)
    placed["metadata"]["annotations"] = {NODES_ANNOTATION: "n1,n2"}
    assert own.offered(placed) == ["n1", "n2"]
    assert own.outcomes() == {"not_needed": 2}


def test_before_the_cluster_is_known_and_after_an_error_all_nodes_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    own = AskedExtender(ready=False)
    assert own.offered(pod_object("a", gpus=8)) == ["n1", "n2"]
    own.live.synced.set()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(extender_module, "places", broken)
    assert own.offered(pod_object("b", gpus=8)) == ["n1", "n2"]
    assert own.filter({"metadata": {"name": "c"}, "spec": {"containers": 3}}) == {"NodeNames": ["n1", "n2"]}
    assert own.outcomes() == {"not_ready": 1, "failed": 2}


def test_whole_nodes_are_answered_by_whole_nodes() -> None:
    own = AskedExtender()
    nodes = [{"metadata": {"name": name, "labels": {"a": "b"}}, "spec": {"podCIDR": "x"}} for name in own.names]
    args = {"Pod": pod_object("a", gpus=8), "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": None}
    answer = json.loads(own.extender.filter(json.dumps(args).encode()))
    assert answer == {"Nodes": {"apiVersion": "v1", "kind": "NodeList", "items": nodes[:1]}}
    args["Pod"] = pod_object("plain")
    assert json.loads(own.extender.filter(json.dumps(args).encode()))["Nodes"]["items"] == nodes


def test_the_order_of_the_offer_is_told_by_scores() -> None:
    own, pod = AskedExtender(4, offer=3), pod_object("a", gpus=8)
    assert own.offered(pod) == ["n1", "n2", "n3"]
    args = {"Pod": pod, "NodeNames": ["n3", "n4", "n1", "n2"]}
    scores = json.loads(own.extender.prioritize(json.dumps(args).encode()))
    assert scores == [
        {"Host": "n3", "Score": 1},
        {"Host": "n4", "Score": 0},
        {"Host": "n1", "Score": 10},
        {"Host": "n2", "Score": 5},
    ]


@pytest.mark.parametrize("rubbish", [b"", b"[]", b'{"NodeNames": []}', b'{"Pod": {}, "NodeNames": 3}'])
def test_what_no_scheduler_sends_is_an_error(rubbish: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        AskedExtender().extender.filter(rubbish)


def test_a_refused_pod_is_woken_when_it_fits_and_nobody_asked_again() -> None:
    own, pod = AskedExtender(1), pod_object("b", gpus=8)
    refused = own.extender.refused
    holder = own.bind(pod_object("a", gpus=8), "n1")
    own.report("n1", holder)
    assert own.offered(pod) == []
    own.time += 1
    own.gone("a")
    own.report("n1")
    # The scheduler, which hears of the report, too, has a moment.
    assert refused.to_wake(own.time) == []
    own.time += 1
    assert [found.uid for found in refused.to_wake(own.time)] == ["b"]
    assert refused.to_wake(own.time + 1) == []
    assert own.offered(pod) == ["n1"]
    assert len(refused) == 0


def test_a_refused_pod_that_was_asked_about_since_or_does_not_fit_is_not_woken() -> None:
    own, pod = AskedExtender(1), pod_object("b", gpus=8)
    refused = own.extender.refused
    assert own.offered(pod_object("a", gpus=8)) == ["n1"]
    assert own.offered(pod) == []
    own.time += 1
    own.report("n1")
    own.time += 1
    assert own.offered(pod) == []
    assert (refused.to_wake(own.time), refused.to_wake(own.time)) == ([], [])
    own.report("n1")
    own.time += 1
    assert (refused.to_wake(own.time), refused.to_wake(own.time)) == ([], [])


def test_a_pod_against_which_the_scheduler_has_reasons_of_its_own_is_woken_ever_more_seldom() -> None:
    own = AskedExtender(1)
    pod = pod_object("b", gpus=8)
    holder = own.bind(pod_object("a", gpus=8), "n1")
    own.report("n1", holder)
    assert own.offered(pod) == []
    own.gone("a")
    own.report("n1")
    woken = []
    for _ in range(200):
        own.time += 1
        own.extender.refused.changed(own.time)
        woken += [own.time for _ in own.extender.refused.to_wake(own.time)]
    pauses = [after - before for before, after in pairwise(woken)]
    assert pauses == sorted(pauses)
    assert len(woken) < 8


def test_an_offer_that_ends_wakes_who_was_refused_for_it() -> None:
    own = AskedExtender(1)
    assert own.offered(pod_object("a", gpus=8)) == ["n1"]
    assert own.offered(pod_object("b", gpus=8)) == []
    own.time += 61
    own.extender.sweep()
    own.extender.refused.to_wake(own.time)
    own.time += 1
    assert [found.uid for found in own.extender.refused.to_wake(own.time)] == ["b"]


def test_what_the_next_of_a_row_of_equal_pods_is_told_is_found_before_it_is_asked_about() -> None:
    own = AskedExtender()
    assert [own.offered(pod_object(name)) for name in ("a", "b")] == [["n1"], ["n1"]]
    memory, fleet, before = own.live.memory, own.live.fleet, own.live.memory.decided
    own.extender.prepare()
    prepared = memory.decided
    assert (own.live.fleet, prepared > before) == (fleet, True)
    assert own.offered(pod_object("c")) == ["n1"]
    assert memory.decided == prepared


def test_nothing_is_found_beforehand_for_pods_that_differ() -> None:
    own = AskedExtender()
    for index in range(4):
        own.offered(pod_object(f"p{index}", cpus=2 + 2 * index))
        before = own.live.memory.decided
        own.extender.prepare()
        assert own.live.memory.decided == before


def test_an_error_while_the_next_one_is_prepared_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    own = AskedExtender()
    for name in ("a", "b"):
        own.offered(pod_object(name))

    def broken(*_: object) -> None:
        raise ZeroDivisionError("no")

    with monkeypatch.context() as patched:
        patched.setattr(extender_module, "places", broken)
        own.extender.prepare()
    assert own.counts.last == "ZeroDivisionError: no"
    assert own.offered(pod_object("c")) == ["n1"]
