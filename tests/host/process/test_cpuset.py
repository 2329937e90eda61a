"""Where cgroup hierarchies are mounted; what they give a process is tested with the observation of it."""

from pathlib import Path

import pytest

from numafit.host.process.cpuset import CgroupMount, cgroup_mounts


@pytest.mark.parametrize(
    ("line", "mount"),
    [
        (
            "41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw",
            CgroupMount(Path("/sys/fs/cgroup"), "/"),
        ),
        (r"41 31 0:38 /a\040b /odd\040place rw - cgroup2 none rw", CgroupMount(Path("/odd place"), "/a b")),
    ],
)
def test_the_hierarchy_is_found_in_mountinfo(tmp_path: Path, line: str, mount: CgroupMount) -> None:
    (tmp_path / "mountinfo").write_text(f"34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n{line}\n")
    assert cgroup_mounts(tmp_path, "cgroup2") == [mount]


@pytest.mark.parametrize(
    ("top", "group", "folder"),
    [("/", "/a/b", "/m/a/b"), ("/a", "/a/b", "/m/b"), ("/a", "/ab", None), ("/", "/../x", None), ("/a", "/a", "/m")],
)
def test_a_mount_shows_the_groups_below_its_top(top: str, group: str, folder: str | None) -> None:
    """What lies outside of the cgroup namespace is named by way of `..`, and is not shown."""
    assert CgroupMount(Path("/m"), top).folder_of(group) == (None if folder is None else Path(folder))
