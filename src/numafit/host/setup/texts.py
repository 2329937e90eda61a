"""The files that a host of many users gets, as texts."""

from pathlib import Path

import msgspec

from numafit.host.bind.slices import ALLOWED, DROP_IN, DROP_INS, SLICES
from numafit.host.book.bell import BELL, WATCH
from numafit.host.book.commands import COMMANDS
from numafit.host.book.folder import GROUP, SHARED_FOLDER
from numafit.host.book.store import FILE, JOURNAL, LOCK, LOG

MARK = "Made by `numafit host setup`"
"""In the first line of each file: only what has it is changed or removed."""

UNITS = DROP_INS
TMPFILES = Path("etc/tmpfiles.d/numafit.conf")
SERVICE, TIMER = "numafit-sweep.service", "numafit-sweep.timer"
SYSTEM_SLICE, USER_SLICE = SLICES


class SetupFile(msgspec.Struct, frozen=True):
    path: Path
    """Below the root of the system."""
    text: str


def tmpfiles(folder: Path) -> SetupFile:
    """Folders that somebody deleted come back at the next boot with their rights."""
    lines = [
        f"# {MARK}.",
        f"d {folder} {SHARED_FOLDER:o} root {GROUP} -",
        f"d {folder / COMMANDS} {SHARED_FOLDER:o} root {GROUP} -",
        *(f"z {folder / name} 0660 root {GROUP} -" for name in (FILE, LOCK, JOURNAL, BELL, WATCH)),
        f"z {folder / LOG} 0600 root {GROUP} -",
    ]
    return SetupFile(TMPFILES, "\n".join(lines) + "\n")


def units(command: str) -> tuple[SetupFile, SetupFile]:
    """`command` starts numafit, with its whole path."""
    service = f"""# {MARK}.
[Unit]
Description=numafit frees what jobs that are gone held, and ends jobs whose time is over
ConditionPathExists=/var/lib/numafit/leases.db

[Service]
Type=oneshot
ExecStart={command} host sweep
Nice=10
"""
    timer = f"""# {MARK}.
[Unit]
Description=numafit looks after the leases of this host each minute

[Timer]
OnBootSec=1min
OnUnitActiveSec=1min
AccuracySec=10s

[Install]
WantedBy=timers.target
"""
    return SetupFile(UNITS / SERVICE, service), SetupFile(UNITS / TIMER, timer)


def drop_in(unit: str, cpus: str) -> SetupFile:
    """Keeps a slice, and all that runs in it, on some CPUs."""
    return SetupFile(UNITS / f"{unit}.d" / DROP_IN, f"# {MARK}.\n[Slice]\n{ALLOWED}{cpus}\n")


def host_yaml(housekeeping: str) -> str:
    """A beginning, in which all but the CPUs that are kept back is a comment."""
    cpus = f"reservedCPUs: {housekeeping}" if housekeeping else "# reservedCPUs: 0,64"
    return f"""# {MARK}: what jobs may hold of this host. All of it may be left away.
{cpus:<29} # never given exclusively
# reservedMemory: {{0: 2Gi}}    # bytes of a NUMA node that no job may hold
# quotas:
#   users:
#     "*": {{cpus: 16, memory: 64Gi, devices: {{nvidia.com/gpu: 2}}, jobs: 20, time: 2d, priority: 0}}
#   groups:
#     students: {{cpus: 32}}
"""
