"""Plugins that register with a simulated kubelet: taken or refused, listed, ended, replaced, forgotten."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from numafit.cluster.sim.sockets import remote
from numafit.cluster.sim.sockets.registry import registration_problem
from numafit.cluster.wire import device_plugin_pb2 as wire
from numafit.quantity import quantity_of
from tests.cluster.device.fake_kubelet import refused, until
from tests.cluster.sim.sockets.stage import FPGA, Stage, device, serving


def told(folder: Path, story: Callable[[Stage], Awaitable[None]], release: str = "1.36.4", grace: float = 300) -> Stage:
    stage = Stage(folder, release)

    async def tell() -> None:
        async with serving(stage, grace_seconds=grace):
            await story(stage)

    asyncio.run(tell())
    return stage


@pytest.mark.parametrize(
    ("version", "resource", "text"),
    [
        ("v1beta1", FPGA, ""),
        (
            "v1alpha",
            FPGA,
            'requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]',
        ),
        ("v1beta1", "fpga", 'the ResourceName "fpga" is invalid'),
        ("v1beta1", "kubernetes.io/fpga", 'the ResourceName "kubernetes.io/fpga" is invalid'),
        ("v1beta1", "requests.example.com/fpga", 'the ResourceName "requests.example.com/fpga" is invalid'),
        ("v1beta1", "example.com/fp ga", 'the ResourceName "example.com/fp ga" is invalid'),
        ("v1beta1", "example.com/" + "x" * 64, f'the ResourceName "example.com/{"x" * 64}" is invalid'),
        ("v1beta1", "", 'the ResourceName "" is invalid'),
    ],
)
def test_registrations_are_checked_with_the_texts_of_the_kubelet(version: str, resource: str, text: str) -> None:
    assert registration_problem(wire.RegisterRequest(version=version, resource_name=resource)) == text


def test_a_plugin_registers_lists_falls_ill_and_ends(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        plugin = await stage.plugin().start()
        assert await refused(plugin.register(version="v2")) == (
            "UNKNOWN",
            'requested API version "v2" is not supported by kubelet. Supported version is ["v1beta1"]',
        )
        await plugin.register()
        await until(lambda: stage.devices() == {"a": True, "b": True})
        assert stage.kubelet.situation.node_allocatable[FPGA] == quantity_of(2)
        assert [own.numa for own in stage.kubelet.situation.ledger.device.devices[FPGA].values()] == [(0,), (1,)]
        plugin.show(device("a", 0, "Unhealthy"), device("b", None), device("c", 1))
        await until(lambda: stage.devices() == {"a": False, "b": True, "c": True})
        await plugin.stop()
        await until(lambda: stage.devices() == {"a": False, "b": False, "c": False})
        assert stage.kubelet.situation.node_allocatable[FPGA] == quantity_of(0)

    told(tmp_path, story)


def test_nobody_at_the_endpoint_is_said_after_the_time_for_dialling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "DIAL_SECONDS", 0.2)

    async def story(stage: Stage) -> None:
        plugin = stage.plugin()
        expected = ("UNKNOWN", "failed to dial device plugin: context deadline exceeded")
        assert await refused(plugin.register()) == expected
        assert not stage.devices()

    told(tmp_path, story)


def test_an_endpoint_stays_in_the_folder_whatever_it_begins_with(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        plugin = await stage.plugin().start()
        await plugin.register(endpoint="/plugin.sock")
        await until(lambda: stage.devices() == {"a": True, "b": True})

    told(tmp_path, story)


def test_an_early_release_answers_before_it_dials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 1.24; the options are those of the registration."""
    monkeypatch.setattr(remote, "DIAL_SECONDS", 0.2)

    async def story(stage: Stage) -> None:
        plugin = stage.plugin()
        await plugin.register(endpoint="nobody.sock")
        await plugin.start()
        await plugin.register(options=wire.DevicePluginOptions(get_preferred_allocation_available=True))
        await until(lambda: stage.devices() == {"a": True, "b": True})
        assert stage.kubelet.situation.node.device.plugins[FPGA].preference != "none"

    told(tmp_path, story, "1.24")


def test_a_plugin_that_is_gone_is_forgotten_after_the_grace_period(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        plugin = await stage.plugin().start()
        await plugin.register()
        await until(lambda: stage.devices())
        await plugin.stop()
        await until(lambda: FPGA not in stage.kubelet.situation.ledger.device.healthy)
        assert stage.kubelet.situation.node_allocatable[FPGA] == quantity_of(0)

    told(tmp_path, story, grace=0.1)


def test_a_plugin_that_comes_back_in_time_is_not_forgotten(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        first = await stage.plugin().start()
        await first.register()
        await until(lambda: stage.devices())
        await first.stop()
        await until(lambda: not any(stage.devices().values()))
        second = await stage.plugin("again.sock").start()
        await second.register()
        await until(lambda: all(stage.devices().values()))
        await asyncio.sleep(0.6)
        assert FPGA in stage.kubelet.situation.ledger.device.healthy
        await second.stop()

    told(tmp_path, story, grace=0.4)


@pytest.mark.parametrize(
    ("release", "left"),
    [("1.24", True), ("1.36.4", False), ("1.37", True)],
)
def test_the_end_of_the_first_of_two_plugins_does_what_the_release_does(
    tmp_path: Path, release: str, left: bool
) -> None:
    """1.25 to 1.36 disconnect the second one with it, which has to register again."""

    async def story(stage: Stage) -> None:
        first = await stage.plugin().start()
        second = await stage.plugin("second.sock").start()
        second.devices = (device("x"),)
        await first.register()
        await until(lambda: stage.devices() == {"a": True, "b": True})
        await second.register()
        await until(lambda: stage.devices() == {"x": True})
        await first.stop()
        if left:
            await asyncio.sleep(0.5)
        await until(lambda: stage.devices() == {"x": left})
        await second.stop()
        await until(lambda: stage.devices() == {"x": False})

    told(tmp_path, story, release)


def test_the_end_of_the_second_of_two_plugins_leaves_the_first_in_1_37(tmp_path: Path) -> None:
    """Its list stays until the first sends another. One that is connected cannot register once more, and when it has
    tried, nobody notices its end."""

    async def story(stage: Stage) -> None:
        first, second = await stage.plugin().start(), await stage.plugin("second.sock").start()
        second.devices = (device("x"),)
        await first.register()
        await until(lambda: stage.devices() == {"a": True, "b": True})
        await second.register()
        await until(lambda: stage.devices() == {"x": True})
        expected = ("UNKNOWN", f"device plugin already connected: {stage.plugins}/plugin.sock")
        assert await refused(first.register()) == expected
        await second.stop()
        first.show(device("a"))
        await until(lambda: stage.devices() == {"a": True})
        await first.stop()
        await asyncio.sleep(0.3)
        assert stage.devices() == {"a": True}

    told(tmp_path, story, "1.37")


def test_stale_sockets_go_when_the_kubelet_starts_and_its_own_when_it_ends(tmp_path: Path) -> None:
    (tmp_path / "device-plugins").mkdir()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "device-plugins" / "stale.sock"))
    seen = []

    async def story(stage: Stage) -> None:
        seen.extend(sorted(path.name for path in stage.plugins.iterdir()))

    stage = told(tmp_path, story)
    assert seen == ["kubelet.sock"]
    assert not list(stage.plugins.iterdir())
