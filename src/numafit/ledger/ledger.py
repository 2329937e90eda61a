"""Who holds what on one node, as a value: CPUs, memory blocks and devices per container, and which pods are active.

Every manager owns one part. A part also keeps what the kubelet holds in memory only (what init containers leave to
reuse, the pod it was asked about last) and how its state file reads now: `file` is the text on disk for as long as
nothing was written since it was loaded, None once it follows from the state. Amounts of memory are bytes, as unsigned
64-bit numbers; whoever computes with them wraps as Go does.
"""

from collections.abc import Mapping

import msgspec

from numafit.ledger.block import Block as Block
from numafit.machine.model import Device
from numafit.workload.pod import Pod


class MemoryTable(msgspec.Struct, frozen=True):
    """One memory type (`memory`, `hugepages-2Mi`, …) of one NUMA node."""

    total: int = 0
    system_reserved: int = 0
    allocatable: int = 0
    reserved: int = 0
    free: int = 0


class MemoryNode(msgspec.Struct, frozen=True):
    assignments: int = 0
    """Counts (container, memory type) pairs placed on this node, whatever their size."""
    tables: dict[str, MemoryTable] = {}
    cells: tuple[int, ...] = ()
    """Ids of the group that this node belongs to, itself included."""


class MemoryFile(msgspec.Struct, frozen=True):
    """The contents of `memory_manager_state`."""

    policy: str
    nodes: dict[int, MemoryNode] = {}
    entries: dict[str, dict[str, tuple[Block, ...]]] = {}
    """Pod UID -> container -> blocks, in the order of the file (the checksum depends on it)."""
    pod_entries: dict[str, tuple[Block, ...]] = {}
    """Pod UID -> blocks of the pod as a whole; written in format v2 only."""


Hint = tuple[int | None, bool]
"""(NUMA mask, preferred); mask None means any node."""


class CpuLedger(msgspec.Struct, frozen=True):
    default: int = 0
    """The shared pool."""
    entries: Mapping[str, Mapping[str, int]] = {}
    """Pod UID -> container -> exclusive CPUs. Init and app containers of one pod may overlap."""
    pod_entries: Mapping[str, int] = {}
    baselines: Mapping[str, Mapping[str, int | None]] = {}
    """Pod UID -> container -> its CPUs when it came, where a state file tells others than it holds, or none (1.37)."""
    reuse_pod: str = ""
    reuse: int = 0
    """CPUs of init containers that later containers of `reuse_pod` may take."""
    pending: Pod | None = None
    file: str | None = None


class MemoryLedger(msgspec.Struct, frozen=True):
    nodes: Mapping[int, MemoryNode] = {}
    entries: Mapping[str, Mapping[str, tuple[Block, ...]]] = {}
    pod_entries: Mapping[str, tuple[Block, ...]] = {}
    reuse_pod: str = ""
    reuse: Mapping[tuple[int, str], int] = {}
    """(NUMA mask, type) -> bytes of init containers that later containers of `reuse_pod` may take."""
    reuse_kept: frozenset[str] = frozenset()
    """Pods whose init containers left bytes, where the kubelet forgets the wrong pod (1.22)."""
    pending: Pod | None = None
    file: str | None = None


class Held(msgspec.Struct, frozen=True):
    """The devices of one resource that a container holds."""

    by_numa: Mapping[int, tuple[str, ...]]
    ids: frozenset[str]
    response: bytes


HeldDevices = Mapping[str, Mapping[str, Mapping[str, Held]]]
"""Pod UID -> container -> resource -> devices."""


class DeviceLedger(msgspec.Struct, frozen=True):
    devices: Mapping[str, Mapping[str, Device]] = {}
    """Resource -> id -> device: what the plugin listed last, of any health."""
    healthy: Mapping[str, frozenset[str]] = {}
    """A resource stands here from its registration on, even with no healthy device."""
    allocated: Mapping[str, frozenset[str]] = {}
    """Taken out of what is free. A failed pick may leave ids here that nobody holds."""
    held: HeldDevices = {}
    reuse_pod: str = ""
    reuse: Mapping[str, frozenset[str]] = {}
    connected: frozenset[str] = frozenset()
    """Resources whose plugin is there; the others are known from the state file only."""
    written: tuple[HeldDevices, Mapping[str, frozenset[str]]] | None = None
    """`held` and `healthy` when the state file was written last: it lags behind the removal of stale pods."""
    file: str | None = None


class Ledger(msgspec.Struct, frozen=True):
    cpu: CpuLedger = CpuLedger()
    memory: MemoryLedger = MemoryLedger()
    device: DeviceLedger = DeviceLedger()
    affinity: Mapping[str, Mapping[str, Hint]] = {}
    """Pod UID -> container -> merged hint, as the topology manager stores it."""
    active: Mapping[str, Pod] = {}
    """The pods that count as alive, in the order they came."""
    ready: bool = True
    """All pod sources have reported; until then stale state is not removed."""
    running: frozenset[tuple[str, str]] = frozenset()
    """(pod UID, container) that ran when the kubelet started."""

    def affinity_of(self, uid: str, container: str) -> Hint:
        return self.affinity.get(uid, {}).get(container, (None, False))


def stale_containers(
    ledger: Ledger, entries: Mapping[str, Mapping[str, object]], pending: Pod | None
) -> list[tuple[str, str]]:
    """(pod UID, container) pairs, sorted. Nothing is stale before all pod sources are ready."""
    if not ledger.ready:
        return []
    active = ledger.active
    stale = []
    for uid, containers in entries.items():
        pod = active.get(uid)
        if pod is None and pending is not None and pending.uid == uid:
            pod = pending
        if pod is None:
            stale += [(uid, name) for name in containers]
            continue
        if len(pod.containers) == len(containers) == 1 and pod.containers[0].name in containers:
            continue
        apps = [container.name for container in pod.containers]
        for name in containers:
            if name not in apps and all(name != init.name for init in pod.init_containers):
                stale.append((uid, name))
    return sorted(stale)
