"""Which cpuset a process lives in, and what of CPUs and memory that cpuset really gives: cgroup v1 and v2."""

from collections.abc import Iterator
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


def effective_cpuset(pid: int, root: Path) -> Cpuset | None:
    """None where no cpuset is mounted or it cannot be seen from here. Raises `OSError` for a process that is gone."""
    groups = (root / str(pid) / "cgroup").read_text("utf-8", "replace").splitlines()
    mounts = list(_mounts(root))
    for line in groups:
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        version = V2 if number == "0" and not controllers else V1 if "cpuset" in controllers.split(",") else ""
        for mounted, top, point in mounts:
            if mounted == version and (found := _read(version, point, top, group)) is not None:
                return found
    return None


def _mounts(root: Path) -> Iterator[tuple[str, str, Path]]:
    """(version, which part of the hierarchy, where) of each mounted hierarchy that may hold cpusets."""
    try:
        lines = (root / "self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, (kind, *options) = before.split(), after.split() or [""]
        if len(fields) < 5:
            continue
        top, point = fields[3], Path(fields[4].replace("\\040", " "))
        if kind == "cgroup2":
            yield V2, top, point
        elif kind == "cgroup" and "cpuset" in ",".join(options).split(","):
            yield V1, top, point


def _read(version: str, point: Path, top: str, group: str) -> Cpuset | None:
    """`top` is not `/` where only a part of the hierarchy is mounted, as in some containers."""
    inside = group if top == "/" else group.removeprefix(top) if f"{group}/".startswith(f"{top}/") else None
    if inside is None or ".." in inside.split("/"):
        return None
    folder = point / inside.strip("/")
    while True:
        masks = [_mask(folder, names) for names in _FILES[version]]
        if masks[0] is not None and masks[1] is not None:
            path = "/" + folder.relative_to(point).as_posix().removeprefix(".")
            return Cpuset(version, path, masks[0], masks[1])
        if folder == point:
            return None
        folder = folder.parent


def _mask(folder: Path, names: tuple[str, ...]) -> int | None:
    for name in names:
        try:
            return cpu_list((folder / name).read_text())
        except OSError:
            continue
    return None
