"""What a process is to be bound to, and what the kernel says it was bound to."""

import re

import msgspec

from numafit.bits import cpuset_text, parse_cpuset
from numafit.errors import NumafitError

CGROUP_V2 = "cgroup v2"
CGROUP_V1 = "cgroup v1"
SCOPE = "systemd scope"
AFFINITY_AND_POLICY = "affinity and memory policy"
AFFINITY = "affinity"
NONE = "none"

POLICY = "memory policy"
"""Beside a cpuset, for memory that is not forced."""

RUNGS = (CGROUP_V2, CGROUP_V1, SCOPE, AFFINITY_AND_POLICY, AFFINITY, NONE)
"""Strongest first. The first three are cpusets: a process cannot leave them by itself."""
CPUSET_RUNGS = RUNGS[:3]

BIND = "bind"
"""Memory comes from its nodes or not at all."""
PREFER = "prefer"
"""Memory comes from its nodes first, and from others when these are full."""
INTERLEAVE = "interleave"
"""Page after page from each of its nodes in turn."""
WAYS = (PREFER, BIND, INTERLEAVE)

_LEASE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class BindError(NumafitError):
    """A process could not be bound as it was asked for; nothing was started."""


class RungRefused(Exception):
    """One rung of the ladder is out of reach; the text says why."""


class Target(msgspec.Struct, frozen=True):
    cpus: int
    """A mask, as is `mems`."""
    mems: int = 0
    """0: memory comes from anywhere."""
    way: str = BIND
    """How memory comes from `mems`: one of `WAYS`."""
    limit: int = 0
    """Bytes of memory that the processes may use together; 0: as many as there are."""
    within: int = 0
    """The nodes that the process may use at all, where these are not all: a new cpuset must not let it out of them."""

    @property
    def forced(self) -> int:
        """The nodes that memory is bound to; what is preferred or interleaved is directed by a policy."""
        return self.mems if self.way == BIND else 0

    @property
    def cpuset_mems(self) -> int:
        """The nodes that a cpuset is to name; 0: none, so that it has those of the group above."""
        return self.forced or self.within


class Bound(msgspec.Struct, frozen=True):
    """Read back from the kernel after binding."""

    rung: str
    """One of `RUNGS`."""
    cpus: int
    mems: int
    """The NUMA nodes that memory may come from, or, with a preferred policy, is asked from first."""
    cgroup: str = ""
    """The folder of the cgroup that holds the process, if one was made for it."""
    memory_policy: str = ""
    """`bind 0-1`, `preferred 0` or `interleave 0-1`; empty where a cpuset or nothing directs the memory."""
    skipped: tuple[str, ...] = ()
    """One sentence for each stronger rung: why it was not reached."""


class _BoundRecord(msgspec.Struct, frozen=True):
    """A `Bound` on its way through a pipe: JSON has no numbers as wide as a mask of 128 CPUs."""

    rung: str
    cpus: str
    mems: str
    cgroup: str
    memory_policy: str
    skipped: tuple[str, ...]


def encode_bound(bound: Bound) -> bytes:
    record = _BoundRecord(
        bound.rung,
        cpuset_text(bound.cpus),
        cpuset_text(bound.mems),
        bound.cgroup,
        bound.memory_policy,
        bound.skipped,
    )
    return msgspec.json.encode(record)


def decode_bound(data: bytes) -> Bound:
    record = msgspec.json.decode(data, type=_BoundRecord)
    return Bound(
        record.rung,
        parse_cpuset(record.cpus),
        parse_cpuset(record.mems),
        record.cgroup,
        record.memory_policy,
        record.skipped,
    )


def check_lease_id(lease_id: str) -> str:
    """The id becomes the name of a folder and of a systemd unit."""
    if not _LEASE_ID.fullmatch(lease_id):
        raise BindError(f'"{lease_id}" is no name for a lease (letters, digits, "_", "." and "-", at most 100)')
    return lease_id
