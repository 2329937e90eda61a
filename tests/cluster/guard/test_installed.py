"""What has to be there, and how everything is opened."""

import asyncio

import pytest

from numafit.cluster.guard.installed import check_topologies, install, release_all
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.words import HOLD_GATE
from numafit.errors import InputError
from tests.cluster.guard.looping import owned_object
from tests.cluster.guard.recorded_api import Noted, RecordedApi

SERVED = {"resources": [{"name": "mutatingadmissionpolicies"}, {"name": "validatingwebhookconfigurations"}]}


class Cluster:
    """What is not there is made, where that is allowed."""

    def __init__(self, *there: str, served: dict[str, object] = SERVED, allowed: bool = True) -> None:
        self.there, self.served, self.allowed = set(there), served, allowed

    def __call__(self, noted: Noted) -> object:
        if noted.method == "POST":
            return {} if self.allowed else 403
        if noted.path == "/apis/admissionregistration.k8s.io/v1":
            return self.served
        return {} if noted.path.rpartition("/")[2] in self.there else 404


def installed(cluster: Cluster, by_policy: bool = True) -> list[str]:
    api = RecordedApi(cluster)
    asyncio.run(install(api, "numafit", by_policy=by_policy))
    return [own.content["kind"] for own in api.of("POST")]


def test_what_is_missing_is_made() -> None:
    assert installed(Cluster()) == ["Namespace", *["MutatingAdmissionPolicyBinding"] * 2, "MutatingAdmissionPolicy"]
    assert installed(Cluster(), by_policy=False) == ["Namespace"]


def test_a_binding_that_somebody_took_away_is_not_made_again() -> None:
    """That is the switch."""
    assert installed(Cluster("numafit", "numafit-guard-hold")) == []


def test_who_may_not_make_it_is_told_where_it_comes_from() -> None:
    with pytest.raises(InputError) as error:
        installed(Cluster("numafit", allowed=False))
    assert "there is no MutatingAdmissionPolicy numafit-guard-hold" in error.value.message
    assert "numafit guard --enforce --manifest" in error.value.cure


def test_an_older_cluster_is_told_of_the_webhook() -> None:
    with pytest.raises(InputError) as error:
        installed(Cluster("numafit", served={"resources": [{"name": "validatingadmissionpolicies"}]}))
    assert "which Kubernetes has from 1.36 on" in error.value.message
    assert "--by webhook" in error.value.cure


def test_a_cluster_without_node_topologies_is_told_where_they_come_from() -> None:
    with pytest.raises(InputError, match="knows no NodeTopology"):
        asyncio.run(check_topologies(RecordedApi(lambda _: 404)))


def test_everything_is_opened() -> None:
    held, free = owned_object("held", gates=(HOLD_GATE, "other")), owned_object("free", gates=("other",))

    def answer(noted: Noted) -> object:
        if noted.path == "/api/v1/pods":
            return {"metadata": {"resourceVersion": "1"}, "items": [held, free]}
        if noted.method == "GET":
            return {"data": {"enabled": "true", "until": "x", "u1": "hold {}"}}
        return {}

    api = RecordedApi(answer)
    assert asyncio.run(release_all(api, ApiHealth(), "numafit")) == (1, 0)
    first, second = api.of("PATCH")
    assert first.content == {"data": {"u1": None}}
    assert second.path.endswith("/pods/held")
    assert [own.path.rpartition("/")[2] for own in api.of("DELETE")] == ["numafit-guard"]


def test_who_may_not_remove_a_webhook_still_opens_everything() -> None:
    api = RecordedApi(lambda noted: 403 if noted.method == "DELETE" else {"metadata": {}, "items": []})
    assert asyncio.run(release_all(api, ApiHealth(), "numafit")) == (0, 0)
