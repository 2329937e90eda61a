"""Which cpuset a process lives in, and what of CPUs and memory that cpuset really gives: cgroup v1 and v2."""

from pathlib import Path

import msgspec

from numafit.machine.read.sysfs.text import cpu_list

V1, V2 = "v1", "v2"
_FILES = {
    # Kernels before 3.17 have no effective files in v1; what is set counts there.
    V1: (("cpuset.effective_cpus", "cpuset.cpus"), ("cpuset.effective_mems", "cpuset.mems")),
    V2: (("cpuset.cpus.effective",), ("cpuset.mems.effective",)),
}


class Cpuset(msgspec.Struct, frozen=True):
    version: str
    path: str
    """The group that decides; in v2 an ancestor where the group itself has no cpuset controller."""
    cpus: int
    mems: int


class CgroupMount(msgspec.Struct, frozen=True):
    """A mounted cgroup hierarchy."""

    folder: Path
    top: str
    """Which group of the hierarchy is seen at `folder`; `/` but in some containers."""

    def folder_of(self, group: str) -> Path | None:
        """None: this mount does not show the group."""
        if self.top == "/":
            inside = group
        elif f"{group}/".startswith(f"{self.top}/"):
            inside = group.removeprefix(self.top)
        else:
            return None
        # What lies outside of the cgroup namespace is named by way of `..` and cannot be reached.
        return None if ".." in inside.split("/") else self.folder / inside.strip("/")


def effective_cpuset(pid: int, root: Path) -> Cpuset | None:
    """None where no cpuset is mounted or it cannot be seen from here. Raises `OSError` for a process that is gone."""
    groups = (root / str(pid) / "cgroup").read_text("utf-8", "replace").splitlines()
    process = root / "self"
    for line in groups:
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" and not controllers:
            version, mounts = V2, _seen_mounts(process, "cgroup2")
        elif "cpuset" in controllers.split(","):
            version, mounts = V1, _seen_mounts(process, "cgroup", "cpuset")
        else:
            continue
        for mount in mounts:
            if (found := _read(version, mount, group)) is not None:
                return found
    return None


def _seen_mounts(process: Path, kind: str, controller: str = "") -> list[CgroupMount]:
    try:
        return cgroup_mounts(process, kind, controller)
    except OSError:
        return []


def cgroup_mounts(process: Path, kind: str, controller: str = "") -> list[CgroupMount]:
    """What `process` sees mounted of type `cgroup2`, or of type `cgroup` with the controller."""
    found = []
    for line in (process / "mountinfo").read_text("utf-8", "replace").splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if len(fields) < 5 or kinds[0] != kind:
            continue
        if not controller or controller in kinds[-1].split(","):
            found.append(CgroupMount(Path(_unescaped(fields[4])), _unescaped(fields[3])))
    return found


def _unescaped(text: str) -> str:
    """mountinfo writes blanks, tabs, line ends and backslashes as octal numbers."""
    for code in ("040", "011", "012", "134"):
        text = text.replace(f"\\{code}", chr(int(code, 8)))
    return text


def _read(version: str, mount: CgroupMount, group: str) -> Cpuset | None:
    folder = mount.folder_of(group)
    if folder is None:
        return None
    while True:
        masks = [_mask(folder, names) for names in _FILES[version]]
        if masks[0] is not None and masks[1] is not None:
            path = "/" + folder.relative_to(mount.folder).as_posix().removeprefix(".")
            return Cpuset(version, path, masks[0], masks[1])
        if folder == mount.folder:
            return None
        folder = folder.parent


def _mask(folder: Path, names: tuple[str, ...]) -> int | None:
    for name in names:
        try:
            return cpu_list((folder / name).read_text())
        except OSError:
            continue
    return None
