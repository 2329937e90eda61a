"""Whether a Job makes another pod where one is deleted before it ran, and does not count it as failed."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.pods import ClusterPod, PodController
from numafit.cluster.place import successors
from numafit.cluster.place.successors import Successors
from tests.cluster.place.clusters import waiting
from tests.cluster.place.played import PlayedApi, PlayedFleet

IGNORED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
BY_CODE = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
OTHER = {"action": "FailJob", "onPodConditions": [{"type": "ConfigIssue", "status": "True"}]}


def owned(kind: str, group: str = "batch/v1") -> ClusterPod:
    return replace(waiting("p"), owner=PodController(kind, "train", "uid-train", group))


def found(pod: ClusterPod, job: dict[str, Any] | None, refuse: int | None = None) -> list[bool | None]:
    """What is known before the Job was read, and after that."""

    async def ask() -> list[bool | None]:
        api, asked = PlayedApi(PlayedFleet()), list[ClusterPod]()
        api.refuse = lambda _: refuse
        if job is not None:
            api.objects["/apis/batch/v1/namespaces/team/jobs/train"] = job
        own = Successors(api, ApiHealth(), asked.append)
        before = own.forgives(pod)
        for each in asked:
            await own.read(each)
        return [before, own.forgives(pod)]

    return asyncio.run(ask())


def job_with(*rules: dict[str, Any], uid: str = "uid-train") -> dict[str, Any]:
    policy = {"podFailurePolicy": {"rules": list(rules)}} if rules else {}
    return {"metadata": {"name": "train", "uid": uid}, "spec": {"backoffLimit": 6, **policy}}


@pytest.mark.parametrize(
    ("job", "forgives"),
    [
        (job_with(), False),
        (job_with(IGNORED), True),
        (job_with(BY_CODE, IGNORED), True),
        (job_with(OTHER, IGNORED), False),
        (job_with({**IGNORED, "action": "Count"}), False),
        (job_with(IGNORED, uid="another"), False),
        (None, False),
    ],
)
def test_a_job_forgives_whom_its_first_rule_about_conditions_ignores(
    job: dict[str, Any] | None, forgives: bool
) -> None:
    assert found(owned("Job"), job) == [None, forgives]


def test_where_nobody_answers_it_is_not_known() -> None:
    assert found(owned("Job"), job_with(IGNORED), refuse=500) == [None, None]
    assert found(owned("Job"), job_with(IGNORED), refuse=403) == [None, False]


def test_nobody_is_asked_of_pods_that_belong_to_no_job() -> None:
    assert found(owned("ReplicaSet", "apps/v1"), None) == [False, False]
    assert found(replace(owned("Job"), owner=None), None) == [False, False]
    assert found(owned("Job", "batch.volcano.sh/v1alpha1"), job_with(IGNORED)) == [False, False]


def test_a_job_is_read_once_and_one_that_may_not_be_read_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        api, asked = PlayedApi(PlayedFleet()), list[ClusterPod]()
        api.objects["/jobs/train"] = job_with(IGNORED)
        own, pod = Successors(api, ApiHealth(), asked.append), owned("Job")

        async def read() -> int:
            """How often it was asked for."""
            own.forgives(pod)
            number = len(asked)
            for each in asked:
                await own.read(each)
            asked.clear()
            return number

        api.refuse = lambda _: 403
        assert [await read(), await read(), own.forgives(pod)] == [1, 0, False]
        own = Successors(api, ApiHealth(), asked.append)
        monkeypatch.setattr(successors, "AGAIN_SECONDS", 0.0)
        assert [await read(), await read()] == [1, 1]
        api.refuse = lambda _: None
        assert [await read(), await read(), own.forgives(pod)] == [1, 0, True]

    asyncio.run(test())


def test_only_some_jobs_are_read_at_the_same_time() -> None:
    asked: list[ClusterPod] = []
    own = Successors(PlayedApi(PlayedFleet()), ApiHealth(), asked.append)
    for number in range(100):
        assert own.forgives(replace(owned("Job"), owner=PodController("Job", "j", f"uid-{number}", "batch/v1"))) is None
    assert len(asked) == 64
