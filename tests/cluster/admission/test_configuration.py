"""The configuration as it should be, and kept so."""

import asyncio
import base64
from collections.abc import Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.admission.configuration import ConfigurationKeeper, configuration, holds
from numafit.cluster.admission.counts import AdmissionCounts
from numafit.cluster.admission.options import GUARD_CONDITIONS, OtherQuestion
from numafit.errors import ApiServerError
from tests.cluster.admission.objects import CONFIGURATION, NAMESPACE, OPTIONS, AdmissionObjects
from tests.cluster.kube.scripted_server import scripted

BUNDLE = b"-----BEGIN CERTIFICATE-----\n"


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def webhook(**options: Any) -> dict[str, Any]:
    found = configuration(replace(OPTIONS, **options), BUNDLE)["webhooks"]
    assert len(found) == 1
    own: dict[str, Any] = found[0]
    return own


def test_it_fails_open_within_a_second_and_asks_about_new_pods_only() -> None:
    own = webhook()
    assert (own["failurePolicy"], own["timeoutSeconds"], own["sideEffects"]) == ("Ignore", 1, "None")
    assert (own["matchPolicy"], own["reinvocationPolicy"]) == ("Equivalent", "IfNeeded")
    assert [(rule["operations"], rule["resources"]) for rule in own["rules"]] == [(["CREATE"], ["pods"])]
    assert base64.b64decode(own["clientConfig"]["caBundle"]) == BUNDLE


def test_it_is_reached_by_a_service_or_by_an_address() -> None:
    service = {"namespace": "numafit", "name": "numafit-place", "path": "/pods", "port": 443}
    assert webhook()["clientConfig"]["service"] == service
    by_address = webhook(url="https://10.0.0.7:9443/")["clientConfig"]
    assert (by_address["url"], "service" in by_address) == ("https://10.0.0.7:9443/pods", False)


def test_namespaces_are_in_unless_they_say_no_or_only_if_they_say_yes() -> None:
    never = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "numafit"]}
    out = {"key": "numafit.io/place", "operator": "NotIn", "values": ["disabled"]}
    only = {"key": "numafit.io/guard", "operator": "In", "values": ["enabled"]}
    assert webhook()["namespaceSelector"]["matchExpressions"] == [never, out]
    assert webhook(opt_in=True, label="numafit.io/guard")["namespaceSelector"]["matchExpressions"] == [never, only]
    system = webhook(namespace="kube-system")["namespaceSelector"]["matchExpressions"][0]
    assert system["values"] == ["kube-system"]


def test_who_asks_chooses_the_conditions() -> None:
    names = [own["name"] for own in webhook(conditions=GUARD_CONDITIONS)["matchConditions"]]
    assert names == ["has-no-node", "is-of-no-daemon-set", "has-a-controller"]


def test_another_question_has_a_path_namespaces_and_conditions_of_its_own() -> None:
    """Loops are held where pods are not placed, too: each label leaves out its own question only."""
    also = OtherQuestion("/hold", "numafit.io/guard", False, GUARD_CONDITIONS)
    first, second = configuration(replace(OPTIONS, also=(also,)), BUNDLE)["webhooks"]
    assert first == webhook()
    assert (first["name"], second["name"]) == (
        "numafit-place.webhook.numafit.io",
        "hold.numafit-place.webhook.numafit.io",
    )
    assert second["clientConfig"]["service"]["path"] == "/hold"
    assert [own["key"] for own in second["namespaceSelector"]["matchExpressions"]][1:] == ["numafit.io/guard"]
    assert [own["name"] for own in second["matchConditions"]][2:] == ["has-a-controller"]


def test_what_the_api_server_adds_is_no_difference() -> None:
    wanted = configuration(OPTIONS, BUNDLE, "uid")
    found = configuration(OPTIONS, BUNDLE, "uid")
    found["metadata"] |= {"resourceVersion": "7", "managedFields": []}
    found["webhooks"][0]["rules"][0]["more"] = 1
    del found["webhooks"][0]["objectSelector"]
    assert holds(found, wanted)
    for change in (
        {"clientConfig": {"service": {}}},
        {"failurePolicy": "Fail"},
        {"timeoutSeconds": 10},
        {"matchConditions": []},
        {"namespaceSelector": {}},
    ):
        assert not holds({**found, "webhooks": [{**found["webhooks"][0], **change}]}, wanted)
    assert not holds({**found, "webhooks": []}, wanted)
    assert not holds({}, wanted)


def test_it_is_written_once_and_put_right_where_somebody_changed_it() -> None:
    async def test() -> None:
        objects, counts = AdmissionObjects(), AdmissionCounts()
        async with scripted(objects) as (server, api):
            keeper = ConfigurationKeeper(api, OPTIONS, counts)
            assert await keeper.look() == b""
            assert await keeper.kept(BUNDLE) == BUNDLE
            assert await keeper.kept(BUNDLE) == BUNDLE
            assert counts.applied == 1
            applied = [own for own in server.asked if own.method == "PATCH"]
            assert applied[0].target.endswith("?fieldManager=numafit-webhook&force=true")
            owner = objects.objects[CONFIGURATION]["metadata"]["ownerReferences"]
            assert owner == [{"apiVersion": "v1", "kind": "Namespace", "name": "numafit", "uid": "namespace-uid"}]

            del objects.objects[CONFIGURATION]["webhooks"][0]["clientConfig"]["caBundle"]
            assert await keeper.look() == b""
            assert await keeper.kept(BUNDLE) == BUNDLE
            del objects.objects[CONFIGURATION]
            assert await keeper.kept(BUNDLE + b"more") == BUNDLE + b"more"
            assert counts.applied == 3
            await keeper.remove()
            await keeper.remove()
            assert CONFIGURATION not in objects.objects

    run(test())


def test_without_a_look_at_the_namespace_it_has_no_owner() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        objects.forbidden = {("GET", NAMESPACE)}
        async with scripted(objects) as (_, api):
            await ConfigurationKeeper(api, OPTIONS, AdmissionCounts()).kept(BUNDLE)
        assert "ownerReferences" not in objects.objects[CONFIGURATION]["metadata"]

    run(test())


def test_a_right_that_is_missing_is_said() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        objects.forbidden = {("PATCH", CONFIGURATION)}
        async with scripted(objects) as (_, api):
            with pytest.raises(ApiServerError, match="cannot patch"):
                await ConfigurationKeeper(api, OPTIONS, AdmissionCounts()).kept(BUNDLE)

    run(test())


def test_a_namespace_that_was_made_anew_owns_it_by_its_new_uid() -> None:
    """By the old one the garbage collector would take it away again and again."""

    async def test() -> None:
        objects = AdmissionObjects()
        async with scripted(objects) as (_, api):
            keeper = ConfigurationKeeper(api, OPTIONS, AdmissionCounts())
            await keeper.kept(BUNDLE)
            del objects.objects[CONFIGURATION]
            objects.objects[NAMESPACE]["metadata"]["uid"] = "another-uid"
            await keeper.kept(BUNDLE)
            (owner,) = objects.objects[CONFIGURATION]["metadata"]["ownerReferences"]
            assert owner["uid"] == "another-uid"

    run(test())
