"""The webhook as a whole, on a server that a test plays: certificates, configuration, and answers whatever happens."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.admission import store, webhook
from numafit.cluster.admission.certificate import ServerCertificate, made_certificate
from numafit.cluster.admission.review import AdmittedPod
from numafit.cluster.admission.store import PARTS, certificates
from numafit.cluster.admission.webhook import Webhook, Wish
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.up.ports import free_ports
from numafit.errors import InputError
from tests.cluster.admission.objects import CONFIGURATION, OPTIONS, SECRET, AdmissionObjects
from tests.cluster.admission.played import connected, run
from tests.cluster.admission.reviews import GATE, HOLD, review
from tests.cluster.kube.scripted_server import eventually, scripted

QUICK = replace(OPTIONS, address="127.0.0.1")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "LIMITS", replace(webhook.LIMITS, drain_seconds=0.0))
    monkeypatch.setattr(webhook, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(webhook, "SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(webhook, "FORGET_SECONDS", 5.0)


def gated(pod: AdmittedPod) -> tuple[str, ...]:
    return (GATE,)


@asynccontextmanager
async def running(objects: AdmissionObjects, *wishes: Wish, **more: Any) -> AsyncIterator[tuple[Webhook, int]]:
    (port,) = free_ports(1)
    async with scripted(objects) as (_, api):
        own = Webhook(api, ApiHealth(), replace(QUICK, port=port), *wishes, **more)
        task = asyncio.create_task(own.run())
        try:
            yield own, port
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def trusted(objects: AdmissionObjects) -> bytes:
    """By the API server."""
    return base64.b64decode(objects.objects[CONFIGURATION]["webhooks"][0]["clientConfig"]["caBundle"])


async def asked(objects: AdmissionObjects, port: int, content: bytes) -> Any:
    """As the API server does: it trusts what the configuration says, and knows the name of the Service."""
    client = await connected(port, trusted(objects), OPTIONS.hosts[0])
    try:
        status, found = await client.ask(content)
        assert status == 200
        return json.loads(found)["response"]
    finally:
        await client.close()


def test_a_pod_is_asked_about_and_gets_what_is_wished() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        async with running(objects, gated, lambda pod: (HOLD,)) as (own, port):
            await own.ready.wait()
            response = await asked(objects, port, review())
            assert response["allowed"] is True
            gates = json.loads(base64.b64decode(response["patch"]))[0]["value"]
            assert gates == [{"name": GATE}, {"name": HOLD}]
            assert own.counts.reviews["gated"] == 1
            client = await connected(port, trusted(objects), OPTIONS.hosts[0])
            assert (await client.ask(b"", method="GET"))[0] == 405
            await client.close()
            assert own.trouble == ""

    run(test())


def test_each_path_has_its_own_wishes() -> None:
    async def test() -> None:
        async with scripted(AdmissionObjects()) as (_, api):
            own = Webhook(api, ApiHealth(), QUICK, gated, others={"/hold": (lambda pod: (HOLD,),)})
            for path, gate in (("/pods", GATE), ("/hold", HOLD)):
                answer = json.loads(own.reply(path, review()).content)["response"]
                assert json.loads(base64.b64decode(answer["patch"]))[0]["value"] == [{"name": gate}]
            assert own.reply("/other", review()).content == b"there is /pods and /hold\n"

    run(test())


def test_whatever_goes_wrong_the_pod_is_let_in() -> None:
    """And one that fails does not keep back what the others wish."""

    def fails(pod: AdmittedPod) -> tuple[str, ...]:
        raise ZeroDivisionError("a bug")

    async def test() -> None:
        async with scripted(AdmissionObjects()) as (_, api):
            own = Webhook(api, ApiHealth(), QUICK, fails, gated)
            answer = json.loads(own.reply("/pods", review()).content)["response"]
            assert (answer["allowed"], "patch" in answer) == (True, True)
            assert (own.counts.reviews["failed"], own.counts.last) == (1, "ZeroDivisionError: a bug")

            damaged = b'{"request": {"uid": "u1", "operation": "CREATE", "object": {"spec": 3}}}'
            answer = json.loads(own.reply("/pods", damaged).content)["response"]
            assert answer == {"uid": "u1", "allowed": True}
            assert own.reply("/pods", b"nonsense").status == 400
            assert own.counts.reviews["unreadable"] == 2

            bound = review({"containers": [], "nodeName": "n1"})
            assert json.loads(own.reply("/pods", bound).content)["response"] == {"uid": "u1", "allowed": True}
            assert json.loads(own.reply("/pods", review(operation="DELETE")).content)["response"]["allowed"]
            assert own.reply("/other", review()).status == 404

    run(test())


def test_a_certificate_is_renewed_while_questions_come() -> None:
    """Whoever trusts what the configuration says gets an answer at each moment, from each of two replicas."""

    async def test() -> None:
        objects = AdmissionObjects()
        async with (
            running(objects, gated) as (one, first),
            running(objects, gated, keeps=lambda: False) as (two, second),
        ):
            await asyncio.gather(one.ready.wait(), two.ready.wait())
            (before,) = certificates(objects.objects[SECRET]["data"])
            renew_early(objects)
            one._store._made = two._store._made = -store.BETWEEN_SECONDS
            shown = set()
            async with asyncio.timeout(40):
                while {own._shown for own in (one, two)} & {None, before} or len(shown) < 2:
                    for port in (first, second):
                        assert (await asked(objects, port, review()))["allowed"]
                    shown |= {own._shown for own in (one, two)}
            after = certificates(objects.objects[SECRET]["data"])
            assert {one._shown, two._shown} == {after[0]}
            assert one.counts.certificates + two.counts.certificates == 2

    run(test())


def renew_early(objects: AdmissionObjects) -> None:
    """As if two thirds of its life were over: the one that is there does not name the host."""
    (own,) = certificates(objects.objects[SECRET]["data"])
    data = objects.objects[SECRET]["data"]
    ending = made_certificate(own.names, own.begin - 70 * 86400)
    for name, content in zip(PARTS[0], (ending.authority, ending.certificate, ending.key), strict=True):
        data[name] = base64.b64encode(content).decode()


def test_a_secret_that_is_emptied_leaves_no_gap() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        async with running(objects, gated) as (own, port):
            await own.ready.wait()
            before = own._shown
            objects.objects[SECRET]["data"] = None
            async with asyncio.timeout(40):
                while own._shown == before:
                    assert (await asked(objects, port, review()))["allowed"]
            assert isinstance(own._shown, ServerCertificate)
            # What was taken away is not trusted for ever.
            assert isinstance(before, ServerCertificate)
            await eventually(lambda: before.authority not in trusted(objects))
            assert (await asked(objects, port, review()))["allowed"]

    run(test())


def test_a_configuration_that_somebody_changed_is_put_right() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        async with running(objects, gated) as (own, _):
            await own.ready.wait()
            objects.objects[CONFIGURATION]["webhooks"][0]["clientConfig"].pop("caBundle")
            await eventually(lambda: "caBundle" in objects.objects[CONFIGURATION]["webhooks"][0]["clientConfig"])
            del objects.objects[CONFIGURATION]
            await eventually(lambda: CONFIGURATION in objects.objects)

    run(test())


def test_only_who_keeps_the_configuration_writes_it() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        async with running(objects, gated, keeps=lambda: False) as (own, _):
            await eventually(lambda: own._shown is not None)
            await asyncio.sleep(0.1)
            assert CONFIGURATION not in objects.objects
            assert not own.ready.is_set()
            assert own.trouble == ""

    run(test())


def test_a_right_that_is_missing_is_told_and_tried_again() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        objects.forbidden = {("PATCH", CONFIGURATION)}
        async with running(objects, gated) as (own, _):
            await eventually(lambda: "cannot patch" in own.trouble)
            objects.forbidden = set()
            await own.ready.wait()
            await eventually(lambda: own.trouble == "")

    run(test())


def test_an_api_server_that_is_away_stops_nothing() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        async with running(objects, gated) as (own, port):
            await own.ready.wait()
            objects.down = True
            await eventually(lambda: own.trouble != "")
            assert (await asked(objects, port, review()))["allowed"]
            objects.down = False
            await eventually(lambda: own.trouble == "")

    run(test())


def test_all_is_removed_again() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        async with running(objects, gated) as (own, _):
            await own.ready.wait()
        async with scripted(objects) as (_, api):
            await Webhook(api, ApiHealth(), QUICK).remove()
        assert SECRET not in objects.objects
        assert CONFIGURATION not in objects.objects

    run(test())


def test_a_port_that_is_taken_ends_it_with_a_sentence() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        async with running(objects, gated) as (own, port), scripted(objects) as (_, api):
            await own.ready.wait()
            with pytest.raises(InputError, match="cannot listen"):
                await Webhook(api, ApiHealth(), replace(QUICK, port=port)).run()

    run(test())
