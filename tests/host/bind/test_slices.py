"""Slices that `numafit host setup` keeps on few CPUs, and who may leave them."""

from pathlib import Path

import pytest

from numafit.host.bind.slices import let_out
from numafit.host.bind.target import Target
from tests.host.children import NOBODY, in_child, needs_root, opened_up

FEW, ALL = Target(0b11, 1), Target(0xFF, 1)


def system(
    root: Path, *, told: str = "0-1", cpus: str = "0-1", group: str = "/user.slice/user-0.slice/x.scope"
) -> Path:
    folder = root / "etc/systemd/system/user.slice.d"
    cgroups = root / "sys/fs/cgroup/user.slice"
    for place in (folder, cgroups, root / "self"):
        place.mkdir(parents=True)
    if told:
        (folder / "50-numafit.conf").write_text(f"# a word\n[Slice]\nAllowedCPUs={told}\n")
    (cgroups / "cpuset.cpus.effective").write_text(f"{cpus}\n")
    (cgroups.parent / "cpuset.cpus.effective").write_text("0-7\n")
    (root / "self" / "cgroup").write_text(f"0::{group}\n")
    return root


def lets_out(root: Path, allowed: Target = FEW) -> Target:
    return let_out(allowed, root / "self", root)


def test_root_leaves_a_slice_that_setup_confined(tmp_path: Path) -> None:
    needs_root()
    assert lets_out(system(tmp_path)) == ALL


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({"told": ""}, FEW),
        ({"group": "/docker/abc"}, FEW),
        ({"cpus": "0-3"}, FEW),
        ({}, Target(0b1, 1)),
    ],
)
def test_what_else_confines_him_he_does_not_leave(tmp_path: Path, changes: dict[str, str], allowed: Target) -> None:
    """Somebody else's setting, another cgroup, one that was changed by hand, and `taskset` inside the slice."""
    needs_root()
    assert lets_out(system(tmp_path, **changes), allowed) == allowed


def test_an_ordinary_user_stays_in_it(tmp_path: Path) -> None:
    """The kernel would not let him out."""
    needs_root()
    root = opened_up(system(tmp_path))
    assert in_child(lambda: lets_out(root), user=NOBODY) == FEW
