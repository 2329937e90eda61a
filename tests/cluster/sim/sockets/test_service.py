"""The sockets of a node over time: its kubelet goes and comes, and numafit's own device plugin stays with it."""

import asyncio
from pathlib import Path

import pytest

from numafit.cluster.device import registration
from numafit.cluster.device.service import serve_until
from numafit.cluster.device.socket import identity
from numafit.decision.history.event import RestartKubelet, StartKubelet, StopKubelet
from numafit.errors import InputError
from tests.cluster.device.fake_kubelet import until
from tests.cluster.device.offers import FPGA, ChangingDevices, device, offer, sick
from tests.cluster.sim.nodes import pod
from tests.cluster.sim.sockets.stage import Stage, serving


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(registration, "AGAIN_SECONDS", 0.1)


def test_our_own_plugin_registers_allocates_and_registers_again_with_the_next_kubelet(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    source = ChangingDevices(offer(device("a"), device("b", 1)))

    async def story() -> None:
        await until(lambda: stage.devices() == {"a": True, "b": True})
        assert (await stage.add(pod("p", cpu="2", **{FPGA: "1"}))).admitted
        source.offers = (sick(source.offers[0], "b"),)
        await until(lambda: stage.devices() == {"a": True, "b": False})

        first = identity(stage.plugins / "kubelet.sock")
        await stage.turn(lambda now: stage.kubelet.happen(StopKubelet(), now))
        await until(lambda: not (stage.plugins / "kubelet.sock").exists())
        assert not (tmp_path / "pod-resources" / "kubelet.sock").exists()
        await until(lambda: not stage.kubelet.situation.plugins)
        await stage.turn(lambda now: stage.kubelet.happen(StartKubelet(), now))
        # It starts over its checkpoint: the pod goes on, and the devices wait for their plugin.
        assert stage.kubelet.situation.ledger.active
        await until(lambda: stage.devices() == {"a": True, "b": False})
        assert identity(stage.plugins / "kubelet.sock") not in (None, first)
        assert stage.held("p") == {"a"}

    async def tell() -> None:
        stop = asyncio.Event()
        async with serving(stage):
            plugin = asyncio.create_task(serve_until(stop, source, stage.plugins, 0.02, lambda _: None))
            try:
                await story()
            finally:
                stop.set()
                await plugin

    asyncio.run(tell())


def test_a_kubelet_that_restarts_at_once_makes_its_sockets_anew(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def tell() -> None:
        async with serving(stage):
            plugin = await stage.plugin().start()
            await plugin.register()
            await until(lambda: stage.devices())
            before = identity(stage.plugins / "kubelet.sock")
            await stage.turn(lambda now: stage.kubelet.happen(RestartKubelet(), now))
            await until(lambda: identity(stage.plugins / "kubelet.sock") not in (None, before))
            assert not (stage.plugins / plugin.name).exists()
            await until(lambda: not any(stage.devices().values()))

    asyncio.run(tell())


def test_a_folder_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    async def tell() -> None:
        async with serving(Stage(tmp_path / ("x" * 90))):
            raise AssertionError

    with pytest.raises(InputError, match="the path of a socket in it has"):
        asyncio.run(tell())
