"""Events, as they are written."""

import asyncio

from numafit.cluster.guard.counts import GuardCounts
from numafit.cluster.guard.instructions import Explanation, HoldBegun, LetGo
from numafit.cluster.guard.record import new_record
from numafit.cluster.guard.telling.teller import MOST_WAITING, LoopTeller, News
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.pods import PodController
from tests.cluster.guard.looping import gated_pod, rejected_pod
from tests.cluster.guard.recorded_api import RecordedApi
from tests.cluster.guard.told_cluster import book

OWNER = PodController("StatefulSet", "db", "db", "apps/v1")


def told(*what: News, enforced: bool = True) -> tuple[list[tuple[str, str, str]], GuardCounts]:
    api, counts = RecordedApi(lambda noted: 404 if noted.method == "GET" else {}), GuardCounts()

    async def tell() -> None:
        teller = LoopTeller(api, ApiHealth(), book("n1"), counts, enforced=enforced)
        for own in what:
            teller.tell(own)
        task = asyncio.create_task(teller.run())
        while not teller.idle:
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(tell())
    made = [own.content for own in api.of("POST")]
    assert {own["source"]["component"] for own in made} <= {"numafit-guard"}
    return [(own["involvedObject"]["kind"], own["reason"], own["message"]) for own in made], counts


def test_a_rejection_is_told_to_the_pod_and_to_its_owner() -> None:
    found, counts = told(Explanation(rejected_pod("p", kind="StatefulSet")))
    assert [own[:2] for own in found] == [("Pod", "KubeletRejected"), ("StatefulSet", "KubeletRejected")]
    assert found[0][2] == found[1][2]
    assert counts.explained == 1


def test_a_pod_that_nobody_owns_is_told_alone() -> None:
    found, _ = told(Explanation(rejected_pod("p", kind="")))
    assert [own[0] for own in found] == ["Pod"]


def test_a_job_is_told_how_not_to_fail() -> None:
    found, _ = told(Explanation(rejected_pod("p", kind="Job")))
    assert all("podFailurePolicy" in own[2] for own in found)


def test_a_dry_run_says_so() -> None:
    record = new_record(OWNER, "team")
    found, _ = told(HoldBegun("db", record), LetGo(gated_pod("p"), "end", "x"), enforced=False)
    assert [own[:2] for own in found] == [("StatefulSet", "WouldBeLoopHeld"), ("Pod", "WouldBeLoopReleased")]


def test_more_than_somebody_can_read_is_only_counted() -> None:
    counts = GuardCounts()
    teller = LoopTeller(RecordedApi(), ApiHealth(), book(), counts, enforced=True)
    for number in range(MOST_WAITING + 7):
        teller.tell(Explanation(rejected_pod(f"p{number}")))
    assert counts.unexplained == 7
