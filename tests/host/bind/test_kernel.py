"""What the kernel is asked directly, on the kernel that the tests run on."""

import errno
import os
from pathlib import Path

import pytest

from numafit.host.bind import kernel, mempolicy
from numafit.host.bind.kernel import MemoryPolicy
from numafit.host.bind.mempolicy import BIND, DEFAULT, PREFERRED
from numafit.host.bind.target import Target
from tests.host.children import in_child, needs_cpus


def lowest_node() -> int:
    mems = kernel.status().mems
    try:
        kernel.get_memory_policy()
    except OSError as error:
        pytest.skip(f"get_mempolicy: {error.strerror}")
    if not mems:
        pytest.skip("this kernel names no memory nodes")
    return mems & -mems


@pytest.mark.parametrize("mode", [BIND, PREFERRED])
def test_a_memory_policy_is_read_back_as_it_was_set(mode: int) -> None:
    node = lowest_node()

    def work() -> MemoryPolicy | int:
        try:
            kernel.set_memory_policy(mode, node)
        except OSError as error:
            return error.errno or 0
        return kernel.get_memory_policy()

    found = in_child(work)
    if found == errno.EPERM:
        pytest.skip("set_mempolicy is not permitted here")
    assert found == MemoryPolicy(mode, node)


def test_a_policy_can_be_taken_back() -> None:
    node = lowest_node()

    def work() -> MemoryPolicy:
        kernel.set_memory_policy(PREFERRED, node)
        kernel.set_memory_policy(DEFAULT, 0)
        return kernel.get_memory_policy()

    assert in_child(work) == MemoryPolicy(DEFAULT, 0)


@pytest.mark.parametrize("nodes", [1 << 1000, 1 << 5000])
def test_a_node_that_is_not_there_is_refused(nodes: int) -> None:
    """Also one that no kernel has a bit for."""
    lowest_node()

    def work() -> int:
        try:
            kernel.set_memory_policy(BIND, nodes)
        except OSError as error:
            return error.errno or 0
        return 0

    assert in_child(work) == errno.EINVAL


def test_an_unknown_architecture_has_no_memory_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a system call is not guessed."""
    monkeypatch.setattr(mempolicy, "_CALLS", {})
    with pytest.raises(OSError, match=os.strerror(errno.ENOSYS)):
        kernel.get_memory_policy()


@pytest.mark.parametrize(
    ("policy", "text"),
    [(MemoryPolicy(BIND, 0b11), "bind 0-1"), (MemoryPolicy(PREFERRED, 1), "preferred 0"), (MemoryPolicy(0, 0), "")],
)
def test_a_policy_reads_as_numactl_names_it(policy: MemoryPolicy, text: str) -> None:
    assert str(policy) == text


def test_what_is_allowed_does_not_depend_on_the_affinity() -> None:
    """`taskset` narrows what a process uses, not what it may use; asking leaves no trace."""
    first, *_ = needs_cpus(2)

    def work() -> tuple[Target, int]:
        os.sched_setaffinity(0, [first])
        return kernel.allowed_by_cpuset(), kernel.affinity()

    allowed, affinity = in_child(work)
    assert (allowed, affinity) == (kernel.allowed_by_cpuset(), 1 << first)
    assert allowed.cpus & kernel.affinity() == kernel.affinity()


def test_the_lists_of_a_status_are_read(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-2,5\nMems_allowed_list:\t1\n")
    assert kernel.status(tmp_path) == Target(0b100111, 0b10)


def test_the_nodes_with_memory_are_read(tmp_path: Path) -> None:
    assert kernel.memory_nodes(tmp_path) == 0
    (tmp_path / "has_memory").write_text("0,2\n")
    assert kernel.memory_nodes(tmp_path) == 0b101


def test_a_kernel_without_cpusets_names_no_memory_nodes(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("Cpus_allowed_list:\t0-1\n")
    assert kernel.status(tmp_path) == Target(0b11, 0)
