"""Caches in /sys, and which of them the kubelet takes for an uncore cache.

cAdvisor looks at the caches of the first thread of each core, node by node. A cache above level 2 belongs to the node
when it is shared by as many CPUs as the node has (its cores times the threads of this core), else it is an uncore
cache; the kubelet takes a core's first one. Where a file is missing or odd, cAdvisor stops looking at that node: the
cores before keep what was found, the others have no uncore cache.
"""

import re
from collections.abc import Sequence

from numafit.machine.model import Cache
from numafit.machine.sysfs_text import cpu_groups, mask_of_groups
from numafit.machine.tree import Tree

CPUS = "sys/devices/system/cpu"

# Go's Sscanf: a number at the start is enough.
_NUMBER = re.compile(r" *([+-]?[0-9]{1,18})")
_SIZE = re.compile(r" *\+?([0-9]{1,15})K")


class Caches:
    """Reads caches, and remembers all it has met."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._met: set[Cache] = set()

    def uncore_caches(self, cores: Sequence[Sequence[int]]) -> list[int | None]:
        """Per core of one NUMA node its uncore cache. `cores` are the CPUs of each core, all in the order met."""
        found: list[int | None] = []
        stopped = False
        for threads in cores:
            caches = self._caches_of(threads[0])
            for other in threads[1:]:
                # Threads share all caches of their core, except in some virtual machines.
                if not all(cache and cache[0].cpus >> other & 1 for cache in caches):
                    self._caches_of(other)
            stopped = stopped or not caches or any(cache is None or cache[0].id is None for cache in caches)
            whole_node = len(cores) * len(threads)
            uncore = [cache[0].id for cache in caches if cache and cache[0].level > 2 and cache[1] != whole_node]
            found.append(uncore[0] if uncore and not stopped else None)
        return found

    def all(self) -> tuple[Cache, ...]:
        """By level, then data before instruction, then the lowest CPU."""
        return tuple(
            sorted(self._met, key=lambda met: (met.level, met.kind, met.cpus & -met.cpus, met.id or 0, met.size))
        )

    def _caches_of(self, cpu: int) -> list[tuple[Cache, int] | None]:
        """Each with the number of CPUs that share it; None for one that cannot be read."""
        folder = f"{CPUS}/cpu{cpu}/cache"
        caches = [self._read(f"{folder}/{name}") for name in self.tree.names(folder) if name.startswith("index")]
        self._met |= {cache[0] for cache in caches if cache}
        return caches

    def _read(self, folder: str) -> tuple[Cache, int] | None:
        groups = cpu_groups(self.tree.text(f"{folder}/shared_cpu_map"))
        level = _NUMBER.match(self.tree.text(f"{folder}/level") or "")
        kind = self.tree.text(f"{folder}/type")
        size = _SIZE.match(self.tree.text(f"{folder}/size") or "")
        if groups is None or level is None or kind is None or size is None:
            return None
        # Kernels before 4.11 number no caches; cAdvisor takes that for an error, a drawing need not.
        id = _NUMBER.match(self.tree.text(f"{folder}/id") or "")
        cache = Cache(
            level=int(level[1]),
            kind=kind.strip()[:40].lower(),
            size=int(size[1]) * 1024,
            cpus=mask_of_groups(groups),
            id=int(id[1]) if id else None,
        )
        return cache, sum(group.bit_count() for group in groups)
