"""A running container is put under a lease together with the GPUs that it has."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.host.docker.containers import live_containers
from numafit.host.docker.engine import DockerContainer
from numafit.host.grant import Refused
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.request import JobRequest
from numafit.host.run.adopt import adopt, held_gpus
from numafit.host.session import Session
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from tests.host.fake_docker import FakeEngine, described, fake_engine

GPU = "nvidia.com/gpu"
MACHINE = Machine(
    cpus=tuple(Cpu(i, i % 4, i // 4, i // 4) for i in range(8)),
    numa_nodes=(NumaNode(0, 8 << 30, distances=(10, 20)), NumaNode(1, 8 << 30, distances=(20, 10))),
    devices=tuple(Device(GPU, f"GPU-{'abcd'[i]}", (i // 2,), kind="gpu", label=f"GPU{i}") for i in range(4)),
)
PLAIN = DockerContainer("c1", "web", "image", "running")
NO_PROCESS = (1 << 22) + 1


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[FakeEngine]:
    with fake_engine(tmp_path / "socket") as engine:
        yield engine


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(Host(MACHINE), tmp_path / "ledger", lambda _: None)


@pytest.mark.parametrize(
    ("named", "ids"),
    [((), []), (("GPU-d", "0"), ["GPU-d", "GPU-a"]), (("all",), ["GPU-a", "GPU-b", "GPU-c", "GPU-d"])],
)
def test_its_gpus_are_known_by_uuid_and_by_number(named: tuple[str, ...], ids: list[str]) -> None:
    assert [gpu.id for gpu in held_gpus(replace(PLAIN, gpus=named), Host(MACHINE))] == ids


def test_a_gpu_that_is_not_here_is_said() -> None:
    with pytest.raises(InputError, match="web: it uses GPU 9, which is not known here"):
        held_gpus(replace(PLAIN, gpus=("9",)), Host(MACHINE))


def test_cpus_are_chosen_near_its_gpus(engine: FakeEngine, session: Session) -> None:
    """The GPUs are given; the engine finds CPUs and memory beside them, and Docker is told. Memory is preferred there,
    which is what a kernel does by itself: Docker could only force it."""
    engine.containers = [described("c1", pid=NO_PROCESS, gpus=["GPU-c", "GPU-d"])]
    lease = adopt(session, engine.address, "c1-name", JobRequest(cpus=2), None)
    assert isinstance(lease, Lease)
    assert (lease.exclusive, lease.mems, lease.devices) == (0b110000, 0b10, {GPU: ("GPU-c", "GPU-d")})
    assert (lease.container, lease.engine, lease.owners) == ("c1", engine.address, ())
    assert '/containers/c1/update {"CpusetCpus": "4-5"}' in engine.asked


def test_a_lease_that_it_has_is_kept(engine: FakeEngine, session: Session) -> None:
    """A second call, or one after numafit was killed between taking and pinning, pins it to what it holds."""
    engine.containers = [described("c1", pid=NO_PROCESS)]
    first = adopt(session, engine.address, "c1", JobRequest(cpus=2), None)
    engine.containers[0]["HostConfig"]["CpusetCpus"] = ""
    second = adopt(session, engine.address, "c1", JobRequest(cpus=4), None)
    assert first == second
    assert engine.containers[0]["HostConfig"]["CpusetCpus"] == "0-1"


def test_what_another_holds_is_not_adopted(engine: FakeEngine, session: Session) -> None:
    engine.containers = [described("c1", pid=NO_PROCESS, gpus=["GPU-a"]), described("c2", pid=1, gpus=["GPU-a"])]
    first = adopt(session, engine.address, "c1", JobRequest(), None)
    assert isinstance(first, Lease)
    assert isinstance(adopt(session, engine.address, "c2", JobRequest(), None), Refused)
    assert live_containers([first]) == {first.id: True}


def test_a_container_that_cannot_be_pinned_gets_no_lease(engine: FakeEngine, session: Session) -> None:
    engine.containers = [described("c1", pid=NO_PROCESS)]
    engine.refusal = "Requested CPUs are not available"
    with pytest.raises(InputError, match="it could not be pinned: Requested CPUs are not available"):
        adopt(session, engine.address, "c1", JobRequest(cpus=2), None)
    with session.book() as book:
        assert book.leases() == []
