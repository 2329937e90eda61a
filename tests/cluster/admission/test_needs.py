"""Which pods get the gate of the placer."""

import asyncio
from typing import Any

import pytest

from numafit.cluster.admission.needs import PlaceWish
from numafit.cluster.admission.review import AdmittedPod, reviewed_pod
from numafit.cluster.live.spec import MOST_CONTAINERS, MOST_RULES
from numafit.cluster.live.words import PLACE_GATE
from numafit.fleet.fleet import Fleet
from numafit.fleet.state import state_of
from tests.cluster.admission.reviews import review
from tests.fleet.fleets import ALLOCATABLE, started

STRICT = state_of("strict", *started("single-numa-node"), ALLOCATABLE)
AMOUNTS = {"cpu": "2", "memory": "1Gi"}


class Known:
    """A cluster that is known; `fleet` may be another one at each question."""

    def __init__(self) -> None:
        self.fleet = Fleet().reported("n1", STRICT)
        self.synced = asyncio.Event()
        self.synced.set()
        self.seconds = 0.0

    def wish(self, **more: Any) -> PlaceWish:
        return PlaceWish(self, "numafit", clock=lambda: self.seconds, **more)  # type: ignore[arg-type]


def admitted(
    amounts: dict[str, str] = AMOUNTS, metadata: dict[str, Any] | None = None, namespace: str = "work", **spec: Any
) -> AdmittedPod:
    """As the API server asks: requests are filled in already."""
    container = {"name": "c", "image": "x", "resources": {"requests": amounts, "limits": amounts}}
    told = {"generateName": "p-", **(metadata or {})}
    pod = reviewed_pod(review({"containers": [container], **spec}, told, namespace=namespace))[1]
    assert pod is not None
    return pod


def owned(kind: str) -> dict[str, Any]:
    return {"ownerReferences": [{"apiVersion": "x/v1", "kind": kind, "name": "o", "uid": "o", "controller": True}]}


def test_a_pod_that_some_node_may_refuse_is_gated_and_others_are_not() -> None:
    wish = Known().wish()
    assert wish(admitted()) == (PLACE_GATE,)
    assert wish(admitted(metadata=owned("ReplicaSet"))) == (PLACE_GATE,)
    assert wish(admitted({"cpu": "500m", "memory": "1Gi"}, priority=7)) == (PLACE_GATE,)
    assert wish(admitted({"memory": "1Gi"})) == ()
    assert wish(admitted(nodeSelector={"pool": "other"})) == ()


@pytest.mark.parametrize(
    "pod",
    [
        admitted(metadata=owned("DaemonSet")),
        admitted(metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}),
        admitted(nodeName="n1"),
        admitted(namespace="kube-system"),
        admitted(namespace="numafit"),
    ],
)
def test_some_are_left_alone_whatever_they_want(pod: AdmittedPod) -> None:
    assert Known().wish()(pod) == ()


def test_schedulers_that_are_not_named_keep_their_pods() -> None:
    wish = Known().wish(schedulers=["default-scheduler"])
    assert wish(admitted(schedulerName="default-scheduler")) == (PLACE_GATE,)
    assert wish(admitted(schedulerName="other")) == ()
    assert Known().wish()(admitted(schedulerName="other")) == (PLACE_GATE,)


def test_before_the_cluster_is_known_nobody_is_gated() -> None:
    known = Known()
    known.synced.clear()
    assert known.wish()(admitted()) == ()


def test_what_no_api_server_lets_in_is_left_to_it() -> None:
    assert Known().wish()(admitted({"cpu": "two"})) == ()


def test_an_answer_counts_for_a_moment() -> None:
    known = Known()
    wish = known.wish()
    assert wish(admitted()) == (PLACE_GATE,)
    known.fleet = Fleet()
    known.seconds = 0.5
    assert wish(admitted()) == (PLACE_GATE,)
    assert wish(admitted({"cpu": "3", "memory": "1Gi"})) == ()
    known.seconds = 1.5
    assert wish(admitted()) == ()


@pytest.mark.parametrize(
    "spec",
    [
        {"initContainers": [{"name": f"i{number}", "image": "x"} for number in range(MOST_CONTAINERS)]},
        {"tolerations": [{"key": f"k{number}", "operator": "Exists"} for number in range(MOST_RULES + 1)]},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": f"k{number}", "operator": "DoesNotExist"}]}
                            for number in range(MOST_RULES)
                        ]
                    }
                }
            }
        },
    ],
)
def test_a_pod_over_which_everybody_would_wait_is_left_alone(spec: dict[str, Any]) -> None:
    """Rules are looked at for each node, and whoever makes a pod writes them."""
    assert Known().wish()(admitted(**spec)) == ()
