"""Slices of systemd that `numafit host setup` keeps on few CPUs: the jobs of root leave them for cgroups of their own.

Whatever else keeps a process from CPUs (`taskset`, a container, a limit that somebody else set) keeps its jobs, too.
"""

import os
from pathlib import Path

from numafit.host.bind.kernel import SELF
from numafit.host.bind.target import Target
from numafit.machine.read.sysfs.text import cpu_list

DROP_INS = Path("etc/systemd/system")
DROP_IN = "50-numafit.conf"
SLICES = ("system.slice", "user.slice")
ALLOWED = "AllowedCPUs="

_CGROUPS = Path("sys/fs/cgroup")
_CPUS = "cpuset.cpus.effective"


def let_out(allowed: Target, process: Path = SELF, root: Path = Path("/")) -> Target:
    """What jobs of this process may use: all CPUs where nothing but such a slice keeps root from them."""
    for name in SLICES:
        drop_in = root / DROP_INS / f"{name}.d" / DROP_IN
        if os.geteuid() or not os.path.exists(drop_in):
            continue
        try:
            told = [line.removeprefix(ALLOWED) for line in drop_in.read_text().splitlines() if line.startswith(ALLOWED)]
            inside = any(line.startswith(f"0::/{name}/") for line in (process / "cgroup").read_text().splitlines())
            slice_cpus = cpu_list((root / _CGROUPS / name / _CPUS).read_text().strip())
            every = cpu_list((root / _CGROUPS / _CPUS).read_text().strip())
        except OSError:
            continue
        if inside and every and told and cpu_list(told[-1]) == slice_cpus == allowed.cpus:
            return Target(every, allowed.mems)
    return allowed
