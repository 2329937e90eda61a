"""PodResources at its socket: errors, gates and limits of the release."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc.aio
import pytest

from numafit.cluster.sim.sockets.lister import TokenBucket
from numafit.cluster.wire import pod_resources_pb2 as wire
from numafit.cluster.wire.services import (
    GET_ALLOCATABLE_RESOURCES,
    GET_POD_RESOURCES,
    LIST_POD_RESOURCES,
    OLD_LIST_POD_RESOURCES,
)
from tests.cluster.device.fake_kubelet import refused
from tests.cluster.sim.nodes import GPU, pod
from tests.cluster.sim.sockets.stage import Stage, serving

LIST = wire.ListPodResourcesRequest()


def asked(stage: Stage, story: Callable[[grpc.aio.Channel], Awaitable[None]]) -> None:
    async def ask() -> None:
        async with (
            serving(stage),
            grpc.aio.insecure_channel(f"unix:{stage.folder}/pod-resources/kubelet.sock") as channel,
        ):
            await story(channel)

    asyncio.run(ask())


def get(name: str) -> wire.GetPodResourcesRequest:
    return wire.GetPodResourcesRequest(pod_name=name, pod_namespace="default")


def test_pods_that_come_and_go_are_listed_and_found(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def story(channel: grpc.aio.Channel) -> None:
        await stage.add(pod("a", cpu="2", gpu="1"))
        rejected = await stage.add(pod("wide", cpu="9"))
        assert rejected.phase == "Failed"
        (found,) = (await LIST_POD_RESOURCES.ask(channel, LIST, 5)).pod_resources
        assert (found.name, list(found.containers[0].cpu_ids)) == ("a", [1, 9])
        assert [each.resource_name for each in found.containers[0].devices] == [GPU]
        one = await GET_POD_RESOURCES.ask(channel, get("a"), 5)
        assert one.pod_resources == found
        both = await OLD_LIST_POD_RESOURCES.ask(channel, LIST, 5)
        assert [each.name for each in both.pod_resources] == ["a", "wide"]
        offered = await GET_ALLOCATABLE_RESOURCES.ask(channel, wire.AllocatableResourcesRequest(), 5)
        assert list(offered.cpu_ids) == [*range(1, 16)]
        expected = ("UNKNOWN", "pod wide in namespace default not found")
        assert await refused(GET_POD_RESOURCES.ask(channel, get("wide"), 5)) == expected

    asked(stage, story)


@pytest.mark.parametrize(
    ("release", "one", "offered"),
    [
        (
            "1.20",
            ("UNIMPLEMENTED", "unknown method Get for service v1.PodResourcesLister"),
            ("UNIMPLEMENTED", "unknown method GetAllocatableResources for service v1.PodResourcesLister"),
        ),
        (
            "1.22",
            ("UNIMPLEMENTED", "unknown method Get for service v1.PodResourcesLister"),
            ("UNKNOWN", "Pod Resources API GetAllocatableResources disabled"),
        ),
        ("1.33", ("UNKNOWN", "PodResources API Get method disabled"), None),
        ("1.35", ("UNKNOWN", "pod nobody in namespace default not found"), None),
    ],
)
def test_each_release_has_its_own_refusals(
    tmp_path: Path, release: str, one: tuple[str, str], offered: tuple[str, str] | None
) -> None:
    async def story(channel: grpc.aio.Channel) -> None:
        assert await refused(GET_POD_RESOURCES.ask(channel, get("nobody"), 5)) == one
        asking = GET_ALLOCATABLE_RESOURCES.ask(channel, wire.AllocatableResourcesRequest(), 5)
        if offered is None:
            await asking
        else:
            assert await refused(asking) == offered

    asked(Stage(tmp_path, release), story)


def test_a_rejected_pod_is_found_by_get_up_to_1_35(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "1.35")

    async def story(channel: grpc.aio.Channel) -> None:
        await stage.add(pod("wide", cpu="9"))
        found = await GET_POD_RESOURCES.ask(channel, get("wide"), 5)
        assert found.pod_resources.name == "wide"
        assert not (await LIST_POD_RESOURCES.ask(channel, LIST, 5)).pod_resources

    asked(stage, story)


def test_too_many_requests_at_once_are_refused_from_1_27(tmp_path: Path) -> None:
    for release, limited in (("1.26", False), ("1.36.4", True)):
        answers: list[str] = []

        async def story(channel: grpc.aio.Channel, answers: list[str] = answers) -> None:
            asks = [LIST_POD_RESOURCES.ask(channel, LIST, 20) for _ in range(200)]
            for answer in await asyncio.gather(*asks, return_exceptions=True):
                if isinstance(answer, grpc.aio.AioRpcError):
                    answers.append(f"{answer.code().name} {answer.details()}")

        asked(Stage(tmp_path / release, release), story)
        assert set(answers) == ({"RESOURCE_EXHAUSTED rejected by rate limit"} if limited else set())


def test_a_bucket_gives_ten_at_once_and_a_hundred_in_a_second() -> None:
    now = [0.0]
    bucket = TokenBucket(lambda: now[0])
    assert [bucket.take() for _ in range(12)] == [True] * 10 + [False] * 2
    now[0] = 0.01
    assert [bucket.take() for _ in range(2)] == [True, False]
    given = 0
    for tick in range(1, 1001):
        now[0] = 0.01 + tick / 1000
        given += bucket.take()
    assert given == 100


def test_list_frees_the_devices_of_pods_that_have_gone(tmp_path: Path) -> None:
    """A kubelet looks for them at each List, so that the next checkpoint does not have them (1.20 to 1.37)."""
    stage = Stage(tmp_path)

    async def story(channel: grpc.aio.Channel) -> None:
        played = await stage.add(pod("a", cpu="2", gpu="1"))
        await stage.turn(lambda now: stage.kubelet.forget(played.uid, now))
        assert played.uid in stage.kubelet.situation.ledger.device.held
        await LIST_POD_RESOURCES.ask(channel, LIST, 5)
        assert played.uid not in stage.kubelet.situation.ledger.device.held

    asked(stage, story)


def test_without_its_gate_there_is_no_socket(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "1.25", {"featureGates": {"KubeletPodResources": False}})

    async def story(_channel: grpc.aio.Channel) -> None:
        assert not (tmp_path / "pod-resources" / "kubelet.sock").exists()

    asked(stage, story)
