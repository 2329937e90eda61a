"""The object `NodeTopology`, field by field as docs/topology.md tells of it.

CPU sets and lists of NUMA nodes are texts (`0-3,8`), amounts are bytes as texts (`64Gi`), whatever is at its default is
left out. A pod is known by its UID.
"""

from typing import Any

import msgspec

from numafit.notes import Note

GROUP = "topology.numafit.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "NodeTopology"
PLURAL = "nodetopologies"
AGENT = "numafit-node-agent"
"""Who writes it: so its fields' manager and the agent's account are called."""
PATH = f"/apis/{GROUP}/{VERSION}/{PLURAL}"

FORMAT = 1
"""Grows when an older reader would misunderstand the object."""
LARGEST = 1 << 20
"""Bytes. An API server takes 1.5 MB, a node needs some 30 kB."""
MOST_NOTES = 32
LONGEST_NOTE = 500

NO_BASELINE = "none"


class ClaimedDevice(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A device that a ResourceClaim gives to the pod (DRA): no manager of the kubelet takes part in that."""

    claim: str
    """Its name, in the namespace of the pod."""
    driver: str
    pool: str
    device: str
    numa: str | None = None
    """The NUMA nodes that it is on; None where nobody tells."""
    bus: str = ""
    """PCI address, where it is known."""


class MemoryBlockHeld(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    numa: str
    size: str
    type: str = "memory"


class ContainerHolding(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    cpus: str | None = None
    """Exclusive ones; None where the CPU manager has no entry."""
    memory: tuple[MemoryBlockHeld, ...] | None = None
    """None where the memory manager has no entry."""
    devices: dict[str, tuple[str, ...]] = {}
    """Resource -> ids, sorted."""
    baseline: str | None = None
    """The CPUs when it came, where the state file tells others than it holds (1.37); `none` for no CPUs."""


class PodHolding(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    uid: str
    name: str = ""
    """`namespace/name`; empty where nobody tells."""
    containers: tuple[ContainerHolding, ...] = ()
    """Those that hold something."""
    cpus: str | None = None
    """Of the pod as a whole."""
    memory: tuple[MemoryBlockHeld, ...] | None = None
    """Of the pod as a whole."""
    gone: bool = False
    """No active pod any more: the kubelet takes what it held away when the next pod comes."""
    claims: tuple[ClaimedDevice, ...] = ()


class MemoryTypeState(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One type of memory on one NUMA node, as the memory manager's own table has it."""

    total: str = "0"
    system_reserved: str = "0"
    allocatable: str = "0"
    reserved: str = "0"
    free: str = "0"


class NumaMemoryState(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    numa: int
    group: str
    """The NUMA nodes that it makes a group with, itself included."""
    types: dict[str, MemoryTypeState]
    assignments: int = 0


class ResourceDevices(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A resource of a device plugin as the kubelet knows it. What the devices are stands in the machine."""

    resource: str
    devices: tuple[str, ...] = ()
    """Those that the plugin listed last, of any health."""
    unhealthy: tuple[str, ...] = ()
    connected: bool = True
    """Its plugin is there."""
    registered: bool = True
    """The kubelet offers it; False for one that it has given up."""
    preference: str = "none"
    """Which devices the plugin prefers: a word of `managers.device.plugin`."""
    unheld: tuple[str, ...] = ()
    """Taken, as a failed attempt left them, and held by nobody."""


class TopologySummary(msgspec.Struct, frozen=True, rename="camel"):
    """For people who list nodes; it follows from the rest."""

    cpus: int
    shared_cpus: int
    pods: int
    devices: int
    free_devices: int


class TopologyStatus(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    format: int
    """Looked at first."""
    digest: str
    """Of what decides: two equal ones are the same state."""
    release: str
    kubelet: dict[str, Any]
    """The fields of its KubeletConfiguration that decide. `Any`: values of many types, read by `settings`."""
    machine_digest: str
    machine: dict[str, Any]
    """A machine file."""
    root_dir: str = ""
    """`--root-dir`, where it is not the usual one."""
    ignore_eviction: bool = False
    """`--experimental-allocatable-ignore-eviction`."""
    shared_pool: str = ""
    holders: tuple[PodHolding, ...] = ()
    """All pods that the kubelet has admitted, in the order they came; then those that still hold something."""
    memory: tuple[NumaMemoryState, ...] = ()
    """Empty without a memory manager that pins."""
    devices: tuple[ResourceDevices, ...] = ()
    notes: tuple[Note, ...] = ()
    """What could not be learnt."""
    numafit: str = ""
    """The release that wrote it."""
    summary: TopologySummary | None = None


class TopologyMeta(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str
    resource_version: str = ""


class NodeTopology(msgspec.Struct, frozen=True, rename="camel"):
    metadata: TopologyMeta
    status: TopologyStatus
    api_version: str = API_VERSION
    kind: str = KIND

    @property
    def name(self) -> str:
        """Of the node."""
        return self.metadata.name
