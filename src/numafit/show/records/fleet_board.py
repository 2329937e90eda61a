"""All nodes of a cluster as the page shows them, the pods that wait, and the owners whose pods are rejected."""

import msgspec


class KindRecord(msgspec.Struct, frozen=True):
    total: int
    free: int
    stranded: int
    """Free, and not usable together with the rest."""


class NumaTile(msgspec.Struct, frozen=True):
    id: int
    cpus: KindRecord
    gpus: KindRecord
    memory: KindRecord
    """Bytes."""


class NodeTile(msgspec.Struct, frozen=True):
    name: str
    known: bool
    """Its agent publishes how it stands; else there are only its name and `trouble`."""
    trouble: str = ""
    schedulable: bool = True
    ready: bool = True
    release: str = ""
    policy: str = ""
    scope: str = ""
    cpus: KindRecord | None = None
    gpus: KindRecord | None = None
    memory: KindRecord | None = None
    largest: int = 0
    """The most CPUs that are free on one NUMA node."""
    pods: int = 0
    promised: int = 0
    """Pods that are bound or offered to it, and not in its report yet."""
    split: tuple[str, ...] = ()
    """Pods that lie on more NUMA nodes than they need."""
    fragmentation: float = 0.0
    """The sum, over CPUs, GPUs and memory, of the part that is stranded."""
    numa: tuple[NumaTile, ...] = ()


class WaitingTile(msgspec.Struct, frozen=True):
    pod: str
    """namespace/name"""
    since: str
    priority: int
    sentence: str
    """Why, as the placer or the scheduler said it; empty where nobody has said it yet."""
    teller: str
    """`placer`, `guard`, `scheduler`, or empty."""
    gates: tuple[str, ...]


class RejectedOwner(msgspec.Struct, frozen=True):
    """An owner whose pods were rejected, and are still there to be counted."""

    owner: str
    """Kind namespace/name"""
    rejected: int
    reason: str
    """The kubelet's, of the last one."""
    message: str
    nodes: tuple[str, ...]
    last: str
    """When the last one was made."""
    held: tuple[str, ...]
    """Pods of it that the guard holds."""


class FleetTotals(msgspec.Struct, frozen=True):
    nodes: int
    known: int
    cpus: KindRecord
    gpus: KindRecord
    memory: KindRecord
    split: int
    waiting: int


class FleetView(msgspec.Struct, frozen=True):
    revision: int
    time: str
    totals: FleetTotals
    nodes: tuple[NodeTile, ...]
    """By name."""
    waiting: tuple[WaitingTile, ...]
    """The highest priority first, then the oldest."""
    loops: tuple[RejectedOwner, ...]
    """The most rejected first."""


class FleetUpdate(msgspec.Struct, frozen=True):
    """What has changed since the last one."""

    revision: int
    time: str
    totals: FleetTotals
    nodes: tuple[NodeTile, ...]
    """Those that are new or other than before."""
    gone: tuple[str, ...]
    waiting: tuple[WaitingTile, ...] | None
    """All of them; null: as before."""
    loops: tuple[RejectedOwner, ...] | None
    """All of them; null: as before."""
