"""A copy of all rejected pods."""

import asyncio
import json

import msgspec

from numafit.cluster.guard.failed import RejectedPods
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.reflector import ObjectChange
from numafit.cluster.live.pods import SentPod
from tests.cluster.guard.looping import owned_object
from tests.cluster.guard.recorded_api import RecordedApi


def sent(name: str, reason: str = "TopologyAffinityError") -> SentPod:
    own = owned_object(name, node="n1", phase="Failed", reason=reason)
    return msgspec.json.decode(json.dumps(own), type=SentPod)


def test_each_comes_once_and_goes_once() -> None:
    came: list[str] = []
    went: list[tuple[str, str]] = []

    async def test() -> None:
        own = RejectedPods(
            RecordedApi(), ApiHealth(), lambda pod: came.append(pod.uid), lambda uid, owner: went.append((uid, owner))
        )
        kept = own._keep(sent("a"))
        assert kept is not None
        assert bytes(kept.spec) == b"{}"
        own._changed(ObjectChange("team/a", None, kept))
        again = own._keep(sent("a"))
        own._changed(ObjectChange("team/a", kept, again))
        own._changed(ObjectChange("team/a", again, None))

    asyncio.run(test())
    assert (came, went) == (["a"], [("a", "loop")])


def test_others_that_failed_are_nobodys_business() -> None:
    own = RejectedPods(RecordedApi(), ApiHealth(), lambda _: None, lambda *_: None)
    assert own._keep(sent("a", "Error")) is None


def test_one_that_cannot_be_read_is_counted() -> None:
    health = ApiHealth()
    own = RejectedPods(RecordedApi(), health, lambda _: None, lambda *_: None)
    broken = sent("a")
    broken.spec = msgspec.Raw(b"[]")
    assert own._keep(broken) is None
    assert health.unreadable == {"pods": 1}
