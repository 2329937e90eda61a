"""A systemd scope around a process: the unit that holds it, and the calls that make and change it.

Only systemd on cgroup v2 gives a unit `AllowedCPUs`. An ordinary user asks his own manager, which can do so only where
the system gave it the cpuset controller (`Delegate=cpuset` for `user@.service`).
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from numafit.bits import cpuset_text
from numafit.host.bind.cgroup import check_limits, is_limited, v2_group, v2_root
from numafit.host.bind.kernel import SELF, status
from numafit.host.bind.target import RungRefused, Target

RUNNING = Path("/run/systemd/system")
"""There while systemd is the init process."""

_CALL_TIMEOUT = 5.0
_WAIT = 2.0
"""Seconds for the job that systemd makes of the call."""
_POLL = 0.01


def unit_name(lease_id: str) -> str:
    return f"numafit-{lease_id}.scope"


def lease_of_unit(name: str) -> str | None:
    inside = name.removeprefix("numafit-").removesuffix(".scope")
    return inside if inside and unit_name(inside) == name else None


def enter_scope(
    lease_id: str, target: Target, pid: int, *, running: Path = RUNNING, process: Path = SELF, wait: float = _WAIT
) -> Path:
    """Puts the process into a scope and waits until the kernel agrees. Returns the folder of its cgroup.

    A scope that came out too wide stays around the process, where it does no harm: to stop it would end the process.
    """
    if not running.is_dir():
        raise RungRefused("systemd does not run here")
    root = v2_root(process)
    check_limits(root, v2_group(root, process))
    if os.geteuid():
        _check_delegation(root)
    properties = [
        *("Description", "s", f"numafit lease {lease_id}"),
        *("CollectMode", "s", "inactive-or-failed"),
        *("PIDs", "au", "1", str(pid)),
        *_masks(target),
        *(("MemoryMax", "t", str(target.limit)) if target.limit else ()),
    ]
    count = 4 + bool(target.cpuset_mems) + bool(target.limit)
    _busctl(
        *("StartTransientUnit", "ssa(sv)a(sa(sv))", unit_name(lease_id), "fail", str(count)),
        *properties,
        "0",
    )
    until = time.monotonic() + wait
    while True:
        group = _unit_group(lease_id, process)
        found = status(process)
        if group and found.cpus == target.cpus and found.mems == (target.cpuset_mems or found.mems):
            folder = root / group.strip("/")
            if not target.limit or is_limited(folder, target.limit):
                return folder
        if time.monotonic() >= until:
            break
        time.sleep(_POLL)
    if not group:
        raise RungRefused(f"{unit_name(lease_id)} did not start within {wait:g} s")
    cpus, mems = cpuset_text(found.cpus), cpuset_text(found.mems)
    raise RungRefused(f"{unit_name(lease_id)} gave CPUs {cpus} and memory nodes {mems}")


def change_scope(lease_id: str, target: Target) -> None:
    """systemd writes the cpuset itself: it would undo what another wrote there."""
    count = 2 if target.cpuset_mems else 1
    _busctl("SetUnitProperties", "sba(sv)", unit_name(lease_id), "true", str(count), *_masks(target))


def _masks(target: Target) -> list[str]:
    words = ["AllowedCPUs", "ay", *_bytes(target.cpus)]
    return [*words, "AllowedMemoryNodes", "ay", *_bytes(target.cpuset_mems)] if target.cpuset_mems else words


def _bytes(mask: int) -> list[str]:
    """A mask as D-Bus takes it: the number of bytes, then the bytes, lowest first."""
    data = mask.to_bytes((mask.bit_length() + 7) // 8, "little")
    return [str(len(data)), *map(str, data)]


def _check_delegation(root: Path) -> None:
    user = os.getuid()
    manager = root / f"user.slice/user-{user}.slice/user@{user}.service"
    try:
        controllers = (manager / "cgroup.controllers").read_text().split()
    except OSError:
        raise RungRefused(f"user {user} has no systemd manager of his own") from None
    if "cpuset" not in controllers:
        raise RungRefused(f"the systemd manager of user {user} has no cpuset controller (Delegate=cpuset gives it)")


def _unit_group(lease_id: str, process: Path) -> str:
    """The v2 cgroup of the process if it is that of the unit."""
    for line in (process / "cgroup").read_text("utf-8", "replace").splitlines():
        if line.startswith("0::") and line.endswith(f"/{unit_name(lease_id)}"):
            return line.removeprefix("0::")
    return ""


def _busctl(*words: str) -> None:
    # Few jobs get here: a cgroup of numafit's own is tried first.
    import shutil
    import subprocess

    program = shutil.which("busctl")
    if program is None:
        raise RungRefused("busctl, which speaks to systemd, is not installed")
    bus = ["--user"] if os.geteuid() else ["--system"]
    manager = ["org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"]
    command: Sequence[str] = [program, *bus, "call", *manager, *words]
    # A process that did not come through a login (su, cron, a service) is not told where the bus of its user is.
    environment = {"XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}", **os.environ}
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_CALL_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RungRefused(f"busctl: {error}") from error
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise RungRefused(f"systemd refused: {said or f'busctl ended with {done.returncode}'}")
