"""Where the pages of a process lie: the kernel's table /proc/PID/numa_maps, one line per mapping.

A line gives the number of pages on each NUMA node (`N0=12`) and the size of these pages (`kernelpagesize_kB=4`). Pages
that the kernel joined to huge ones by itself are counted in small ones there; those of hugetlbfs in their own size. The
sizes therefore always multiply to bytes.
"""

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from numafit.machine.read.sysfs.text import cpu_list

_LINE = re.compile(
    # Of two policies the name holds a blank.
    rb"^[0-9a-f]+ ((?:weighted |prefer \(many\))?\S*)(?: file=(\S+))?"
    rb"(?:[^\n]*?((?: N[0-9]+=[0-9]+)+) kernelpagesize_kB=([0-9]+))?",
    re.MULTILINE,
)
_NODE = re.compile(rb"N([0-9]+)=([0-9]+)")
_BIND = re.compile(r"bind(?:=[a-z|]+)?:([0-9,-]+)")
_INTERLEAVE = re.compile(rb"(?:weighted )?interleave(?:=[a-z|]+)?:([0-9,-]+)")
_MEMORY_FILES = (b"/dev/shm/", b"/dev/zero", b"/memfd:", b"/SYSV", b"/anon_hugepage", b"/dev/hugepages", b"/dev/nvidia")
"""Shared memory and huge pages have names like files, but no file of a disk behind them."""


class Pages(msgspec.Struct, frozen=True):
    """Bytes that are in memory and mapped. Pages that several processes share count for each of them."""

    nodes: dict[int, int] = {}
    """NUMA node -> bytes."""
    file_nodes: dict[int, int] = {}
    """The part of them that belongs to files: the page cache, which others may have filled."""
    interleaved: dict[int, int] = {}
    """The part of them that lies where a policy `interleave` put it: somebody wanted it spread."""
    policies: dict[str, int] = {}
    """Memory policy, in the kernel's words (`default`, `bind:0`, `prefer:1`), -> number of mappings."""
    mappings: int = 0

    @property
    def total(self) -> int:
        return sum(self.nodes.values())


def parse_numa_maps(data: bytes) -> Pages:
    policies: Counter[bytes] = Counter()
    sizes: Counter[tuple[bytes, bytes, bool, int]] = Counter()
    spread: dict[bytes, int] = {}
    # Many mappings look alike; each different look is taken apart once.
    for (policy, file, nodes, size), count in Counter(_LINE.findall(data)).items():
        policies[policy] += count
        if nodes:
            if policy not in spread:
                spread[policy] = _interleave_nodes(policy)
            sizes[nodes, size, bool(file) and not file.startswith(_MEMORY_FILES), spread[policy]] += count
    all_nodes: Counter[int] = Counter()
    file_nodes: Counter[int] = Counter()
    interleaved: Counter[int] = Counter()
    for (text, size, of_file, wanted), count in sizes.items():
        for node, pages in _NODE.findall(text):
            amount = int(pages) * int(size) * 1024 * count
            all_nodes[int(node)] += amount
            if of_file:
                file_nodes[int(node)] += amount
            if wanted >> int(node) & 1:
                interleaved[int(node)] += amount
    return Pages(
        nodes=dict(sorted(all_nodes.items())),
        file_nodes=dict(sorted(file_nodes.items())),
        interleaved=dict(sorted(interleaved.items())),
        policies={policy.decode("ascii", "replace"): count for policy, count in sorted(policies.items())},
        mappings=policies.total(),
    )


def _interleave_nodes(policy: bytes) -> int:
    match = _INTERLEAVE.fullmatch(policy)
    return (cpu_list(match[1].decode()) or 0) if match else 0


def bound_nodes(policies: Iterable[str]) -> int | None:
    """The NUMA nodes, as a mask, that `bind` allows, when it holds for every mapping; else None."""
    mask = 0
    for policy in policies:
        match = _BIND.fullmatch(policy)
        nodes = cpu_list(match[1]) if match else None
        if nodes is None:
            return None
        mask |= nodes
    return mask or None
