"""The ladder on the host that the tests run on: as root with whatever cgroups it has, and as an ordinary user."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from numafit.bits import cpuset_text, mask_of
from numafit.host.bind import kernel, ladder, mempolicy, systemd
from numafit.host.bind.cgroup import LeaseGroup
from numafit.host.bind.ladder import (
    bind_affinity,
    bind_self,
    expected_group,
    group_pids,
    lease_groups,
    rebind,
    remove_group,
)
from numafit.host.bind.target import CPUSET_RUNGS, INTERLEAVE, PREFER, BindError, Bound, RungRefused, Target
from tests.host.children import NOBODY, in_child, needs_cpus, needs_root

LEASE = f"test-{os.getpid()}"


def lowest_node() -> int:
    mems = kernel.status().mems
    return mems & -mems


@pytest.fixture
def cpuset_host() -> Iterator[None]:
    """A host where this process may make a cgroup with a cpuset; what a test leaves is removed."""
    needs_root()
    first, *_ = needs_cpus(2)
    found = in_child(lambda: bind_self(LEASE, Target(1 << first, lowest_node()), strict=False))
    if found.rung not in CPUSET_RUNGS:
        pytest.skip("; ".join(found.skipped))
    remove_group(found.cgroup)
    yield
    for group in lease_groups():
        if group.lease_id.startswith(LEASE):
            remove_group(group.cgroup)


@pytest.fixture
def no_cpusets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose cgroups and systemd are out of reach, as for an ordinary user."""

    def refuse(*_: object) -> Bound:
        raise RungRefused("out of reach")

    for rung in ("_in_v2", "_in_v1", "_in_scope"):
        monkeypatch.setattr(ladder, rung, refuse)


@pytest.mark.usefixtures("cpuset_host")
def test_root_is_held_by_a_cpuset() -> None:
    """What is claimed is what the kernel says, and the cgroup knows its process."""
    _, second, *_ = needs_cpus(2)
    target = Target(1 << second, lowest_node())

    def work() -> tuple[Bound, Target, bool, list[LeaseGroup]]:
        bound = bind_self(LEASE, target, strict=True)
        return bound, kernel.status(), group_pids(bound.cgroup) == [os.getpid()], lease_groups()

    bound, status, known, groups = in_child(work)
    assert (bound.cpus, bound.mems, status, known) == (target.cpus, target.mems, target, True)
    (group,) = [group for group in groups if group.lease_id == LEASE]
    assert (group.cgroup, group.cpus, group.mems, len(group.pids)) == (bound.cgroup, *_masks(target), 1)
    assert remove_group(bound.cgroup)
    assert not Path(bound.cgroup).exists()


@pytest.mark.usefixtures("cpuset_host")
def test_the_group_that_is_expected_is_the_one_that_is_made() -> None:
    """Once the folder of groups is there: a look says what an attempt would come to."""
    cpus = mask_of(needs_cpus(1))
    bound = in_child(lambda: bind_self(LEASE, Target(cpus), strict=True))
    assert remove_group(bound.cgroup)
    expected = in_child(expected_group)
    assert expected == Bound(bound.rung, 0, 0, str(Path(bound.cgroup).parent), skipped=bound.skipped)


def test_of_what_may_not_be_written_no_group_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert expected_group() is None


def _masks(target: Target) -> tuple[int, int]:
    return target.cpus, target.mems


@pytest.mark.usefixtures("cpuset_host")
def test_a_process_with_a_narrower_affinity_gets_all_of_its_cpuset() -> None:
    """`taskset 0x1 numafit run …` is no reason to leave the other CPUs of the lease idle."""
    first, second, *_ = needs_cpus(2)

    def work() -> int:
        os.sched_setaffinity(0, [first])
        bind_self(LEASE, Target(1 << first | 1 << second), strict=True)
        return kernel.affinity()

    assert in_child(work) == 1 << first | 1 << second


@pytest.mark.usefixtures("cpuset_host")
def test_a_process_cannot_leave_its_cpuset() -> None:
    """What the strongest rungs have and affinity has not."""
    first, second, *_ = needs_cpus(2)

    def work() -> int:
        bind_self(LEASE, Target(1 << first), strict=True)
        try:
            os.sched_setaffinity(0, [second])
        except OSError as error:
            return error.errno or 0
        return 0

    assert in_child(work) == errno.EINVAL


@pytest.mark.usefixtures("cpuset_host")
def test_running_processes_follow_their_cgroup() -> None:
    """Both ways: a shared pool shrinks and grows."""
    first, second, *_ = needs_cpus(2)
    small, large = Target(1 << first), Target(1 << first | 1 << second)

    def work() -> list[int]:
        bound = bind_self(LEASE, large, strict=True)
        child = subprocess.Popen(["sleep", "60"])
        try:
            seen = []
            for target in (small, large):
                moved = rebind(LEASE, bound.rung, bound.cgroup, [], target)
                assert isinstance(moved, Bound), moved
                seen += [moved.cpus, kernel.affinity(child.pid), kernel.affinity()]
            return seen
        finally:
            child.kill()
            child.wait()

    assert in_child(work) == [small.cpus] * 3 + [large.cpus] * 3


@pytest.mark.usefixtures("cpuset_host")
def test_a_cgroup_is_kept_while_something_runs_in_it() -> None:
    """Nothing is killed to get rid of it."""
    first, *_ = needs_cpus(1)

    def work() -> tuple[str, int]:
        bound = bind_self(LEASE, Target(1 << first), strict=True)
        return bound.cgroup, subprocess.Popen(["sleep", "60"], start_new_session=True).pid

    cgroup, pid = in_child(work)
    try:
        assert not remove_group(cgroup)
        assert group_pids(cgroup) == [pid]
    finally:
        os.kill(pid, 9)
    assert remove_group(cgroup)
    assert remove_group(cgroup)


def test_an_ordinary_user_gets_affinity_and_memory_policy() -> None:
    """And is told why not more: one sentence for each stronger rung."""
    needs_root()
    first, *_ = needs_cpus(1)
    node = lowest_node()

    def work() -> tuple[Bound, int, str]:
        bound = bind_self(LEASE, Target(1 << first, node), strict=False)
        return bound, kernel.affinity(), str(kernel.get_memory_policy())

    bound, affinity, policy = in_child(work, user=NOBODY)
    if bound.rung != "affinity and memory policy":
        pytest.skip(f"reached {bound.rung}: {'; '.join(bound.skipped)}")
    assert (bound.cpus, bound.mems, affinity, policy) == (1 << first, node, 1 << first, bound.memory_policy)
    assert [sentence.partition(":")[0] for sentence in bound.skipped] == ["cgroup v2", "cgroup v1", "systemd scope"]


def test_with_strict_an_ordinary_user_is_refused(no_cpusets: None) -> None:
    first, *_ = needs_cpus(1)
    with pytest.raises(BindError, match="cannot be held by a cpuset: cgroup v2: out of reach; cgroup v1: out of reach"):
        bind_self(LEASE, Target(1 << first), strict=True)


def test_memory_that_cannot_be_bound_is_preferred(no_cpusets: None, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = needs_cpus(1)
    real = kernel.set_memory_policy

    def refuse(mode: int, nodes: int) -> None:
        if mode == mempolicy.BIND:
            raise OSError(errno.EINVAL, "Invalid argument")
        real(mode, nodes)

    monkeypatch.setattr(kernel, "set_memory_policy", refuse)
    bound = in_child(lambda: bind_self(LEASE, Target(1 << first, lowest_node()), strict=False))
    if bound.rung == "affinity":
        pytest.skip(bound.skipped[-1])
    node = cpuset_text(lowest_node())
    assert (bound.rung, bound.memory_policy) == ("affinity and memory policy", f"preferred {node}")
    assert bound.skipped[-1] == f"affinity and memory policy: bind {node}: Invalid argument"


@pytest.mark.parametrize(
    ("nodes", "rung", "modes"),
    [
        (0b01, "affinity and memory policy", [mempolicy.PREFERRED_MANY | mempolicy.BALANCING, mempolicy.PREFERRED]),
        (0b11, "affinity", [mempolicy.PREFERRED_MANY | mempolicy.BALANCING, mempolicy.PREFERRED_MANY]),
    ],
)
def test_an_old_kernel_prefers_one_node_or_what_is_near(
    nodes: int, rung: str, modes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several nodes are preferred since Linux 5.15. Before, memory of several is not bound instead: that could end a
    job whose nodes are full."""
    tried: list[int] = []

    def old(mode: int, _nodes: int) -> None:
        tried.append(mode)
        if mode & ~mempolicy.BALANCING == mempolicy.PREFERRED_MANY:
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(kernel, "set_memory_policy", old)
    monkeypatch.setattr(kernel, "get_memory_policy", lambda: kernel.MemoryPolicy(mempolicy.PREFERRED, nodes))
    monkeypatch.setattr(kernel, "status", lambda *_: Target(0b1, 0b111))
    monkeypatch.setattr(kernel, "affinity", lambda *_: 0b1)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    bound = bind_affinity(Target(0b1, nodes, PREFER))
    assert (bound.rung, tried) == (rung, modes)
    told = () if nodes == 1 else ("affinity and memory policy: preferred 0-1: Invalid argument",)
    assert (bound.mems, bound.skipped) == (nodes if nodes == 1 else 0b111, told)


def test_memory_of_every_node_is_preferred_by_doing_nothing(no_cpusets: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy would keep the kernel from moving pages to who uses them."""
    first, *_ = needs_cpus(1)
    mems = kernel.status().mems
    monkeypatch.setattr(kernel, "set_memory_policy", lambda *_: pytest.fail("a policy was set"))
    bound = in_child(lambda: bind_affinity(Target(1 << first, mems, PREFER)))
    assert (bound.rung, bound.mems, bound.memory_policy, bound.skipped) == ("affinity", mems, "", ())


@pytest.mark.usefixtures("cpuset_host")
@pytest.mark.parametrize("way", [PREFER, INTERLEAVE])
def test_a_cpuset_forces_no_memory_that_is_not_bound(way: str) -> None:
    """`cpuset.mems` is left as wide as it is."""
    first, *_ = needs_cpus(1)

    def work() -> tuple[int, str]:
        bound = bind_self(LEASE, Target(1 << first, lowest_node(), way), strict=True)
        return kernel.status().mems, bound.memory_policy

    mems = kernel.status().mems
    expected = "" if way == PREFER and mems == lowest_node() else f"{way} {cpuset_text(lowest_node())}"
    assert in_child(work) == (mems, expected)


def test_a_limit_of_memory_needs_a_cgroup(no_cpusets: None) -> None:
    """Nothing is started that could use more than was said."""
    first, *_ = needs_cpus(1)
    with pytest.raises(BindError, match=r"job cannot be limited: cgroup v2: out of reach; .*--limit-memory"):
        bind_self(LEASE, Target(1 << first, limit=1 << 20), strict=False)


def test_without_a_memory_policy_there_is_affinity(no_cpusets: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker's default filter forbids set_mempolicy."""
    first, *_ = needs_cpus(1)

    def refuse(mode: int, nodes: int) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(kernel, "set_memory_policy", refuse)
    bound = in_child(lambda: bind_self(LEASE, Target(1 << first, lowest_node()), strict=False))
    assert (bound.rung, bound.cpus, bound.memory_policy) == ("affinity", 1 << first, "")
    assert "Operation not permitted" in bound.skipped[-1]


def test_a_policy_that_comes_out_otherwise_is_taken_back(no_cpusets: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read back, not believed."""
    first, *_ = needs_cpus(1)
    monkeypatch.setattr(kernel, "get_memory_policy", lambda: kernel.MemoryPolicy(mempolicy.INTERLEAVE, 1))
    bound = in_child(lambda: bind_self(LEASE, Target(1 << first, lowest_node()), strict=False))
    assert (bound.rung, bound.memory_policy) == ("affinity", "")


def test_where_even_affinity_is_refused_nothing_is_claimed(no_cpusets: None, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = needs_cpus(1)
    before = kernel.affinity()

    def refuse(thread: int, cpus: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    bound = bind_self(LEASE, Target(1 << first), strict=False)
    assert (bound.rung, bound.cpus) == ("none", before)
    assert bound.skipped[-1].startswith("affinity: Operation not permitted")


def test_memory_that_nobody_asked_to_bind_leaves_no_complaint(no_cpusets: None) -> None:
    first, *_ = needs_cpus(1)
    bound = in_child(lambda: bind_affinity(Target(1 << first)))
    assert (bound.rung, bound.skipped) == ("affinity", ())


@pytest.mark.parametrize("what", ["CPUs", "memory nodes"])
def test_a_target_outside_of_what_is_allowed_is_refused(what: str) -> None:
    """A container's cpuset is no obstacle to step around."""
    needs_cpus(1)
    allowed = kernel.allowed_by_cpuset()
    if not allowed.mems:
        pytest.skip("this kernel names no memory nodes")
    target = Target(1 << 4000) if what == "CPUs" else Target(allowed.cpus, 1 << 900)
    with pytest.raises(BindError, match=f"{what} [0-9]+ are not allowed to this process, which may use"):
        bind_self(LEASE, target, strict=False)


def test_no_cpu_is_nothing_to_bind_to() -> None:
    with pytest.raises(BindError, match="no CPU"):
        bind_self(LEASE, Target(0), strict=False)


def test_without_a_cgroup_every_thread_and_descendant_is_moved() -> None:
    first, *_ = needs_cpus(2)
    script = "sleep 60 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        inner = int(shell.stdout.readline())
        try:
            moved = rebind(LEASE, "affinity", "", [shell.pid], Target(1 << first))
            assert isinstance(moved, Bound), moved
            assert [moved.cpus, kernel.affinity(shell.pid), kernel.affinity(inner)] == [1 << first] * 3
        finally:
            os.kill(inner, 9)


def test_a_process_of_somebody_else_is_a_reason_and_no_error() -> None:
    needs_root()
    first, *_ = needs_cpus(2)
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            said = in_child(lambda: rebind(LEASE, "affinity", "", [process.pid], Target(1 << first)), user=NOBODY)
        finally:
            process.kill()
    assert said == f"process {process.pid}: Operation not permitted"


def test_a_process_that_is_gone_needs_no_move() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert isinstance(rebind(LEASE, "affinity", "", [process.pid], Target(1)), Bound)


def test_a_cgroup_that_is_gone_is_a_reason() -> None:
    said = rebind(LEASE, "cgroup v2", "/sys/fs/cgroup/numafit/gone", [], Target(1))
    assert isinstance(said, str)
    assert "No such file" in said or "is no cgroup" in said


def test_what_is_no_cgroup_is_neither_written_nor_removed(tmp_path: Path) -> None:
    """Whatever path a ledger that many share has for the cgroup of a lease."""
    group = tmp_path / "numafit" / LEASE
    group.mkdir(parents=True)
    (group / "cpuset.cpus").write_text("mine\n")
    for path in (group, Path(f"/sys/fs/cgroup/../../..{group}")):
        assert rebind(LEASE, "cgroup v2", str(path), [], Target(1)) == f"{path} is no cgroup"
    assert (group / "cpuset.cpus").read_text() == "mine\n"
    (group / "cpuset.cpus").unlink()
    assert not remove_group(str(group))
    assert group.exists()


def test_only_groups_of_leases_are_removed(tmp_path: Path) -> None:
    """A scope is systemd's to remove, and nobody's own group is ours."""
    foreign = tmp_path / "system.slice" / "some.scope"
    foreign.mkdir(parents=True)
    assert not remove_group(str(foreign))
    assert foreign.exists()
    assert remove_group("")


def test_a_scope_is_moved_by_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what its cgroup says then is what is claimed."""
    asked: list[tuple[str, Target]] = []

    def change(lease_id: str, target: Target) -> None:
        asked.append((lease_id, target))
        (tmp_path / "cpuset.cpus.effective").write_text("0-1\n")
        (tmp_path / "cpuset.mems.effective").write_text("0\n")

    monkeypatch.setattr(systemd, "change_scope", change)
    target = Target(mask_of([0, 1]))
    assert rebind("x", "systemd scope", str(tmp_path), [], target) == Bound("systemd scope", 3, 1, str(tmp_path))
    assert asked == [("x", target)]


def test_only_old_and_empty_cgroups_that_nobody_knows_are_tidied_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that starts makes its cgroup first, enters it next, and is written down last."""
    folder = tmp_path / "numafit"
    found = [LeaseGroup(name, str(folder / name), 1, 1, pids) for name, pids in NAMED_GROUPS.items()]
    for group in found:
        Path(group.cgroup).mkdir(parents=True)
    made = os.stat(folder).st_ctime
    monkeypatch.setattr(ladder, "lease_groups", lambda: found)
    monkeypatch.setattr(ladder, "is_cgroup", lambda path: folder in path.parents)
    left = []
    for age in (5, 1000):
        monkeypatch.setattr("time.time", lambda age=age: made + age)
        ladder.remove_orphans({"known"})
        left.append(sorted(path.name for path in folder.iterdir()))
    assert left == [["known", "orphan", "used"], ["known", "used"]]


NAMED_GROUPS: dict[str, tuple[int, ...]] = {"known": (), "used": (7,), "orphan": ()}
