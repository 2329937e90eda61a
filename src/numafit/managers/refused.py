"""Why a manager could not allocate, as values: what was asked for, what there was, and which rule stood in the way.

The kubelet's text stands beside them in a `Refusal`; nobody looks into that text.
"""

from collections.abc import Mapping

import msgspec


class RefusedCause(msgspec.Struct, frozen=True, tag_field="kind"):
    """One of those below. Amounts are CPUs, bytes or devices."""


class OddCpus(RefusedCause, frozen=True, tag="odd-cpus"):
    """full-pcpus-only gives whole cores, and the number is no multiple of the threads of a core."""

    cpus: int
    threads: int


class WholeCoresShort(RefusedCause, frozen=True, tag="whole-cores-short"):
    """full-pcpus-only: too few CPUs are free on cores that are not reserved."""

    cpus: int
    free: int
    """CPUs of the shared pool whose core has no reserved CPU."""
    threads: int


class CpusShort(RefusedCause, frozen=True, tag="cpus-short"):
    cpus: int
    free: int
    """Those that could become exclusive, with what init containers of the pod leave."""


class CpusNotPicked(RefusedCause, frozen=True, tag="cpus-not-picked"):
    """Enough CPUs are free, and the assignment gives up all the same."""

    cpus: int
    free: int


class BudgetUsedUp(RefusedCause, frozen=True, tag="budget-used-up"):
    """Pod-level resources: containers with requests of their own leave nothing of the pod's budget to the others."""

    resource: str
    budget: int
    used: int
    """By the containers with requests of their own that run together."""


class NotInt64(RefusedCause, frozen=True, tag="not-int64"):
    """An amount of memory that is no whole number of bytes below 2**63."""


class DeviceCountChanged(RefusedCause, frozen=True, tag="device-count-changed"):
    resource: str
    asked: int
    held: int


class NoPlugin(RefusedCause, frozen=True, tag="no-plugin"):
    """The resource is known from before a restart, and its plugin has not registered again."""

    resource: str


class NoHealthyDevices(RefusedCause, frozen=True, tag="no-healthy-devices"):
    resource: str


class HeldDevicesUnhealthy(RefusedCause, frozen=True, tag="held-devices-unhealthy"):
    resource: str
    devices: tuple[str, ...]


class DevicesShort(RefusedCause, frozen=True, tag="devices-short"):
    resource: str
    asked: int
    free: int
    """Healthy ones that nobody holds, with what init containers of the pod leave."""


class PluginFailed(RefusedCause, frozen=True, tag="plugin-failed"):
    resource: str
    says: str


class DevicesNotPicked(RefusedCause, frozen=True, tag="devices-not-picked"):
    """Enough devices are free, and the pick ends with fewer all the same."""

    resource: str
    asked: int


class NoMemoryPlace(RefusedCause, frozen=True, tag="no-memory-place"):
    """No set of NUMA nodes that may be used together has all of it free."""

    needs: Mapping[str, int]


class NoMemoryRequest(RefusedCause, frozen=True, tag="no-memory-request"):
    """It asks for no memory, perhaps for huge pages only, and the memory manager looks for a place for memory."""

    needs: Mapping[str, int]


class MemoryNotPreferred(RefusedCause, frozen=True, tag="memory-not-preferred"):
    """The merged hint promised the nearest place, and memory is free only on more NUMA nodes than that."""

    needs: Mapping[str, int]
    nodes: int
    """The merged hint as a mask; 0: any node."""


class NoWiderMemory(RefusedCause, frozen=True, tag="no-wider-memory"):
    """The NUMA nodes of the merged hint have too little free, and no larger set that holds them may be used."""

    needs: Mapping[str, int]
    nodes: int


class MemoryGroups(RefusedCause, frozen=True, tag="memory-groups"):
    """One of these NUMA nodes is used by a container on other nodes; memory across nodes needs all of them alike."""

    needs: Mapping[str, int]
    nodes: int


MemoryRefused = NotInt64 | NoMemoryPlace | NoMemoryRequest | MemoryNotPreferred | NoWiderMemory | MemoryGroups
"""By the memory manager."""

AllocationRefused = (
    OddCpus
    | WholeCoresShort
    | CpusShort
    | CpusNotPicked
    | BudgetUsedUp
    | NotInt64
    | DeviceCountChanged
    | NoPlugin
    | NoHealthyDevices
    | HeldDevicesUnhealthy
    | DevicesShort
    | PluginFailed
    | DevicesNotPicked
    | NoMemoryPlace
    | NoMemoryRequest
    | MemoryNotPreferred
    | NoWiderMemory
    | MemoryGroups
)
