"""What is there: CPUs, NUMA nodes, memory, devices and the links between them, as frozen values.

Ids are the operating system's: they need not be contiguous, and a NUMA node may have no CPU (memory of an accelerator)
or no memory. Amounts are bytes.
"""

import msgspec


class Cpu(msgspec.Struct, frozen=True):
    """A logical CPU. `core` is unique only within (socket, NUMA node), as the operating system numbers it."""

    id: int
    core: int
    socket: int
    numa: int
    uncore_cache: int | None = None
    """The shared last-level cache; None when the machine reports none that is smaller than the NUMA node."""
    online: bool = True
    kind: str = ""
    """`performance` or `efficiency` on hybrid processors, else empty."""


class NumaNode(msgspec.Struct, frozen=True):
    id: int
    memory: int = 0
    hugepages: dict[int, int] = {}
    """Page size in bytes -> number of pages."""
    distances: tuple[int, ...] | None = None
    """One entry per NUMA node, in the order of the machine's node list."""


class Device(msgspec.Struct, frozen=True):
    """Something a device plugin offers. `numa` None: the plugin says nothing; (): it names no node."""

    resource: str
    id: str
    numa: tuple[int, ...] | None = None
    healthy: bool = True


class Link(msgspec.Struct, frozen=True):
    """How two devices reach each other, in the words of `nvidia-smi topo` (`PIX`, `NODE`, `NV4`, …)."""

    a: str
    b: str
    kind: str


class Machine(msgspec.Struct, frozen=True):
    cpus: tuple[Cpu, ...]
    """In the order met; the kubelet's core order follows it."""
    numa_nodes: tuple[NumaNode, ...]
    devices: tuple[Device, ...] = ()
    links: tuple[Link, ...] = ()
    memory: int | None = None
    """`MemTotal` of the whole machine when it is known; it is not the sum over the NUMA nodes."""
    sockets: int | None = None
    """Number of physical packages when the source states it; else counted from the CPUs."""
    name: str = ""
