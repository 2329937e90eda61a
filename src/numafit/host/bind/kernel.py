"""What the kernel is asked directly: memory policies, and which CPUs and NUMA nodes a process may use."""

import errno
import os
from _thread import allocate_lock, start_new_thread
from pathlib import Path
from typing import Any

import msgspec

from numafit.bits import cpuset_text, mask_of
from numafit.host.bind.target import Target
from numafit.host.process.identity import status_fields
from numafit.machine.read.sysfs.text import cpu_list

DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, PREFERRED_MANY = range(6)
"""Modes of a memory policy; PREFERRED_MANY exists since Linux 5.15."""
BALANCING = 0x2000
"""A flag of a mode: where the kernel moves pages to who uses them, it goes on doing so among the nodes of the policy.
Only PREFERRED_MANY (since Linux 6.10) and BIND take it."""
_MODE_FLAGS = 0xE000
_MODE_NAMES = {
    DEFAULT: "default",
    PREFERRED: "preferred",
    BIND: "bind",
    INTERLEAVE: "interleave",
    LOCAL: "local",
    PREFERRED_MANY: "preferred",
}

_CALLS = {"x86_64": {"set": 238, "get": 239}, "aarch64": {"set": 237, "get": 236}}
"""Numbers of set_mempolicy and get_mempolicy by architecture."""

_NODE_BITS = 4096
"""Wider than any kernel's node mask: a narrower one is refused by get_mempolicy."""
_ALL_CPUS = range(8192)
"""As many as a kernel can be built for; it takes no notice of those that it does not have."""

SELF = Path("/proc/self")
NODES = Path("/sys/devices/system/node")


class MemoryPolicy(msgspec.Struct, frozen=True):
    mode: int
    nodes: int

    def __str__(self) -> str:
        """`bind 0-1`; the default policy is the empty text."""
        if self.mode == DEFAULT:
            return ""
        return f"{_MODE_NAMES.get(self.mode, f'mode {self.mode}')} {cpuset_text(self.nodes)}".rstrip()


def set_memory_policy(mode: int, nodes: int) -> None:
    """Of the calling thread; its future children and programs inherit it. Raises `OSError`."""
    ctypes = _ctypes()
    # The kernel counts one bit less than it is told.
    _call("set", ctypes.c_long(mode), ctypes.byref(_node_words(nodes)), ctypes.c_ulong(_NODE_BITS + 1))


def get_memory_policy() -> MemoryPolicy:
    ctypes = _ctypes()
    mode, words, zero = ctypes.c_int(), _node_words(0), ctypes.c_ulong(0)
    _call("get", ctypes.byref(mode), ctypes.byref(words), ctypes.c_ulong(_NODE_BITS + 1), zero, zero)
    return MemoryPolicy(mode.value & ~_MODE_FLAGS, int.from_bytes(bytes(words), "little"))


def _node_words(nodes: int) -> Any:
    """An array of bytes; its type exists only once ctypes is loaded."""
    if nodes.bit_length() > _NODE_BITS:
        raise _failed(errno.EINVAL)
    size = _NODE_BITS // 8 + 8
    return (_ctypes().c_ubyte * size).from_buffer_copy(nodes.to_bytes(size, "little"))


def _call(name: str, *arguments: object) -> None:
    number = _CALLS.get(os.uname().machine, {}).get(name)
    if number is None:
        raise _failed(errno.ENOSYS)
    ctypes = _ctypes()
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    if function(ctypes.c_long(number), *arguments) < 0:
        raise _failed(ctypes.get_errno())


def _ctypes() -> Any:
    """Loaded by the first call, since most starts of numafit do not need it; there are Pythons without it."""
    try:
        import ctypes
    except ImportError:
        raise _failed(errno.ENOSYS) from None
    return ctypes


def _failed(code: int) -> OSError:
    return OSError(code, os.strerror(code))


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
