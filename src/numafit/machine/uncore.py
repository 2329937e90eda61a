"""Which last-level caches the kubelet calls uncore caches, for sources that list caches with the CPUs they serve.

cAdvisor (0.39 and later) looks at the first thread of each core and at caches above level 2. One that serves as many
CPUs as the NUMA node has cores times the threads of this core belongs to the node and is passed over; the first other
one is the core's uncore cache. At a cache without an id it stops: the cores of the NUMA node from there on have none.
"""

from collections.abc import Iterable, Sequence

import msgspec

from numafit.bits import members
from numafit.machine.model import Cache, Cpu

_Core = tuple[int, int, int]


def _core_of(cpu: Cpu) -> _Core:
    return cpu.numa, cpu.socket, cpu.core


def with_uncore_caches(cpus: Sequence[Cpu], caches: Iterable[Cache]) -> tuple[Cpu, ...]:
    """`cpus` in their order, each with its uncore cache."""
    large: dict[int, list[Cache]] = {}
    for cache in sorted(caches, key=lambda cache: cache.level):
        if cache.level > 2:
            for cpu_id in members(cache.cpus):
                large.setdefault(cpu_id, []).append(cache)
    threads: dict[_Core, list[Cpu]] = {}
    for cpu in cpus:
        if cpu.online:
            threads.setdefault(_core_of(cpu), []).append(cpu)
    cores: dict[int, int] = {}
    for numa, _, _ in threads:
        cores[numa] = cores.get(numa, 0) + 1
    stopped: set[int] = set()
    uncore: dict[_Core, int | None] = {}
    for core, (first, *rest) in threads.items():
        found = large.get(first.id, [])
        if any(cache.id is None for cache in found):
            stopped.add(first.numa)
        whole_node = cores[first.numa] * (1 + len(rest))
        uncore[core] = next(
            (cache.id for cache in found if cache.cpus.bit_count() != whole_node and first.numa not in stopped), None
        )
    return tuple(msgspec.structs.replace(cpu, uncore_cache=uncore.get(_core_of(cpu))) for cpu in cpus)
