"""What numafit would make of `docker run` lines, and what is wrong with them as they are written."""

import pytest

from numafit.host.docker.command_line import docker_lines
from numafit.host.docker.plan import Review, numafit_words, review, written_by
from numafit.host.host import Host
from numafit.machine.model import Cpu, Device, Machine, NumaNode

GPU = "nvidia.com/gpu"
MACHINE = Machine(
    cpus=tuple(Cpu(i, i % 4, i // 4, i // 4) for i in range(8)),
    numa_nodes=(NumaNode(0, 8 << 30, distances=(10, 20)), NumaNode(1, 8 << 30, distances=(20, 10))),
    devices=tuple(Device(GPU, f"GPU-{i}", (i,), kind="gpu", label=f"GPU{i}") for i in range(2)),
)


def reviewed(*lines: str) -> list[Review]:
    return review(Host(MACHINE), [], docker_lines("\n".join(lines), "script"))


@pytest.mark.parametrize(
    ("words", "faults"),
    [
        ("--cpuset-cpus=0-3 --cpuset-mems=0 --gpus device=0", ()),
        ("--cpuset-cpus=0-3 --cpuset-mems=1", ("its memory may come from node 1, its CPUs are on node 0",)),
        ("--cpuset-cpus=0-3", ()),
        ("--cpuset-cpus=0-3 --cpuset-mems=0 --gpus device=1", ("GPU1 is on node 1, its CPUs are on 0",)),
        ("--cpuset-cpus=6-9 --cpuset-mems=1", ("CPUs 8-9 are not on this machine",)),
        ("--gpus device=GPU-1", ("it has GPUs, and its CPUs may be anywhere: --cpuset-cpus is missing",)),
        ("--gpus device=7", ("GPU 7 is not on this machine",)),
        ("", ()),
    ],
)
def test_a_line_is_compared_with_the_machine(words: str, faults: tuple[str, ...]) -> None:
    [line] = docker_lines(f"docker run {words} image", "script")
    assert written_by(line.run, MACHINE).faults == faults


def test_lines_that_share_cpus_or_gpus_are_told_of() -> None:
    """Docker itself does not mind."""
    first, second = reviewed(
        "docker run --cpuset-cpus=0-3 --cpuset-mems=0 --gpus device=0 one",
        "docker run --cpuset-cpus=2-5 --cpuset-mems=0,1 --gpus device=0 two",
    )
    assert (first.clashes, first.faulty) == ((), False)
    assert (second.clashes, second.faulty) == (("CPUs 2-3 and GPU0 are also those of line 1",), True)


def test_each_line_is_placed_beside_those_before_it() -> None:
    """With the amounts that it asks for: CPUs of the list, or of the limit, memory and GPUs."""
    reviews = reviewed(
        "docker run --cpuset-cpus=0-3 --cpuset-mems=0 --gpus device=0 one",
        "docker run --cpus 3.5 -m 1g --gpus 1 two",
        "docker run --cpuset-cpus=0 --cpuset-mems=0 three",
    )
    assert [one.plan.added.flags for one in reviews if one.plan is not None] == [
        ("--cpuset-cpus=0-3", "--cpuset-mems=0", "--gpus", '"device=GPU-0"'),
        ("--cpuset-cpus=4-7", "--cpuset-mems=1", "--gpus", '"device=GPU-1"'),
    ]
    assert reviews[2].refused


def test_the_same_is_asked_of_numafit() -> None:
    """What numafit chooses itself is left out; the rest stays as it was written."""
    [line] = docker_lines(
        "docker run -dit --cpuset-cpus=0-3 --cpuset-mems=0 -m 1g --gpus all --name web image -x", "script"
    )
    written = written_by(line.run, MACHINE)
    assert " ".join(numafit_words(written, line.run)) == (
        "numafit docker run --cpus 4 --memory 1Gi --gpus 2 -- -d -i -t -m 1g --name web image -x"
    )
