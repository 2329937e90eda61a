"""The unit of systemd that a process belongs to, read from the name of its cgroup."""

from pathlib import Path

import msgspec

from numafit.host.process.identity import PROC

_ENDINGS = (".service", ".scope")
_USER_MANAGER = "user@"


class SystemdUnit(msgspec.Struct, frozen=True):
    name: str
    of_user: bool = False
    """It belongs to the manager of a user, not to that of the system."""

    @property
    def is_service(self) -> bool:
        """Of the system, so that its CPUs can be set."""
        return self.name.endswith(".service") and not self.of_user


def systemd_unit(pid: int, root: Path = PROC) -> SystemdUnit | None:
    """The innermost one. None: it is in none, or cgroups are not of version 2, or they cannot be read. In version 1
    systemd keeps no service to CPUs."""
    try:
        lines = (root / str(pid) / "cgroup").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers:
            continue
        units = [part for part in group.split("/") if part.endswith(_ENDINGS)]
        if units:
            return SystemdUnit(units[-1], any(unit.startswith(_USER_MANAGER) for unit in units[:-1]))
    return None
