"""What the kernel is asked directly: memory policies, and which CPUs and NUMA nodes a process may use."""

import os
from _thread import allocate_lock, start_new_thread
from pathlib import Path

import msgspec

from numafit.bits import cpuset_text, mask_of
from numafit.host.bind import mempolicy
from numafit.host.bind.target import Target
from numafit.host.process.identity import status_fields
from numafit.machine.read.sysfs.text import cpu_list

_ALL_CPUS = range(8192)
"""As many as a kernel can be built for; it takes no notice of those that it does not have."""

SELF = Path("/proc/self")
NODES = Path("/sys/devices/system/node")


class MemoryPolicy(msgspec.Struct, frozen=True):
    mode: int
    nodes: int

    def __str__(self) -> str:
        """`bind 0-1`; the default policy is the empty text."""
        if self.mode == mempolicy.DEFAULT:
            return ""
        return f"{mempolicy.mode_name(self.mode)} {cpuset_text(self.nodes)}".rstrip()


def set_memory_policy(mode: int, nodes: int) -> None:
    """Of the calling thread; its future children and programs inherit it. Raises `OSError`."""
    mempolicy.set_policy(mode, nodes)


def get_memory_policy() -> MemoryPolicy:
    return MemoryPolicy(*mempolicy.get_policy())


def affinity(thread: int = 0) -> int:
    """The CPUs that a thread is allowed to run on now; 0 is the calling thread."""
    return mask_of(os.sched_getaffinity(thread))


def widen_affinity(thread: int = 0) -> None:
    """To all CPUs of the cpuset, and, from Linux 6.2 on, to those it gets later. Older kernels widen a thread by
    themselves when its cpuset changes."""
    os.sched_setaffinity(thread, _ALL_CPUS)


def status(process: Path = SELF) -> Target:
    """`Cpus_allowed_list` and `Mems_allowed_list` of a process; a kernel without cpusets names no NUMA nodes."""
    fields = status_fields(process)
    return Target(cpu_list(fields.get("Cpus_allowed_list")) or 0, cpu_list(fields.get("Mems_allowed_list")) or 0)


def allowed_now(process: Path = SELF) -> tuple[int, int]:
    """The CPUs and memory nodes that the kernel lets this process use. Kernels without NUMA have one memory node and do
    not list it."""
    found = status(process)
    return found.cpus or affinity(), found.mems or 1


def memory_nodes(root: Path = NODES) -> int:
    """All that have memory; 0 where the kernel does not tell."""
    try:
        return cpu_list((root / "has_memory").read_text().strip()) or 0
    except OSError:
        return 0


def allowed_by_cpuset() -> Target:
    """What the cpuset of this process lets it use, whatever affinity (`taskset`) it happens to have now."""
    seen: list[int] = []

    def look() -> None:
        # In a thread of its own: from Linux 6.2 on a process remembers for good that its affinity was set.
        try:
            widen_affinity()
            seen.append(affinity())
        except OSError:
            return
        finally:
            looked.release()

    # Python's `threading` takes longer to load than this.
    looked = allocate_lock()
    looked.acquire()
    start_new_thread(look, ())
    looked.acquire()
    now = status()
    return Target(seen[0] if seen else now.cpus, now.mems)
