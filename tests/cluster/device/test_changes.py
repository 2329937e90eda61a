"""Devices that fall ill, are lost, come late or go, and lists of them that cannot be read."""

import asyncio
import socket
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.cluster.device import service
from numafit.cluster.device.offer import ResourceOffer
from tests.cluster.device.fake_kubelet import FakeKubelet, refused, until
from tests.cluster.device.offers import FPGA, ChangingDevices, device, offer, sick
from tests.cluster.device.served import OWN, TWO, played


def test_a_sick_device_is_told_and_not_given(tmp_path: Path) -> None:
    """And told again when it is well."""
    source = ChangingDevices(TWO)

    async def story(_said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.health(FPGA) == {"a": "Healthy", "b": "Healthy"})
        source.offers = (sick(TWO, "b"),)
        await until(lambda: kubelet.health(FPGA) == {"a": "Healthy", "b": "Unhealthy"})
        code, text = await refused(kubelet.allocate(FPGA, "b"))
        assert (code, text) == ("INVALID_ARGUMENT", f"device b of {FPGA} is not healthy any more")
        source.offers = (TWO,)
        await until(lambda: kubelet.health(FPGA) == {"a": "Healthy", "b": "Healthy"})
        await kubelet.kill()

    said = played(tmp_path, source, story)
    assert f"{FPGA}: device b is not healthy any more" in said
    assert f"{FPGA}: device b is healthy again" in said


def test_a_lost_device_is_sick_where_nobody_takes_devices_away(tmp_path: Path) -> None:
    """A GPU that fell off the bus; a driver that does not answer at all takes all of them."""
    source = ChangingDevices(TWO, lost_is_sick=True)

    async def story(_said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.devices)
        source.offers = (offer(device("a")),)
        await until(lambda: kubelet.health(FPGA) == {"a": "Healthy", "b": "Unhealthy"})
        source.trouble = "the driver is gone"
        await until(lambda: kubelet.health(FPGA) == {"a": "Unhealthy", "b": "Unhealthy"})
        source.trouble, source.offers = "", (TWO,)
        await until(lambda: kubelet.health(FPGA) == {"a": "Healthy", "b": "Healthy"})
        await kubelet.kill()

    said = played(tmp_path, source, story)
    assert next(line for line in said if "driver" in line or "again" in line) == "the driver is gone"
    assert "all is well again" in said


def test_a_list_that_cannot_be_read_leaves_devices_as_they_are(tmp_path: Path) -> None:
    """A file that somebody edits is wrong for a moment; what is taken out of it goes."""
    source = ChangingDevices(TWO)

    async def story(said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.devices)
        source.trouble = "no list"
        await until(lambda: "no list" in said)
        await asyncio.sleep(0.2)
        assert said.count("no list") == 1
        assert kubelet.health(FPGA) == {"a": "Healthy", "b": "Healthy"}
        source.trouble, source.offers = "", (offer(device("b", 1)),)
        await until(lambda: kubelet.health(FPGA) == {"b": "Healthy"})
        await kubelet.kill()

    played(tmp_path, source, story)


def test_resources_come_and_go(tmp_path: Path) -> None:
    """Each has a socket of its own, which goes with it."""
    other = replace(TWO, resource="example.com/other")
    source = ChangingDevices(TWO)

    async def story(_said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.devices.keys() == {FPGA})
        source.offers = (TWO, other)
        await until(lambda: kubelet.devices.keys() == {FPGA, "example.com/other"})
        source.offers = (other,)
        await until(lambda: kubelet.devices.keys() == {"example.com/other"})
        assert not (tmp_path / OWN).exists()
        await kubelet.kill()

    played(tmp_path, source, story)


def test_a_source_that_may_come_later_is_waited_for(tmp_path: Path) -> None:
    """`--fail-on-init-error false`: said once, and nothing is registered meanwhile."""
    source = ChangingDevices(TWO)
    source.trouble, source.waits = "no driver", True

    async def story(said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: said == ["no driver; waiting for it"])
        await asyncio.sleep(0.2)
        assert (said, kubelet.registered) == (["no driver; waiting for it"], [])
        source.trouble = ""
        await until(lambda: kubelet.devices)
        await kubelet.kill()

    played(tmp_path, source, story)


def test_a_driver_that_hangs_makes_devices_sick_and_keeps_nobody_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked once, not again and again; when it answers at last, they are well."""
    monkeypatch.setattr(service, "READ_SECONDS", 0.1)
    source = ChangingDevices(TWO, lost_is_sick=True)
    go_on = threading.Event()
    asked = []
    plain = source.read

    def hang() -> tuple[ResourceOffer, ...]:
        asked.append(1)
        go_on.wait()
        return plain()

    async def story(said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.health(FPGA) == {"a": "Healthy", "b": "Healthy"})
        monkeypatch.setattr(source, "read", hang)
        await until(lambda: kubelet.health(FPGA) == {"a": "Unhealthy", "b": "Unhealthy"})
        assert "the devices did not answer in 0.1 seconds" in said
        await asyncio.sleep(0.3)
        assert len(asked) == 1
        go_on.set()
        await until(lambda: kubelet.health(FPGA) == {"a": "Healthy", "b": "Healthy"})
        go_on.clear()
        await until(lambda: kubelet.health(FPGA) == {"a": "Unhealthy", "b": "Unhealthy"})
        await kubelet.kill()

    played(tmp_path, source, story)
    go_on.set()


def test_a_resource_that_cannot_be_added_later_is_a_complaint(tmp_path: Path) -> None:
    """Somebody else has its socket: the others go on, and it is tried again."""
    other = replace(TWO, resource="example.com/other")
    source = ChangingDevices(TWO)
    taken = tmp_path / "numafit-example.com_other.sock"

    async def story(said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.devices)
        with socket.socket(socket.AF_UNIX) as somebody:
            somebody.bind(str(taken))
            somebody.listen()
            source.offers = (TWO, other)
            await until(lambda: any("another process answers" in line for line in said))
            assert kubelet.health(FPGA) == {"a": "Healthy", "b": "Healthy"}
        await until(lambda: kubelet.devices.keys() == {FPGA, "example.com/other"})
        await kubelet.kill()

    played(tmp_path, source, story)
