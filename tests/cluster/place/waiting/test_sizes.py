"""Objects that say how many pods start together, as they are read."""

import asyncio
from collections.abc import Mapping

import pytest

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.clock import ServerClock
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.place.waiting import sizes
from numafit.cluster.place.waiting.sizes import GroupSizes, group_rules
from numafit.errors import ApiServerError
from numafit.fleet.waiting.members import GroupObject, GroupSize
from tests.cluster.kube.scripted_server import NOWHERE

JOB = GroupObject("Job", "team", "train")


class OneObject(KubeApi):
    """It answers each GET with what a test says."""

    def __init__(self) -> None:
        self.access, self.clock = NOWHERE, ServerClock()
        self.answer: bytes | int = 404
        self.paths: list[str] = []

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        self.paths.append(path)
        if isinstance(self.answer, int):
            raise ApiServerError("no", status=self.answer)
        return self.answer


def test_an_object_is_asked_for_once_and_what_it_says_is_kept() -> None:
    api, asked = OneObject(), list[GroupObject]()
    own = GroupSizes(api, ApiHealth(), asked.append)
    assert (own(JOB), own(JOB), asked) == ("reading", "reading", [JOB])
    api.answer = b'{"spec": {"parallelism": 4, "completions": 4}}'
    assert asyncio.run(own.read(JOB))
    assert api.paths == ["/apis/batch/v1/namespaces/team/jobs/train"]
    assert (own(JOB), asked) == (GroupSize(4), [JOB])
    assert not asyncio.run(own.read(JOB))


@pytest.mark.parametrize("status", [403, 404])
def test_one_that_is_not_there_or_may_not_be_read_says_nothing(status: int) -> None:
    api = OneObject()
    api.answer = status
    own = GroupSizes(api, ApiHealth(), lambda _: None)
    assert asyncio.run(own.read(JOB))
    assert own(JOB) is None


def test_where_nobody_answers_it_is_asked_again() -> None:
    """The pods wait meanwhile: they must not start one by one because an API server was away."""
    api, asked = OneObject(), list[GroupObject]()
    api.answer = 500
    own = GroupSizes(api, ApiHealth(), asked.append)
    assert own(JOB) == "reading"
    assert not asyncio.run(own.read(JOB))
    assert (own(JOB), asked) == ("reading", [JOB, JOB])


def test_one_that_cannot_be_understood_is_counted() -> None:
    api, health = OneObject(), ApiHealth()
    api.answer = b'{"spec": {"parallelism": "many"}}'
    own = GroupSizes(api, health, lambda _: None)
    assert asyncio.run(own.read(JOB))
    assert (own(JOB), health.unreadable) == (None, {"jobs": 1})


def test_what_somebody_waits_for_is_read_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    api, asked = OneObject(), list[GroupObject]()
    own = GroupSizes(api, ApiHealth(), asked.append)
    asyncio.run(own.read(JOB))
    own.again(JOB)
    assert asked == []
    monkeypatch.setattr(sizes, "AGAIN_SECONDS", 0.0)
    own.again(JOB)
    assert asked == [JOB]


def test_it_asks_for_the_right_to_read_and_no_more() -> None:
    assert {verb for rule in group_rules() for verb in rule["verbs"]} == {"get"}
