"""One leader among several, whatever happens to it."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from numafit.cluster.kube import election
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.election import Election
from numafit.cluster.kube.health import ApiHealth
from tests.cluster.kube.scripted_server import eventually, scripted
from tests.cluster.kube.stored_objects import StoredObjects

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/place"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "RENEW_SECONDS", 0.05)
    monkeypatch.setattr(election, "GIVE_UP_SECONDS", 0.4)
    monkeypatch.setattr(election, "LEASE_SECONDS", 1)
    monkeypatch.setattr(election, "HANDOVER_SECONDS", 0.5)
    monkeypatch.setattr(election, "HANDOVER_LOOK_SECONDS", 0.02)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


class Candidate:
    """`at_work` counts how many work at the same moment, over all candidates."""

    at_work = 0

    def __init__(self, api: KubeApi, name: str) -> None:
        self.election = Election(api, "default", "place", name, ApiHealth())
        self.task = asyncio.create_task(self.election.run(self.work))

    async def work(self) -> None:
        Candidate.at_work += 1
        assert Candidate.at_work == 1
        try:
            await asyncio.sleep(1000)
        finally:
            Candidate.at_work -= 1

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def test_one_leads_and_the_next_one_follows_at_once_when_it_ends() -> None:
    async def test() -> None:
        store = StoredObjects()
        async with scripted(store) as (_, api):
            first = Candidate(api, "one")
            await eventually(lambda: first.election.leads)
            second = Candidate(api, "two")
            await asyncio.sleep(1.5)
            assert (first.election.leads, second.election.leads) == (True, False)
            await first.stop()
            assert store.objects[LEASE]["spec"]["holderIdentity"] == ""
            await eventually(lambda: second.election.leads)
            assert store.objects[LEASE]["spec"]["leaseTransitions"] == 2
            await second.stop()

    run(test())


def test_one_that_was_killed_is_followed_after_the_time_of_its_lease() -> None:
    async def test() -> None:
        store = StoredObjects()
        meta = {"name": "place", "namespace": "default", "resourceVersion": "1"}
        store.objects[LEASE] = {"metadata": meta, "spec": {"holderIdentity": "dead", "leaseDurationSeconds": 3}}
        async with scripted(store) as (_, api):
            own = Candidate(api, "one")
            await asyncio.sleep(0.5)
            assert not own.election.leads
            await eventually(lambda: own.election.leads)
            await own.stop()

    run(test())


def test_a_leader_that_cannot_renew_stops_and_leads_again_when_it_can() -> None:
    async def test() -> None:
        store = StoredObjects()
        async with scripted(store) as (_, api):
            own = Candidate(api, "one")
            await eventually(lambda: own.election.leads)
            store.down = True
            await eventually(lambda: not own.election.leads and Candidate.at_work == 0)
            store.down = False
            await eventually(lambda: own.election.leads)
            await own.stop()

    run(test())


def test_a_leader_whose_lease_somebody_took_stops() -> None:
    async def test() -> None:
        store = StoredObjects()
        async with scripted(store) as (_, api):
            own = Candidate(api, "one")
            await eventually(lambda: own.election.leads)
            taken = store.objects[LEASE]
            store._put(LEASE, {**taken, "spec": {"holderIdentity": "other", "leaseDurationSeconds": 1000}})
            await eventually(lambda: not own.election.leads)
            await asyncio.sleep(0.3)
            assert not own.election.leads
            await own.stop()

    run(test())


def test_what_the_work_fails_with_comes_out() -> None:
    async def test() -> None:
        async def work() -> None:
            raise ValueError("a bug")

        async with scripted(StoredObjects()) as (_, api):
            with pytest.raises(ValueError, match="a bug"):
                await Election(api, "default", "place", "one", ApiHealth()).run(work)

    run(test())


def test_a_leader_that_stood_still_is_not_sure_before_it_has_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "SURE_SECONDS", 0.5)

    async def test() -> None:
        store = StoredObjects()
        async with scripted(store) as (_, api):
            own = Candidate(api, "one")
            assert not own.election.sure
            await eventually(lambda: own.election.sure)
            # Nothing of the loop runs meanwhile.
            time.sleep(0.8)
            assert own.election.leads
            assert not own.election.sure
            await eventually(lambda: own.election.sure)
            await own.stop()
            assert not own.election.sure

    run(test())


def test_who_has_ended_learns_whether_another_one_goes_on() -> None:
    async def test() -> None:
        async with scripted(StoredObjects()) as (_, api):
            first = Candidate(api, "one")
            await eventually(lambda: first.election.leads)
            await first.stop()
            assert not await first.election.taken_over()
            second = Candidate(api, "two")
            assert await first.election.taken_over()
            await second.stop()

    run(test())
