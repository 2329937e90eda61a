"""numafit inside virtual machines finds what their definitions say."""

import pytest

from numafit.cli.options.machine import resolve_machine
from numafit.machine.file.read import read_machine_file
from tests.vm import Job, Result, Shape, run_jobs
from tests.vm.facts import facts_of_machine, facts_of_shape, kernel_share
from tests.vm.shapes import MEMORY_ONLY, TWO_SOCKETS

pytestmark = pytest.mark.real

SHAPES = {"two sockets": TWO_SOCKETS, "a node without CPUs": MEMORY_ONLY}
SHOW = Job("show", "numafit machine show -o json")
CAPTURE = Job("capture", 'numafit machine capture --out "$OUT/box.tgz"', user="worker")
CPUSET = Job(
    "cpuset",
    """set -e
    cd /sys/fs/cgroup/cpuset 2> /dev/null || cd /sys/fs/cgroup
    mkdir mine
    echo 5 > mine/cpuset.cpus
    echo $(($(ls -d /sys/devices/system/node/node* | wc -l) - 1)) > mine/cpuset.mems
    echo $$ > mine/cgroup.procs
    grep allowed_list /proc/self/status
    """,
)

Booted = tuple[Shape, dict[str, Result]]


@pytest.fixture(scope="module", params=SHAPES, ids=str)
def booted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Booted:
    shape = SHAPES[request.param]
    return shape, run_jobs(shape, [SHOW, CAPTURE, CPUSET], tmp_path_factory.mktemp("vm"))


def test_the_machine_shown_is_the_machine_defined(booted: Booted) -> None:
    """CPUs, cores with their threads, sockets, NUMA nodes, distances, and devices with their NUMA nodes."""
    shape, results = booted
    assert results["show"].stderr == ""
    assert facts_of_machine(read_machine_file(results["show"].stdout)) == facts_of_shape(shape)


def test_the_kernel_keeps_a_small_part_of_the_memory(booted: Booted) -> None:
    """MemTotal of a NUMA node is its memory less what the kernel took at its start."""
    shape, results = booted
    shares = kernel_share(read_machine_file(results["show"].stdout), shape)
    assert all(0 < share < 1 / 8 for share in shares), shares


def test_a_capture_holds_the_same_machine(booted: Booted) -> None:
    """Also when an ordinary user makes it; numactl and lscpu, which it brings along, disagree with nothing."""
    _, results = booted
    combined = resolve_machine([str(results["capture"].folder / "box.tgz")])
    shown = read_machine_file(results["show"].stdout)
    assert facts_of_machine(combined.machine) == facts_of_machine(shown)
    assert combined.disagreements == ()


def test_a_cpuset_binds(booted: Booted) -> None:
    """To a CPU and to the last NUMA node, in both versions of cgroups and also where that node has no CPU."""
    shape, results = booted
    last = len(shape.nodes) - 1
    assert results["cpuset"].stderr == ""
    assert results["cpuset"].stdout == f"Cpus_allowed_list:\t5\nMems_allowed_list:\t{last}\n"
