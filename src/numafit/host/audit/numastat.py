"""The kernel's counts of allocations for each NUMA node: /sys/devices/system/node/node*/numastat."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from numafit.bits import members
from numafit.host.audit.activity import seconds_text
from numafit.host.audit.codes import ALLOCATIONS_MISSED, AuditFinding, finding

NODES = Path("/sys/devices/system/node")
MISSED = 4096
MISSED_SHARE = 0.05
"""Fewer allocations than that, by number or by share, are chance."""


class NodeAllocations(msgspec.Struct, frozen=True):
    """Allocations, of one page or of several, since the kernel started or between two looks."""

    hit: int
    """Wanted on this node, and got there."""
    miss: int
    """Wanted on another node that had none, and got on this."""
    foreign: int
    """Wanted on this node, which had none, and got on another."""
    interleaved: int
    """Hits of a policy `interleave`."""
    local: int
    """Got on this node by who ran on it."""
    remote: int
    """Got on this node by who ran on another."""


_WORDS = ("numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node")


def node_allocations(folder: Path = NODES) -> dict[int, NodeAllocations]:
    """By NUMA node; a node of which the kernel does not tell is not among them."""
    found = {}
    for path in folder.glob("node[0-9]*/numastat"):
        number = path.parent.name.removeprefix("node")
        try:
            counts = dict(line.split() for line in path.read_text().splitlines())
            found[int(number)] = NodeAllocations(*(int(counts[word]) for word in _WORDS))
        except (OSError, ValueError, KeyError):
            continue
    return dict(sorted(found.items()))


def allocated_between(
    before: Mapping[int, NodeAllocations], after: Mapping[int, NodeAllocations]
) -> dict[int, NodeAllocations]:
    return {
        node: NodeAllocations(
            *(
                max(0, getattr(counts, field) - getattr(before[node], field))
                for field in NodeAllocations.__struct_fields__
            )
        )
        for node, counts in after.items()
        if node in before
    }


def audit_allocations(wanted: int, allocated: Mapping[int, NodeAllocations], seconds: float) -> Iterator[AuditFinding]:
    """`wanted` are the NUMA nodes that were promised to somebody, as a mask."""
    for node in members(wanted):
        counts = allocated.get(node)
        if counts is None:
            continue
        asked = counts.hit + counts.foreign
        if counts.foreign >= MISSED and counts.foreign >= MISSED_SHARE * asked:
            yield finding(
                ALLOCATIONS_MISSED,
                f"NUMA node {node}",
                None,
                f"of {asked} allocations that were wanted on it {counts.foreign} came from another node "
                f"in {seconds_text(seconds)}",
                f"make room there: numastat -m shows what fills node {node}, and `sysctl vm.drop_caches=1` as root "
                "drops the cache of files",
            )
