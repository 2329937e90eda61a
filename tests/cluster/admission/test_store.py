"""The Secret that replicas share: one certificate for all, whatever anybody does to it."""

import asyncio
import base64
from collections.abc import Coroutine
from typing import Any

import pytest

from numafit.cluster.admission.certificate import ServerCertificate
from numafit.cluster.admission.counts import AdmissionCounts
from numafit.cluster.admission.store import BETWEEN_SECONDS, CertificateStore, certificates
from numafit.cluster.kube.api import KubeApi
from numafit.errors import ApiServerError
from tests.cluster.admission.objects import OPTIONS, SECRET, SECRETS, AdmissionObjects
from tests.cluster.kube.scripted_server import Asked, scripted

NOW = 1_800_000_000.0
DAY = 86400.0


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def store(api: KubeApi, clock: Clock, counts: AdmissionCounts | None = None) -> CertificateStore:
    return CertificateStore(api, OPTIONS.namespace, OPTIONS.secret, OPTIONS.hosts, counts or AdmissionCounts(), clock)


def kept(objects: AdmissionObjects) -> tuple[ServerCertificate, ...]:
    return certificates(objects.objects[SECRET]["data"])


def test_replicas_that_begin_together_take_the_same() -> None:
    async def test() -> None:
        objects, counts = AdmissionObjects(), AdmissionCounts()
        async with scripted(objects) as (_, api):
            found = await asyncio.gather(*(store(api, Clock(), counts).look() for _ in range(8)))
        assert set(found) == {kept(objects)}
        assert len(kept(objects)) == 1
        assert counts.certificates == 1
        secret = objects.objects[SECRET]
        assert secret["type"] == "kubernetes.io/tls"
        assert set(secret["data"]) == {"ca.crt", "tls.crt", "tls.key"}

    run(test())


def test_it_is_renewed_once_and_the_one_before_goes_a_day_later() -> None:
    async def test() -> None:
        objects, counts, clock = AdmissionObjects(), AdmissionCounts(), Clock()
        async with scripted(objects) as (_, api):
            replicas = [store(api, clock, counts) for _ in range(3)]
            (first,) = await replicas[0].look()
            clock.now = first.renewal + 1
            # The one that made the first has waited for long enough since.
            replicas[0]._made -= BETWEEN_SECONDS
            found = await asyncio.gather(*(own.look() for own in replicas))
            assert set(found) == {kept(objects)}
            assert kept(objects)[1] == first
            assert counts.certificates == 2
            clock.now += 2 * DAY
            found = await asyncio.gather(*(own.look() for own in replicas))
            assert set(found) == {kept(objects)}
            assert len(kept(objects)) == 1
            assert counts.certificates == 2
            assert "previous-tls.key" not in objects.objects[SECRET]["data"]

    run(test())


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"tls.crt": "", "tls.key": "", "ca.crt": ""},
        {"tls.crt": "%%%", "tls.key": 7, "ca.crt": None},
        {"tls.crt": base64.b64encode(b"nonsense").decode()},
    ],
)
def test_one_that_was_emptied_or_damaged_is_made_anew(data: Any) -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        async with scripted(objects) as (_, api):
            own = store(api, Clock())
            (before,) = await own.look()
            objects.objects[SECRET]["data"] = data
            (after,) = await own.look()
        assert after != before
        assert kept(objects) == (after,)

    run(test())


def test_of_two_only_the_damaged_one_is_lost() -> None:
    async def test() -> None:
        objects, clock = AdmissionObjects(), Clock()
        async with scripted(objects) as (_, api):
            (first,) = await store(api, clock).look()
            clock.now = first.renewal + 1
            second, _ = await store(api, clock).look()
            objects.objects[SECRET]["data"]["tls.key"] = ""
            third, kept_first = await store(api, clock).look()
        assert kept_first == first
        assert third not in (first, second)

    run(test())


def test_a_clock_that_is_wrong_does_not_make_one_after_the_other() -> None:
    """Two replicas a year apart: to each the other's certificate is none."""

    async def test() -> None:
        objects, counts, far = AdmissionObjects(), AdmissionCounts(), Clock()
        far.now = NOW + 400 * DAY
        async with scripted(objects) as (_, api):
            right, wrong = store(api, Clock(), counts), store(api, far, counts)
            for _ in range(20):
                await right.look()
                await wrong.look()
        assert counts.certificates == 2

    run(test())


def test_what_may_not_be_done_is_said_and_nothing_is_written() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        objects.forbidden = {("POST", SECRETS)}
        async with scripted(objects) as (_, api):
            with pytest.raises(ApiServerError, match="cannot post"):
                await store(api, Clock()).look()
            assert SECRET not in objects.objects

    run(test())


def test_one_that_is_deleted_in_the_middle_is_made_again() -> None:
    async def test() -> None:
        objects = AdmissionObjects()

        def delete(asked: Asked) -> None:
            if asked.method == "PATCH":
                objects.objects.pop(SECRET, None)

        async with scripted(objects) as (_, api):
            await store(api, Clock()).look()
            objects.objects[SECRET]["data"] = None
            objects.before = delete
            found = await store(api, Clock()).look()
        assert kept(objects) == found

    run(test())


def test_somebody_who_changes_it_all_the_time_ends_it_with_a_sentence() -> None:
    async def test() -> None:
        objects = AdmissionObjects()

        def change(asked: Asked) -> None:
            if asked.method == "PATCH":
                objects._put(SECRET, objects.objects[SECRET])

        async with scripted(objects) as (_, api):
            await store(api, Clock()).look()
            objects.objects[SECRET]["data"] = None
            objects.before = change
            with pytest.raises(ApiServerError, match="others change it"):
                await store(api, Clock()).look()

    run(test())


def test_it_is_removed_also_when_it_is_not_there() -> None:
    async def test() -> None:
        objects = AdmissionObjects()
        async with scripted(objects) as (_, api):
            own = store(api, Clock())
            await own.look()
            await own.remove()
            assert SECRET not in objects.objects
            await own.remove()

    run(test())
