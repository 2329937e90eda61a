"""Who stands behind the owner of a pod."""

import asyncio

from numafit.cluster.guard.telling.owners import TopOwners
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectReference
from numafit.cluster.live.pods import PodController
from tests.cluster.guard.recorded_api import Answering, RecordedApi

SET = PodController("ReplicaSet", "web-1", "u1", "apps/v1")


def owned(uid: str, kind: str = "", name: str = "", above: str = "", version: str = "apps/v1") -> dict[str, object]:
    reference = {"apiVersion": version, "kind": kind, "name": name, "uid": above, "controller": True}
    return {"metadata": {"uid": uid, "ownerReferences": [reference] if kind else None}}


def top(owner: PodController, answer: Answering) -> tuple[ObjectReference, RecordedApi]:
    api = RecordedApi(answer)
    return asyncio.run(TopOwners(api, ApiHealth()).top(owner, "team")), api


def test_a_deployment_stands_behind_its_replica_set() -> None:
    found, api = top(SET, lambda _: owned("u1", "Deployment", "web", "u2"))
    assert found == ObjectReference("Deployment", "web", "u2", "team", "apps/v1")
    assert [own.path for own in api.noted] == ["/apis/apps/v1/namespaces/team/replicasets/web-1"]


def test_a_job_set_stands_behind_its_job() -> None:
    job = PodController("Job", "train-0", "u1", "batch/v1")
    found, _ = top(job, lambda _: owned("u1", "JobSet", "train", "u2", "jobset.x-k8s.io/v1alpha2"))
    assert (found.kind, found.name) == ("JobSet", "train")


def test_nobody_stands_behind_what_cannot_be_read() -> None:
    for answer in (404, 403, owned("another"), owned("u1"), []):
        found, _ = top(SET, lambda _, answer=answer: answer)
        assert (found.kind, found.name) == ("ReplicaSet", "web-1")


def test_an_owner_is_asked_for_once() -> None:
    api = RecordedApi(lambda _: owned("u1", "Deployment", "web", "u2"))

    async def twice() -> None:
        own = TopOwners(api, ApiHealth())
        await own.top(SET, "team")
        await own.top(SET, "team")

    asyncio.run(twice())
    assert len(api.noted) == 1
