"""The cgroups of leases in the v2 hierarchy: the order of the steps and how they are taken back, in a folder that
behaves like one. The kernel's own behaviour is met in the VM."""

import errno
from pathlib import Path

import pytest

from numafit.host.bind import cgroup
from numafit.host.bind.cgroup import (
    check_limits,
    enter_v2,
    group_masks,
    group_members,
    is_limited,
    remove_folder,
    v2_root,
)
from numafit.host.bind.target import PREFER, RungRefused, Target
from tests.host.bind.hierarchy import Hierarchy

TARGET = Target(0b1100, 0b10)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hierarchy:
    return Hierarchy(tmp_path, version=2, monkeypatch=monkeypatch)


def test_a_process_enters_a_group_of_its_own_with_cpus_and_memory_nodes(tree: Hierarchy) -> None:
    """The controller first, then the cpuset, the process last: it is never in a group that is not ready."""
    group = enter_v2(tree.root, "lease", TARGET, 77)
    assert group == tree.root / "numafit" / "lease"
    assert tree.written == [
        ("cgroup.subtree_control", "+cpuset"),
        ("numafit/cgroup.subtree_control", "+cpuset"),
        ("numafit/lease/cpuset.cpus", "2-3"),
        ("numafit/lease/cpuset.mems", "1"),
        ("numafit/lease/cgroup.procs", "77"),
    ]
    assert (group_masks(group), group_members(group)) == (TARGET, [77])


def test_the_second_lease_finds_the_controller_enabled(tree: Hierarchy) -> None:
    enter_v2(tree.root, "first", TARGET, 77)
    tree.written.clear()
    enter_v2(tree.root, "second", Target(0b1), 78)
    assert tree.written == [("numafit/second/cpuset.cpus", "0"), ("numafit/second/cgroup.procs", "78")]


def test_a_process_that_may_use_some_memory_nodes_is_not_let_out_of_them(tree: Hierarchy) -> None:
    """The group is made beside the one that kept it there, whatever way its memory comes."""
    enter_v2(tree.root, "lease", Target(0b1100, 0b10, PREFER, within=0b10), 77)
    enter_v2(tree.root, "shared", Target(0b1100, within=0b10), 78)
    assert [text for name, text in tree.written if name.endswith("cpuset.mems")] == ["1", "1"]


def test_memory_that_is_preferred_leaves_the_memory_nodes_alone_and_a_limit_is_written(tree: Hierarchy) -> None:
    """`cpuset.mems` would force it; a limit needs the memory controller."""
    enter_v2(tree.root, "lease", Target(0b1100, 0b10, PREFER, 10_000_000), 77)
    assert tree.written == [
        ("cgroup.subtree_control", "+cpuset"),
        ("cgroup.subtree_control", "+memory"),
        ("numafit/cgroup.subtree_control", "+cpuset"),
        ("numafit/cgroup.subtree_control", "+memory"),
        ("numafit/lease/cpuset.cpus", "2-3"),
        ("numafit/lease/memory.max", "10000000"),
        ("numafit/lease/cgroup.procs", "77"),
    ]


def test_without_the_memory_controller_nothing_is_limited_and_all_is_taken_back(tree: Hierarchy) -> None:
    tree.refused["numafit/lease/memory.max"] = errno.ENOENT
    with pytest.raises(RungRefused, match=r"memory\.max"):
        enter_v2(tree.root, "lease", Target(0b1, limit=1 << 20), 77)
    assert tree.groups() == []
    assert (tree.root / "cgroup.subtree_control").read_text().split() == []


@pytest.mark.parametrize(("found", "limited"), [("65536", True), ("61440", True), ("0", False), ("max", False)])
def test_a_limit_is_read_back_in_whole_pages(tmp_path: Path, found: str, limited: bool) -> None:
    """The kernel rounds down to them; they have up to 64 KiB."""
    (tmp_path / "memory.max").write_text(f"{found}\n")
    assert is_limited(tmp_path, 65536) == limited


@pytest.mark.parametrize(
    "file", ["numafit/lease/cpuset.cpus", "numafit/lease/cpuset.mems", "numafit/lease/cgroup.procs"]
)
def test_what_cannot_be_completed_is_taken_back(tree: Hierarchy, file: str) -> None:
    """Groups and controller: a container's cgroup is left as it was found."""
    tree.refused[file] = errno.EBUSY
    with pytest.raises(RungRefused, match="busy"):
        enter_v2(tree.root, "lease", TARGET, 77)
    assert tree.groups() == []
    assert (tree.root / "cgroup.subtree_control").read_text().split() == []


def test_taking_back_does_not_touch_another_lease(tree: Hierarchy) -> None:
    """Also one that is just being made: its group is empty, and its controller must stay."""
    enter_v2(tree.root, "other", TARGET, 77)
    (tree.root / "numafit/other/cgroup.procs").write_text("")
    tree.refused["numafit/lease/cgroup.procs"] = errno.EBUSY
    with pytest.raises(RungRefused):
        enter_v2(tree.root, "lease", TARGET, 78)
    assert tree.groups() == ["numafit", "numafit/other"]
    assert (tree.root / "cgroup.subtree_control").read_text().split() == ["cpuset"]
    assert (tree.root / "numafit/cgroup.subtree_control").read_text().split() == ["cpuset"]


def test_a_cpuset_that_comes_out_otherwise_is_refused(tree: Hierarchy) -> None:
    """A parent with fewer CPUs cuts the set without an error."""
    tree.effective = {}
    with pytest.raises(RungRefused, match=r"cpuset\.cpus\.effective is empty, not 2-3"):
        enter_v2(tree.root, "lease", TARGET, 77)
    assert tree.groups() == []


def test_a_container_whose_processes_sit_at_its_root_is_left_alone(tree: Hierarchy) -> None:
    """The kernel would make a threaded domain of it."""
    (tree.root / "cgroup.type").write_text("domain\n")
    (tree.root / "cgroup.procs").write_text("1\n")
    with pytest.raises(RungRefused, match="processes run in"):
        enter_v2(tree.root, "lease", TARGET, 77)
    assert tree.written == []


@pytest.mark.parametrize(
    ("name", "value", "refused"),
    [
        ("memory.max", "1073741824", True),
        ("memory.high", "1073741824", True),
        ("cpu.max", "50000 100000", True),
        ("memory.max", "max", False),
        ("cpu.max", "max 100000", False),
        ("pids.max", "100", False),
    ],
)
def test_limits_of_the_own_group_are_not_left_behind(tmp_path: Path, name: str, value: str, refused: bool) -> None:
    """Nor those of a group above it: memory and CPU time are somebody's promise, too."""
    own = tmp_path / "service" / "inner"
    own.mkdir(parents=True)
    check_limits(tmp_path, own)
    (tmp_path / "service" / name).write_text(f"{value}\n")
    if refused:
        with pytest.raises(RungRefused, match=f"service/{name} limits this process to {value}"):
            check_limits(tmp_path, own)
    else:
        check_limits(tmp_path, own)


def test_members_are_counted_below_the_group_as_well(tree: Hierarchy) -> None:
    group = enter_v2(tree.root, "lease", TARGET, 77)
    (group / "inner").mkdir()
    (group / "inner/cgroup.procs").write_text("80\n79\n")
    assert group_members(group) == [77, 79, 80]
    assert group_members(tree.root / "gone") == []


def test_a_group_is_removed_only_when_nothing_runs_in_it(tree: Hierarchy, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the groups that its processes made in it."""
    monkeypatch.setattr(cgroup, "_REMOVE_PAUSE", 0)
    group = enter_v2(tree.root, "lease", TARGET, 77)
    (group / "inner").mkdir()
    assert not remove_folder(group)
    assert group.exists()
    (group / "cgroup.procs").write_text("")
    assert remove_folder(group)
    assert not group.exists()


def test_a_v2_hierarchy_without_cpusets_is_not_used(tmp_path: Path) -> None:
    """On a hybrid system the controller is in the v1 hierarchy."""
    (tmp_path / "mountinfo").write_text(f"41 31 0:38 / {tmp_path} rw - cgroup2 cgroup2 rw\n")
    (tmp_path / "cgroup.controllers").write_text("pids\n")
    with pytest.raises(RungRefused, match="has no cpuset controller"):
        v2_root(tmp_path)
    (tmp_path / "mountinfo").write_text("")
    with pytest.raises(RungRefused, match="no cgroup v2 hierarchy is mounted"):
        v2_root(tmp_path)
