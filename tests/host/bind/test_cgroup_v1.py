"""The cgroups of leases in the v1 cpuset hierarchy."""

import errno
from pathlib import Path

import pytest

from numafit.host.bind.cgroup import group_masks
from numafit.host.bind.cgroup_v1 import enter_v1, own_group, rewrite_v1
from numafit.host.bind.target import RungRefused, Target
from tests.host.bind.hierarchy import Hierarchy


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hierarchy:
    tree = Hierarchy(tmp_path, version=1, monkeypatch=monkeypatch)
    (tmp_path / "cpuset.effective_cpus").write_text("0-7\n")
    (tmp_path / "cpuset.effective_mems").write_text("0-1\n")
    return tree


def test_the_group_above_gets_all_that_its_parent_has(tree: Hierarchy) -> None:
    """In v1 a group starts empty, and a child takes only what its parent has."""
    enter_v1(tree.root, "lease", Target(0b1100, 0b10), 77)
    assert tree.written == [
        ("numafit/cpuset.cpus", "0-7"),
        ("numafit/cpuset.mems", "0-1"),
        ("numafit/lease/cpuset.cpus", "2-3"),
        ("numafit/lease/cpuset.mems", "1"),
        ("numafit/lease/cpuset.memory_migrate", "1"),
        ("numafit/lease/cgroup.procs", "77"),
    ]


def test_memory_that_is_not_bound_may_come_from_everywhere(tree: Hierarchy) -> None:
    """v1 takes no process into a group without memory nodes."""
    group = enter_v1(tree.root, "lease", Target(0b1), 77)
    assert group_masks(group) == Target(0b1, 0b11)
    assert group_masks(enter_v1(tree.root, "kept", Target(0b1, within=0b10), 78)) == Target(0b1, 0b10)


def test_a_job_inside_a_lease_gets_a_group_beside_it(tree: Hierarchy) -> None:
    """Either may end first."""
    outer = enter_v1(tree.root, "outer", Target(0b1111, 0b1), 77)
    assert enter_v1(outer, "inner", Target(0b1, 0b1), 78) == tree.root / "numafit/inner"


def test_what_cannot_be_completed_is_taken_back(tree: Hierarchy) -> None:
    tree.refused["numafit/lease/cgroup.procs"] = errno.ENOSPC
    with pytest.raises(RungRefused, match="No space left"):
        enter_v1(tree.root, "lease", Target(0b1, 0b1), 77)
    assert tree.groups() == []


def test_growing_widens_the_group_above_first(tree: Hierarchy) -> None:
    """CPUs may have come back since the group above was filled."""
    group = enter_v1(tree.root, "lease", Target(0b1, 0b1), 77)
    (tree.root / "cpuset.effective_cpus").write_text("0-15\n")
    tree.written.clear()
    rewrite_v1(group, Target(1 << 15, 0))
    assert tree.written == [("numafit/cpuset.cpus", "0-15"), ("numafit/lease/cpuset.cpus", "15")]


@pytest.mark.parametrize(
    ("top", "own", "expected"),
    [
        ("/", "/", "/mnt"),
        ("/", "/user/x", "/mnt/user/x"),
        ("/docker/abc", "/docker/abc", "/mnt"),
        ("/docker/abc", "/docker/abc/x", "/mnt/x"),
    ],
)
def test_the_own_group_is_found_where_its_hierarchy_is_mounted(
    tmp_path: Path, top: str, own: str, expected: str
) -> None:
    """Some containers see only their part of the hierarchy."""
    (tmp_path / "mountinfo").write_text(f"34 31 0:31 {top} /mnt rw - cgroup cgroup rw,cpuset,cpu\n")
    (tmp_path / "cgroup").write_text(f"9:name=systemd:/\n3:cpu,cpuset:{own}\n0::/\n")
    assert own_group(tmp_path) == Path(expected)


@pytest.mark.parametrize(("top", "own"), [("/docker/abc", "/docker/abcd"), ("/", "/../other")])
def test_a_group_that_cannot_be_seen_is_not_used(tmp_path: Path, top: str, own: str) -> None:
    (tmp_path / "mountinfo").write_text(f"34 31 0:31 {top} /mnt rw - cgroup cgroup rw,cpuset\n")
    (tmp_path / "cgroup").write_text(f"3:cpuset:{own}\n")
    with pytest.raises(RungRefused, match="is not mounted here"):
        own_group(tmp_path)
