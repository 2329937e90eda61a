"""What is really in use of this machine's GPUs, with and without NVIDIA's library."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.__main__ import main
from numafit.errors import InputError
from numafit.host.book.book import Book
from numafit.host.host import Host
from numafit.host.request import JobRequest
from numafit.host.this_machine import GPUS_UNSEEN, NVIDIA, gpu_memory, looked_at
from numafit.machine.model import Device
from tests.host.ledgers import small_host, taken

GIB = 1 << 30
GPUS = tuple(
    Device(NVIDIA, f"GPU-{name}", (0,), kind="gpu", label=f"GPU-{name}", bus=bus)
    for name, bus in (
        ("a", "0000:3b:00.0"),
        ("b", "0000:af:00.0"),
    )
)
ONE = JobRequest(devices={NVIDIA: 1})
SMI = """#!/bin/sh
echo "$@" >> {calls}
echo 'GPU-a, 00000000:3B:00.0, 12288'
echo 'GPU-b, 00000000:AF:00.0, 4'
"""


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """This machine with two GPUs, without NVIDIA's library and tools."""

    def missing() -> None:
        raise InputError("nvidia-ml-py is not installed", source="NVML")

    monkeypatch.setattr("numafit.host.gpu.nvml.memory_in_use", missing)
    monkeypatch.setenv("PATH", "/nonexistent")
    small = small_host(4)
    return replace(small, live=True, machine=replace(small.machine, devices=GPUS))


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stand-in for nvidia-smi was asked."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(SMI.format(calls=tmp_path / "calls"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.defpath}")
    return tmp_path / "calls"


@pytest.mark.usefixtures("alone")
def test_a_gpu_that_a_stranger_uses_is_avoided_also_without_nvml(host: Host, calls: Path, tmp_path: Path) -> None:
    """The library is an extra; the tool comes with the driver, and is asked once."""
    said: list[str] = []
    with Book.open(tmp_path, None, said.append) as book:
        lease = taken(book, host, ONE)
    assert lease.devices == {NVIDIA: ("GPU-b",)}
    assert said == ["in use though nobody holds it: GPU-a (12Gi of its memory); the job gets GPU-b"]
    assert len(calls.read_text().splitlines()) == 1


def test_the_tool_names_gpus_by_uuid_and_by_address(host: Host, calls: Path) -> None:
    usage = looked_at(host, ONE).usage
    assert usage is not None
    assert calls.exists()
    assert usage.gpus["GPU-a"] == usage.gpus["0000:3b:00.0"] == 12 * GIB
    assert (usage.gpus["GPU-b"], usage.unseen) == (4 << 20, ())


def test_who_asks_for_no_gpu_asks_no_tool(host: Host, calls: Path) -> None:
    usage = looked_at(host, JobRequest(cpus=1)).usage
    assert usage is not None
    assert (usage.gpus, usage.unseen, calls.exists()) == ({}, (), False)


@pytest.mark.usefixtures("alone")
def test_where_nobody_can_be_asked_it_is_said_once(host: Host, tmp_path: Path) -> None:
    """GPUs that only `host.yaml` names have no driver that could be asked."""
    said: list[str] = []
    with Book.open(tmp_path, None, said.append) as book:
        assert taken(book, host, ONE).devices == {NVIDIA: ("GPU-a",)}
    assert said == [GPUS_UNSEEN]
    named = replace(host.machine, devices=tuple(replace(gpu, bus="") for gpu in GPUS))
    usage = looked_at(replace(host, machine=named), ONE).usage
    assert usage is not None
    assert usage.unseen == ()


def test_a_plan_says_so_too(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("numafit.host.session.live_machine", lambda **_: host.machine)
    assert main(["run", "--gpus", "1", "--dry-run", "--state-dir", str(tmp_path)]) == 0
    assert f"numafit: {GPUS_UNSEEN}\n" in capsys.readouterr().err


def test_a_gpu_that_does_not_tell_is_left_out() -> None:
    """As where it shares the memory of the processor."""
    assert gpu_memory("GPU-a, 00000009:01:00.0, [N/A]\nGPU-b, x, 1\nNo devices were found\n") == {"GPU-b": 1 << 20}
