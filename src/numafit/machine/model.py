"""What is there: CPUs, caches, NUMA nodes, memory, devices and the links between them, as frozen values.

Ids are the operating system's: they need not be contiguous, and a NUMA node may have no CPU (memory of an accelerator)
or no memory. Amounts are bytes. A source that does not know something leaves it at its default: a machine may be
partial (`nvidia-smi topo` tells of devices and links only) until it is combined with others.
"""

import msgspec

GPU_RESOURCE = "nvidia.com/gpu"

CPU_IDS = "cpu_ids"
"""Among the assumed: the source only counts the CPUs of each NUMA node, and their numbers are made up."""
DEVICES = "devices"
"""Among the assumed: the source only counts devices, and their ids are made up."""


PERFORMANCE, EFFICIENCY = "performance", "efficiency"


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
    """`PERFORMANCE` or `EFFICIENCY` on hybrid processors, else empty."""
    die: int | None = None
    isolated: bool = False
    """Kept free of ordinary work by the kernel (`isolcpus`)."""


class Cache(msgspec.Struct, frozen=True):
    level: int
    kind: str
    """`data`, `instruction` or `unified`."""
    size: int
    cpus: int
    """The CPUs that share it, as a mask."""
    id: int | None = None


class NumaNode(msgspec.Struct, frozen=True):
    id: int
    memory: int = 0
    hugepages: dict[int, int] = {}
    """Page size in bytes -> number of pages."""
    distances: tuple[int, ...] | None = None
    """One entry per NUMA node, by ascending id, as the kernel lists them."""
    device: str = ""
    """The id of the device whose own memory this node is (GPU memory on coherent systems)."""


class Device(msgspec.Struct, frozen=True):
    """A device, offered by a device plugin if `resource` is not empty.

    `numa` is what the plugin tells the kubelet. None: it says nothing; (): it names no node.
    """

    resource: str
    id: str
    numa: tuple[int, ...] | None = None
    healthy: bool = True
    kind: str = ""
    """`gpu`, `mig`, `nic`, `nvme`, … or empty when unknown."""
    name: str = ""
    """The product, such as `NVIDIA H200`."""
    label: str = ""
    """How the tools of its vendor number it, such as `GPU0` or `NIC1`."""
    bus: str = ""
    """PCI address, such as `0000:3b:00.0`."""
    pci_class: int | None = None
    switch: str = ""
    """PCI address of the switch above it, if any: devices of one switch are nearest to each other."""
    root_port: str = ""
    memory: int = 0
    parent: str = ""
    """The id of the device that a MIG slice is cut from."""
    cpus: int = 0
    """The CPUs that the vendor's tool calls near, as a mask; 0 when it says nothing."""
    driver_numa: int | None = None
    """The NUMA node that the vendor's tool names; `numa`, which the plugin reads in /sys, may differ from it."""


class Link(msgspec.Struct, frozen=True):
    """How two devices reach each other, in the words of `nvidia-smi topo` (`PIX`, `NODE`, `NV4`, …); `a` < `b`."""

    a: str
    b: str
    kind: str


class Machine(msgspec.Struct, frozen=True):
    cpus: tuple[Cpu, ...] = ()
    """In the order met; the kubelet's core order follows it."""
    numa_nodes: tuple[NumaNode, ...] = ()
    devices: tuple[Device, ...] = ()
    links: tuple[Link, ...] = ()
    memory: int | None = None
    """`MemTotal` of the whole machine when it is known; it is not the sum over the NUMA nodes."""
    sockets: int | None = None
    """Number of physical packages when the source states it; else counted from the CPUs."""
    name: str = ""
    caches: tuple[Cache, ...] = ()
    model: str = ""
    """The processor, such as `AMD EPYC 9654`."""
    assumed: tuple[str, ...] = ()
    """What the source does not state and its reader filled with a stand-in, so that the machine can stand alone:
    `core`, `socket`, `numa` or `uncore_cache` of the CPUs, `cpus` (there may be more of them), `cpu_ids` (their numbers
    are made up, not how many each NUMA node has), `memory`, `hugepages` or `distances` of the NUMA nodes, `devices`
    (their ids are made up), `device_numa`, `links`. A source that states it is right instead, and there is nothing to
    disagree about. `combine` adds what is simply missing."""
