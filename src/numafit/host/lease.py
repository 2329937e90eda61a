"""A lease: what a job holds of this machine, who it is, and how it is bound."""

from collections.abc import Mapping

import msgspec

from numafit.bits import CpusetError, cpuset_text, members, parse_cpuset
from numafit.host.process.identity import ProcessId
from numafit.ledger.block import Block

_MASKS = ("exclusive", "nodes", "mems", "allowed", "bound")


class LeasePart(msgspec.Struct, frozen=True):
    """What one process of a job of several has of the lease."""

    cpus: str
    """As a list, like 0-3,8; likewise the next one."""
    mems: str = ""
    """The NUMA nodes that its memory comes from first; of several its own one comes before the others, like 1,0."""
    devices: tuple[str, ...] = ()

    @property
    def home(self) -> int | None:
        """The NUMA node that its memory is asked from first; None: none is known."""
        first = self.mems.partition(",")[0].partition("-")[0]
        return int(first) if first else None

    def words(self) -> str:
        """`CPUs 0-3, memory of node 0, GPU0`."""
        memory = [f"memory of node {self.mems}"] if self.mems else []
        return ", ".join([f"CPUs {self.cpus}", *memory, *self.devices])


class Lease(msgspec.Struct, frozen=True):
    id: str
    name: str
    uid: int
    """The user it belongs to; 0 may touch every lease."""
    user: str
    since: float
    """Seconds of the wall clock, to be shown; nothing is decided by it."""
    command: str = ""
    policy: str = "best-effort"
    exclusive: int = 0
    """CPUs that nobody else gets; 0: the job runs in the shared pool."""
    nodes: int = 0
    """The NUMA nodes that it was placed on; a job in the shared pool keeps to their CPUs while there are any."""
    mems: int = 0
    """The NUMA nodes that its memory comes from, as `bind` says."""
    memory: tuple[Block, ...] = ()
    devices: Mapping[str, tuple[str, ...]] = {}
    """Resource -> ids."""
    owners: tuple[ProcessId, ...] = ()
    """The lease lives as long as one of them may be alive."""
    container: str = ""
    """The Docker container that it belongs to, by its full id; `pending` until that is known."""
    engine: str = ""
    """Where the Docker engine of that container listens."""
    cgroup: str = ""
    """The cgroup made for it: processes in there keep it alive, too."""
    allowed: int = 0
    """The CPUs that its owner may use at all; 0: every one."""
    rung: str = ""
    """How it is bound: one of the rungs in `bind.target`."""
    bound: int = 0
    """The CPUs that its processes were bound to last."""
    notes: tuple[str, ...] = ()
    """Why no stronger rung was reached."""
    until: float | None = None
    """Seconds of the clock that counts from boot (CLOCK_BOOTTIME), for a lease that no process owns."""
    boot: str = ""
    """The boot that `until` belongs to."""
    sentence: str = ""
    """Why it was placed there."""
    remarks: tuple[str, ...] = ()
    """What was really free and not only by the claims when it was placed, where that differed."""
    bind: str = "bind"
    """How its memory comes from `mems`: one of the ways in `bind.target`."""
    limit_memory: int = 0
    """Bytes that it may use at most; 0: no limit."""
    shares: tuple[LeasePart, ...] = ()
    """Per process, by its number on this machine, where their number was given."""
    priority: int = 0
    seconds: float = 0.0
    """How long its job may run, from the start of its command; 0: as long as it likes."""
    group: str = ""
    """The group of users whose quota it counts for."""
    marked: bool = False
    """Its processes carry its mark (`bind.mark`), by which everybody knows them."""

    @property
    def forced_mems(self) -> int:
        """The nodes that a cpuset must name."""
        return self.mems if self.bind == "bind" else 0

    @property
    def pooled(self) -> bool:
        """Whether its CPUs come from the shared pool, and change with it."""
        return not self.exclusive

    @property
    def label(self) -> str:
        return f"{self.name} ({self.id})" if self.name and self.name != self.id else self.id


def claims(lease: Lease) -> list[tuple[str, str]]:
    """(kind, name) of everything that only one lease may hold."""
    cpus = [("cpu", str(cpu)) for cpu in members(lease.exclusive)]
    return cpus + [(resource, device) for resource, ids in lease.devices.items() for device in ids]


def memory_of(lease: Lease) -> int:
    return sum(block.size for block in lease.memory if block.type == "memory")


# JSON has no numbers as wide as the mask of a big machine: sets are written as lists, like 0-3,8.


def record_of(lease: Lease) -> dict[str, object]:
    """As it is stored, in plain values."""
    record: dict[str, object] = {name: getattr(lease, name) for name in Lease.__struct_fields__}
    return {**record, **{name: cpuset_text(getattr(lease, name)) for name in _MASKS}}


def encode_lease(lease: Lease) -> bytes:
    return msgspec.json.encode(record_of(lease))


def decode_lease(data: bytes) -> Lease:
    """Raises `ValueError` for what is no lease."""
    record = msgspec.json.decode(data)
    try:
        sets = {name: parse_cpuset(record.get(name, "")) for name in _MASKS}
    except (AttributeError, TypeError, CpusetError) as error:
        raise ValueError(str(error)) from None
    return msgspec.convert({**record, **sets}, Lease)


LEASE_LABEL = "numafit.lease"
"""The label of a container that names its lease."""
RECORD_LABEL = "numafit.record"
"""The label with the lease as JSON: a ledger that was lost is made anew from it."""
PENDING = "pending"

LiveContainers = Mapping[str, bool]
"""Lease id -> whether a container of it runs or will run again; what Docker's own list says."""
