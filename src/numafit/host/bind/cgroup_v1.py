"""The cgroup of a lease in the v1 cpuset hierarchy: `<own group>/numafit/<lease>`.

In v1 a group starts without CPUs and memory nodes and takes no process until it has both, a child's must lie within its
parent's, and processes and groups may lie side by side.
"""

from contextlib import suppress
from pathlib import Path

from numafit.bits import cpuset_text
from numafit.host.bind.cgroup import CPUS, FOLDER, MAKE_TRIES, MEMS, PROCESSES, group_masks, read, refusal, write
from numafit.host.bind.kernel import SELF
from numafit.host.bind.target import RungRefused, Target
from numafit.host.process.cpuset import cgroup_mounts
from numafit.machine.read.sysfs.text import cpu_list

_MIGRATE = "cpuset.memory_migrate"


def own_group(process: Path = SELF) -> Path:
    """The folder of the process's own cpuset, as far as it is mounted here."""
    mounts = list(cgroup_mounts(process, "cgroup", "cpuset"))
    if not mounts:
        raise RungRefused("no cgroup v1 hierarchy with the cpuset controller is mounted")
    group = _group_name(process)
    for mount in mounts:
        folder = mount.folder_of(group)
        if folder is not None:
            return folder
    raise RungRefused(f"the cpuset group {group} of this process is not mounted here")


def _group_name(process: Path) -> str:
    for line in (process / "cgroup").read_text("utf-8", "replace").splitlines():
        _, controllers, group = line.split(":", 2)
        if "cpuset" in controllers.split(","):
            return group
    raise RungRefused("this process is in no cpuset group")


def base_group(own: Path) -> Path:
    """A job started from inside a lease gets a group beside that lease's and not within it: either may end first."""
    return own.parent.parent if own.parent.name == FOLDER else own


def enter_v1(own: Path, lease_id: str, target: Target, pid: int) -> Path:
    """Makes the cgroup and moves the process; what cannot be completed is taken back. Returns the folder."""
    if target.limit:
        raise RungRefused("numafit limits memory in cgroup v2 only")
    base = base_group(own)
    parent, group = base / FOLDER, base / FOLDER / lease_id
    made: list[Path] = []
    try:
        # The group above stays for good once it has held a job: it is empty and limits nothing.
        _make_both(group, made)
        _fill(parent, base)
        write(group / CPUS, cpuset_text(target.cpus))
        write(group / MEMS, cpuset_text(target.cpuset_mems or group_masks(parent).mems))
        # Pages follow the process to its memory nodes, as they always do in v2.
        write(group / _MIGRATE, "1")
        write(group / PROCESSES, str(pid))
    except (OSError, RungRefused) as error:
        with suppress(OSError):
            for folder in reversed(made):
                folder.rmdir()
        raise refusal(error) from error
    return group


def _make_both(group: Path, made: list[Path]) -> None:
    for attempt in range(MAKE_TRIES):
        try:
            for folder in (group.parent, group):
                with suppress(FileExistsError):
                    folder.mkdir()
                    made.append(folder)
            return
        except FileNotFoundError:
            # Another start that failed just took back the group above.
            if attempt == MAKE_TRIES - 1:
                raise


def _fill(parent: Path, base: Path) -> None:
    """All that `base` has. Its CPUs may have changed since, but a lease needs only its own of them: a refusal to write
    (another lease still holds a CPU that is gone) shows where the lease's own CPUs are written."""
    have = group_masks(base)
    for name, mask in ((CPUS, have.cpus), (MEMS, have.mems)):
        if cpu_list(read(parent / name)) != mask:
            with suppress(OSError):
                write(parent / name, cpuset_text(mask))


def rewrite_v1(group: Path, target: Target) -> None:
    """The group above is widened first: v1 takes only what lies within it."""
    if group.parent.name == FOLDER:
        _fill(group.parent, group.parent.parent)
    write(group / CPUS, cpuset_text(target.cpus))
    if target.cpuset_mems:
        write(group / MEMS, cpuset_text(target.cpuset_mems))
