"""Asking a Docker engine: what it says, and what follows when it says nothing."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from numafit.host.docker import engine as engine_client
from numafit.host.docker.engine import (
    DEFAULT_ADDRESS,
    DockerContainer,
    engine_address,
    inspected,
    kernel_of,
    labelled,
    pin,
    running,
    why_silent,
)
from tests.host.fake_docker import KERNEL, FakeEngine, described, fake_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[FakeEngine]:
    with fake_engine(tmp_path / "socket") as engine:
        yield engine


def test_a_container_is_described_by_what_matters_here(engine: FakeEngine) -> None:
    engine.containers = [
        described("c1", pid=7, cpus="0-3,8", mems="1", restart="always", labels={"numafit.lease": "x"}, gpus=["GPU-1"]),
        described("c2", "created", error="no such program"),
    ]
    assert labelled(engine.address) == [
        DockerContainer(
            id="c1",
            name="c1-name",
            image="image",
            state="running",
            pid=7,
            created=1767323045.0,
            restart="always",
            cpus=0b1_0000_1111,
            mems=0b10,
            gpus=("GPU-1",),
            labels={"numafit.lease": "x"},
        )
    ]
    [other] = inspected(engine.address, ["c2", "gone"]) or []
    assert (other.state, other.failed, other.cpus, other.labels) == ("created", True, 0, {})


def test_containers_are_found_by_lease_state_and_name(engine: FakeEngine) -> None:
    engine.containers = [
        described("c3", "exited", labels={"numafit.lease": "y"}),
        described("c1", labels={"numafit.lease": "x"}),
        described("c2"),
    ]
    for found, ids in (
        (labelled(engine.address), ["c1", "c3"]),
        (labelled(engine.address, "y"), ["c3"]),
        (running(engine.address), ["c1", "c2"]),
        (inspected(engine.address, ["c2-name"]), ["c2"]),
    ):
        assert [container.id for container in found or ()] == ids


@pytest.mark.parametrize(
    ("ids", "count", "gpus"), [(["GPU-1", "GPU-2"], 0, ("GPU-1", "GPU-2")), (None, 2, ("0", "1")), (None, -1, ("all",))]
)
def test_gpus_that_were_counted_are_the_first_ones(
    engine: FakeEngine, ids: list[str] | None, count: int, gpus: tuple[str, ...]
) -> None:
    """`--gpus 2` gives a container the GPUs 0 and 1."""
    engine.containers = [described("c1", gpus=ids, gpu_count=count)]
    assert [container.gpus for container in inspected(engine.address, ["c1"]) or ()] == [gpus]


def test_a_container_is_pinned(engine: FakeEngine) -> None:
    engine.containers = [described("c1", cpus="0")]
    assert pin(engine.address, "c1", 0b110, 0b1) == ""
    assert [container.cpus for container in inspected(engine.address, ["c1"]) or ()] == [0b110]
    assert engine.asked[0] == '/containers/c1/update {"CpusetCpus": "1-2", "CpusetMems": "0"}'
    assert pin(engine.address, "gone", 0b1) == "there is no such container"


def test_a_sick_engine_tells_nothing(engine: FakeEngine) -> None:
    """None is no empty list: nothing may be concluded from it."""
    engine.broken = True
    assert (labelled(engine.address), inspected(engine.address, ["c1"])) == (None, None)
    assert why_silent(engine.address) == "the engine is sick"


def test_an_engine_that_is_not_there_tells_nothing(tmp_path: Path) -> None:
    address = f"unix://{tmp_path}/none"
    assert (labelled(address), running(address)) == (None, None)
    assert why_silent(address) == f"{address}: No such file or directory"
    assert pin(address, "c1", 1) == f"{address}: No such file or directory"


def test_an_engine_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took the connection and never answers."""
    monkeypatch.setattr(engine_client, "PATIENCE", 0.05)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen()
        assert labelled(f"unix://{tmp_path}/socket") is None


def test_an_answer_that_makes_no_sense_is_no_answer(engine: FakeEngine) -> None:
    engine.containers = [described("c1", cpus="nonsense")]
    assert inspected(engine.address, ["c1"]) is None


def test_another_way_than_a_socket_goes_through_the_command(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the address that DOCKER_HOST had; what the command complains about is the reason."""
    program = tmp_path / "docker"
    program.write_text('#!/bin/sh\n[ "$3" = version ] && echo 6.1 && exit 0\necho "cannot connect to $2" >&2; exit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert kernel_of("tcp://localhost:1") == "6.1"
    assert labelled("tcp://localhost:1") is None
    assert pin("tcp://localhost:1", "c1", 1) == "cannot connect to tcp://localhost:1"
    assert kernel_of(engine.address) == KERNEL


def test_the_address_is_where_the_docker_command_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DOCKER_HOST, then the chosen context, then the usual socket."""
    program = tmp_path / "docker"
    program.write_text('#!/bin/sh\necho "unix:///of/$3"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    home = {"HOME": str(tmp_path)}
    assert engine_address(home) == DEFAULT_ADDRESS
    assert engine_address({**home, "DOCKER_CONTEXT": "default"}) == DEFAULT_ADDRESS
    assert engine_address({**home, "DOCKER_CONTEXT": "rootless"}) == "unix:///of/rootless"
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text('{"currentContext": "other"}')
    assert engine_address(home) == "unix:///of/other"
    assert engine_address({**home, "DOCKER_HOST": "unix:///x"}) == "unix:///x"
