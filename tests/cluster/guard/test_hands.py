"""What the guard changes, request by request."""

import asyncio

import pytest

from numafit.cluster.guard.hands import GuardHands
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.words import HOLD_GATE
from tests.cluster.guard.looping import gated_pod, owned_object, rejected_pod
from tests.cluster.guard.recorded_api import Answering, Noted, RecordedApi

PATH = "/api/v1/namespaces/team/pods"


def hands(answer: Answering) -> tuple[GuardHands, RecordedApi, ApiHealth]:
    api, health = RecordedApi(answer), ApiHealth()
    return GuardHands(api, health), api, health


def test_only_our_gate_goes_and_only_of_the_version_that_was_seen() -> None:
    own, api, _ = hands(lambda _: {})
    assert asyncio.run(own.release(gated_pod("p"), "it waited"))
    (asked,) = api.noted
    assert (asked.method, asked.path) == ("PATCH", f"{PATH}/p")
    assert asked.content["spec"] == {"schedulingGates": [{"$patch": "delete", "name": HOLD_GATE}]}
    assert asked.content["metadata"]["uid"] == "p"
    assert "resourceVersion" in asked.content["metadata"]
    assert asked.content["metadata"]["annotations"]["numafit.io/released"].endswith("Z it waited")


def test_a_pod_that_has_changed_is_looked_at_again() -> None:
    """The scheduler writes a condition as soon as a gated pod is there."""
    refusals = [409]

    def answer(noted: Noted) -> object:
        if noted.method == "GET":
            return owned_object("p", gates=(HOLD_GATE,))
        return refusals.pop() if refusals else {}

    own, api, _ = hands(answer)
    assert asyncio.run(own.release(gated_pod("p"), ""))
    assert [each.method for each in api.noted] == ["PATCH", "GET", "PATCH"]


@pytest.mark.parametrize(
    "now",
    [
        owned_object("p", node="n1", gates=()),
        owned_object("p"),
        {**owned_object("p", gates=(HOLD_GATE,)), "metadata": {**owned_object("p")["metadata"], "uid": "other"}},
    ],
)
def test_a_pod_that_is_bound_or_another_one_is_not_touched(now: object) -> None:
    own, api, _ = hands(lambda noted: now if noted.method == "GET" else 409)
    assert asyncio.run(own.release(gated_pod("p"), ""))
    assert len(api.of("PATCH")) == 1


def test_one_that_is_gone_needs_nothing() -> None:
    own, _, health = hands(lambda _: 404)
    assert asyncio.run(own.release(gated_pod("p"), ""))
    assert not health.failures


def test_what_fails_is_counted_and_left_for_later() -> None:
    own, _, health = hands(lambda _: 500)
    assert not asyncio.run(own.release(gated_pod("p"), ""))
    assert health.failures == {"500": 1}


def test_a_steered_release_is_tried_for_a_pod_with_annotations_and_without() -> None:
    """Somebody may have given it the first one."""
    refusals = [422]
    own, api, _ = hands(lambda _: refusals.pop() if refusals else {})
    asked: list[bool] = []

    def patch(annotated: bool) -> bytes:
        asked.append(annotated)
        return b"[]"

    assert asyncio.run(own.steer(gated_pod("p"), patch)) == "done"
    assert sorted(asked) == [False, True]
    assert len(api.of("PATCH")) == 2


@pytest.mark.parametrize(
    ("status", "result"), [(422, "refused"), (403, "refused"), (500, "failed"), (429, "failed"), (404, "done")]
)
def test_what_became_of_a_steered_release(status: int, result: str) -> None:
    """Whom the API server refuses it refuses again; who could not ask tries it once more."""
    own, _, _ = hands(lambda _: status)
    assert asyncio.run(own.steer(gated_pod("p"), lambda _: b"[]")) == result


def test_a_leftover_goes_by_its_uid() -> None:
    own, api, _ = hands(lambda _: {})
    assert asyncio.run(own.remove(rejected_pod("p")))
    (asked,) = api.noted
    assert (asked.method, asked.path, asked.content["preconditions"]) == ("DELETE", f"{PATH}/p", {"uid": "p"})


@pytest.mark.parametrize(("status", "gone"), [(404, True), (409, True), (403, False), (500, False)])
def test_a_leftover_that_is_no_more_is_gone(status: int, gone: bool) -> None:
    own, _, _ = hands(lambda _: status)
    assert asyncio.run(own.remove(rejected_pod("p"))) is gone
