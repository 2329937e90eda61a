"""A lease as options of `docker run`, and options that contradict it."""

import msgspec
import pytest

from numafit.errors import InputError
from numafit.host.docker.command_line import parse_docker_run
from numafit.host.docker.options import (
    check_gpu_names,
    check_options,
    docker_gpus,
    label_flags,
    placement_flags,
    variable_flags,
)
from numafit.host.lease import Lease, decode_lease
from numafit.host.request import JobRequest
from numafit.ledger.ledger import Block
from numafit.machine.model import Device, Machine, NumaNode

GPU = "nvidia.com/gpu"
MACHINE = Machine(
    numa_nodes=(NumaNode(0, 64 << 30), NumaNode(1, 64 << 30)),
    devices=tuple(Device(GPU, f"GPU-{i}", (i // 2,), label=f"GPU{i}") for i in range(4)),
)
LEASE = Lease(
    "1234abcd", "train", 1000, "ann", 1.5, exclusive=0b1111, nodes=1, mems=1, devices={GPU: ("GPU-0", "GPU-1")}
)
ASKS = JobRequest(cpus=4, memory=8 << 30, devices={GPU: 2})


def test_the_numbers_of_a_lease_become_options() -> None:
    """GPUs by UUID, in the quotes that Docker's list of values needs."""
    lease = msgspec.structs.replace(LEASE, memory=(Block((0,), "memory", 8 << 30),))
    added = placement_flags(lease, lease.exclusive, MACHINE, parse_docker_run(["--ipc=host", "image"]))
    assert (added.flags, added.notes) == (
        ("--cpuset-cpus=0-3", "--cpuset-mems=0", "--gpus", '"device=GPU-0,GPU-1"', "--memory=8g"),
        (),
    )


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ("", "--shm-size=16g"),
        ("--ipc=private", "--shm-size=16g"),
        ("--memory=10g", "--shm-size=5g"),
        ("--ipc=host", None),
        ("--ipc=container:other", None),
        ("--shm-size=1g", None),
    ],
)
def test_several_gpus_get_shared_memory(words: str, flag: str | None) -> None:
    """8 GiB for each GPU, at most half of the memory; what the user said is kept."""
    added = placement_flags(LEASE, LEASE.exclusive, MACHINE, parse_docker_run([*words.split(), "image"]))
    assert next((one for one in added.flags if one.startswith("--shm-size")), None) == flag
    assert bool(added.notes) == (flag is not None)


def test_one_gpu_needs_no_shared_memory() -> None:
    lease = msgspec.structs.replace(LEASE, devices={GPU: ("GPU-2",)})
    added = placement_flags(lease, lease.exclusive, MACHINE, parse_docker_run(["image"]))
    assert added.flags == ("--cpuset-cpus=0-3", "--cpuset-mems=0", "--gpus", '"device=GPU-2"')


@pytest.mark.parametrize(("devices", "value"), [({}, "void"), ({GPU: ("GPU-2",)}, "GPU-2")])
def test_nvidias_runtime_is_told_by_its_variable(devices: dict[str, tuple[str, ...]], value: str) -> None:
    """Images come with NVIDIA_VISIBLE_DEVICES=all, which that runtime would follow."""
    lease = msgspec.structs.replace(LEASE, devices=devices)
    added = placement_flags(lease, lease.exclusive, MACHINE, parse_docker_run(["--runtime=nvidia", "image"]))
    assert f"--env=NVIDIA_VISIBLE_DEVICES={value}" in added.flags


def test_what_the_user_must_add_himself_is_said() -> None:
    lease = msgspec.structs.replace(LEASE, devices={"example.com/fpga": ("fpga0",)})
    added = placement_flags(lease, lease.exclusive, MACHINE, parse_docker_run(["--privileged", "image"]))
    assert added.notes == (
        "example.com/fpga fpga0 is held, but how it gets into a container only you know: add its --device",
        "a --privileged container sees every device of the host, also those of other leases",
    )


def test_a_gpu_without_uuid_goes_by_number() -> None:
    """As descriptions of a machine have it; a PCI address is no name for Docker."""
    machine = Machine(devices=(Device(GPU, "a", label="GPU3"), Device(GPU, "0000:3b:00.0")))
    assert docker_gpus({GPU: ("a", "GPU7", "5")}, machine) == ["3", "7", "5"]
    with pytest.raises(InputError, match=r"Docker takes a GPU by its UUID, and of 0000:3b:00\.0 none is known"):
        check_gpu_names(JobRequest(devices={GPU: 1}), machine)
    check_gpu_names(JobRequest(cpus=1), machine)


def test_the_label_tells_the_whole_lease() -> None:
    """A ledger that was lost is made anew from it."""
    first, second = label_flags(msgspec.structs.replace(LEASE, sentence="why", command="docker run image"))
    assert first == "--label=numafit.lease=1234abcd"
    told = decode_lease(second.removeprefix("--label=numafit.record=").encode())
    assert told == msgspec.structs.replace(LEASE, command="docker run image")


def test_a_variable_of_the_user_is_kept() -> None:
    flags = variable_flags(LEASE, LEASE.exclusive, parse_docker_run(["-e", "NUMAFIT_CPUS=7", "image"]))
    assert "--env=NUMAFIT_LEASE=1234abcd" in flags
    assert [flag for flag in flags if "NUMAFIT_CPUS" in flag or "CUDA" in flag] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--cpuset-cpus=7", "--cpuset-cpus: numafit chooses the CPUs of the lease, and 7 may be others"),
        ("--cpuset-mems 1", "--cpuset-mems: numafit chooses the memory nodes of the lease, and 1 may be others"),
        ("--gpus all", "--gpus: all would give the container GPUs that are not those of its lease"),
        ("--device=/dev/nvidia3", "--device: /dev/nvidia3 would give the container a GPU beside those of its lease"),
        ("-eNVIDIA_VISIBLE_DEVICES=all", "--env: NVIDIA_VISIBLE_DEVICES=all would name other GPUs than the lease"),
        ("-eCUDA_VISIBLE_DEVICES=2", "--env: CUDA_VISIBLE_DEVICES=2 does not name the GPUs of the lease"),
        ("-m 4g", "--memory: the lease holds 8Gi, and the container could use only 4g"),
        ("--memory=9g", "--memory: the lease holds 8Gi, and the container could use 9g"),
        ("--cpus 2.5", "--cpus: the lease has 4 CPUs, and the container could use the time of 2.5 only"),
        ("--cpu-quota 1000", "--cpu-quota: the lease has 4 CPUs, and the container could use the time of 0.01 only"),
        ("-l numafit.lease=x", "--label: numafit.lease is numafit's own"),
    ],
)
def test_an_option_that_contradicts_the_lease_is_refused(words: str, message: str) -> None:
    """In one sentence, with what to do."""
    with pytest.raises(InputError) as caught:
        check_options(parse_docker_run([*words.split(), "image"]), ASKS)
    assert str(caught.value).startswith(message)
    assert caught.value.cure


@pytest.mark.parametrize(
    "words",
    [
        "-m 8g",
        "--memory=8192m --memory-swap=16g",
        "--cpus 4",
        "--cpus 64",
        "--shm-size=1g",
        "-eCUDA_VISIBLE_DEVICES=1,0",
        "--device=/dev/fuse",
        "-l team=red",
    ],
)
def test_an_option_that_goes_with_the_lease_is_let_through(words: str) -> None:
    check_options(parse_docker_run([*words.split(), "image"]), ASKS)
