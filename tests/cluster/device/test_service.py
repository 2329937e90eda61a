"""Plugins against a registry of ours: it comes, goes and comes again, odd things are asked."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.cluster.device import registration
from numafit.cluster.device.offer import GivenMount, GivenNode, Handout
from numafit.cluster.device.service import serve_until
from numafit.errors import InputError
from tests.cluster.device.fake_kubelet import FakeKubelet, refused, until
from tests.cluster.device.offers import FPGA, ChangingDevices, device, offer
from tests.cluster.device.served import OWN, TWO, played


def test_devices_are_registered_listed_and_given(tmp_path: Path) -> None:
    """One walk through the interface, with whole values."""
    given = Handout(
        {"FPGAS": "a"},
        (GivenMount("/opt/a", "/opt/fpga", True),),
        (GivenNode("/dev/a", "/dev/fpga", "rwm"),),
        {"note": "x"},
        ("example.com/fpga=a",),
    )
    source = ChangingDevices(offer(replace(device("a"), given=given), device("b", None)))

    async def story(_said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.devices)
        (request,) = kubelet.registered
        assert (request.version, request.endpoint, request.resource_name) == ("v1beta1", OWN, FPGA)
        assert request.options.get_preferred_allocation_available
        assert not request.options.pre_start_required
        a, b = kubelet.devices[FPGA]
        assert (a.ID, a.health, [node.ID for node in a.topology.nodes]) == ("a", "Healthy", [0])
        assert not b.HasField("topology")
        answer = await kubelet.allocate(FPGA, "a", "b")
        assert dict(answer.envs) == {"FPGAS": "a,b"}
        assert dict(answer.annotations) == {"note": "x"}
        assert [(one.host_path, one.container_path, one.read_only) for one in answer.mounts] == [
            ("/opt/a", "/opt/fpga", True)
        ]
        assert [(one.host_path, one.container_path, one.permissions) for one in answer.devices] == [
            ("/dev/a", "/dev/fpga", "rwm")
        ]
        assert [one.name for one in answer.cdi_devices] == ["example.com/fpga=a"]
        assert await kubelet.prefer(FPGA, ["b", "a"], ["b"], 1) == ["b"]
        await kubelet.pre_start(FPGA, "a")
        await kubelet.kill()

    assert f"{FPGA}: registered with the kubelet: 2 devices" in played(tmp_path, source, story)
    assert not (tmp_path / OWN).exists()


def test_a_kubelet_that_comes_again_finds_the_plugin_again(tmp_path: Path) -> None:
    """Each kubelet removes all sockets when it starts; five of them come and go."""

    async def story(said: list[str]) -> None:
        await until(lambda: said == [f"{FPGA}: waiting for a kubelet at {tmp_path}/kubelet.sock"])
        for _ in range(5):
            kubelet = await FakeKubelet(tmp_path).start()
            await until(lambda kubelet=kubelet: kubelet.health(FPGA) == {"a": "Healthy", "b": "Healthy"})
            assert dict((await kubelet.allocate(FPGA, "b")).envs) == {"FPGAS": "b"}
            await kubelet.kill()

    played(tmp_path, ChangingDevices(TWO), story)
    assert list(tmp_path.glob("numafit-*")) == []


def test_a_socket_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    """Without a restart of the kubelet: it registers again, too."""

    async def story(_said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.devices)
        (tmp_path / OWN).unlink()
        await until(lambda: len(kubelet.registered) == 2)
        await until(lambda: (tmp_path / OWN).exists())
        await kubelet.kill()

    played(tmp_path, ChangingDevices(TWO), story)


def test_a_kubelet_that_does_not_watch_gets_a_second_registration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection broke, and it does not come back by itself."""
    monkeypatch.setattr(registration, "FORGOTTEN_SECONDS", 0.2)

    async def story(_said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path, watches=False).start()
        await until(lambda: len(kubelet.registered) == 1)
        kubelet.watches = True
        await until(lambda: kubelet.devices)
        assert len(kubelet.registered) == 2
        await asyncio.sleep(0.5)
        assert len(kubelet.registered) == 2
        await kubelet.kill()

    played(tmp_path, ChangingDevices(TWO), story)


def test_a_refusal_of_the_kubelet_is_said_once_and_tried_again(tmp_path: Path) -> None:
    async def story(said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path, refusal="no room").start()
        await until(lambda: len(kubelet.registered) > 2)
        assert said[-1] == f"{FPGA}: the kubelet does not take the plugin: no room"
        assert len(said) <= 2
        kubelet.refusal = ""
        await until(lambda: kubelet.devices)
        await kubelet.kill()

    played(tmp_path, ChangingDevices(TWO), story)


def test_a_socket_that_nobody_listens_at_is_no_kubelet(tmp_path: Path) -> None:
    """What a killed kubelet leaves behind: it is said, and the next one is found."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "kubelet.sock"))

    async def story(said: list[str]) -> None:
        await until(lambda: said == [f"{FPGA}: the kubelet does not take the plugin: it does not answer at its socket"])
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.devices)
        await kubelet.kill()

    played(tmp_path, ChangingDevices(TWO), story)


def test_odd_questions_are_refused_and_the_plugin_goes_on(tmp_path: Path) -> None:
    async def story(_said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.devices)
        unknown = ("INVALID_ARGUMENT", f"{FPGA} has no device z")
        assert await refused(kubelet.allocate(FPGA, "a", "z")) == unknown
        assert await refused(kubelet.pre_start(FPGA, "z")) == unknown
        assert await refused(kubelet.prefer(FPGA, ["a", "z"], [], 1)) == unknown
        for available, required, size in ((["a"], [], 2), (["a", "b"], ["a", "b"], 1), (["a"], [], -1)):
            assert (await refused(kubelet.prefer(FPGA, available, required, size)))[0] == "INVALID_ARGUMENT"
        assert await kubelet.prefer(FPGA, [], [], 0) == []
        assert dict((await kubelet.allocate(FPGA)).envs) == {}
        assert dict((await kubelet.allocate(FPGA, "a", "a")).envs) == {"FPGAS": "a"}
        await kubelet.kill()

    played(tmp_path, ChangingDevices(TWO), story)


def test_a_command_runs_before_a_container_starts(tmp_path: Path) -> None:
    """With the ids behind it; one that fails keeps the container from starting, and its last line is told."""
    script = (
        'echo "$@" >> ' + str(tmp_path / "ran.txt") + '; [ "$1" = a ] || { echo well >&2; echo no $1 >&2; exit 3; }'
    )
    folder = tmp_path / "p"
    folder.mkdir()
    source = ChangingDevices(replace(TWO, pre_start=("/bin/sh", "-c", script, "reset")))

    async def story(_said: list[str]) -> None:
        kubelet = await FakeKubelet(folder).start()
        await until(lambda: kubelet.devices)
        assert kubelet.registered[0].options.pre_start_required
        await kubelet.pre_start(FPGA, "b", "a")
        answer = await refused(kubelet.pre_start(FPGA, "b"))
        assert answer == ("FAILED_PRECONDITION", "/bin/sh ended with 3: no b")
        source.offers = (replace(TWO, pre_start=("/no/such/program",)),)
        source.offers = (*source.offers, replace(TWO, resource="example.com/later"))
        await until(lambda: len(kubelet.devices) == 2)
        answer = await refused(kubelet.pre_start(FPGA, "b"))
        assert answer == ("FAILED_PRECONDITION", "/no/such/program cannot be run: No such file or directory")
        await kubelet.kill()

    played(folder, source, story)
    assert (tmp_path / "ran.txt").read_text() == "a b\nb\n"


def test_a_second_plugin_of_the_same_resource_is_refused(tmp_path: Path) -> None:
    async def story(_said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: kubelet.devices)
        with pytest.raises(InputError, match="another process answers at this socket"):
            await serve_until(asyncio.Event(), ChangingDevices(TWO), tmp_path, 1, lambda _: None)
        assert kubelet.health(FPGA) == {"a": "Healthy", "b": "Healthy"}
        await kubelet.kill()

    played(tmp_path, ChangingDevices(TWO), story)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="no socket can be made here"):
        asyncio.run(serve_until(asyncio.Event(), ChangingDevices(TWO), tmp_path, 1, lambda _: None))


def test_a_folder_in_the_place_of_its_socket_is_said(tmp_path: Path) -> None:
    (tmp_path / OWN).mkdir()

    async def story(said: list[str]) -> None:
        kubelet = await FakeKubelet(tmp_path).start()
        await until(lambda: any("no socket can be made here" in line for line in said))
        (tmp_path / OWN).rmdir()
        await until(lambda: kubelet.devices)
        await kubelet.kill()

    played(tmp_path, ChangingDevices(TWO), story)


def test_without_a_folder_it_does_not_begin(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        asyncio.run(serve_until(asyncio.Event(), ChangingDevices(TWO), tmp_path / "x", 1, lambda _: None))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_cleanly(tmp_path: Path, number: int) -> None:
    """Exit status 0, its socket gone; killed, the next one takes the socket over."""
    folder = tmp_path / "device-plugins"
    folder.mkdir()
    command = [sys.executable, "-m", "numafit", "device-plugin", "--machine", "dgx-h100"]
    command += ["--kubelet-dir", str(tmp_path), "--interval", "0.1"]
    own = folder / "numafit-nvidia.com_gpu.sock"

    async def story() -> None:
        kubelet = await FakeKubelet(folder).start()
        for last in (signal.SIGKILL, number):
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            try:
                await until(lambda: len(kubelet.health("nvidia.com/gpu")) == 8)
                assert own.exists()
                os.kill(process.pid, last)
                await until(lambda process=process: process.poll() is not None)
                await until(lambda: kubelet.devices == {})
            finally:
                process.kill()
                _, said = process.communicate()
            assert "Traceback" not in said
        assert process.returncode == 0
        assert not own.exists()
        await kubelet.kill()

    began = time.monotonic()
    asyncio.run(story())
    assert time.monotonic() - began < 30
