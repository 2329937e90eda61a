"""A machine in hwloc's synthetic language, if it is regular enough: equal parts at each level, one inside the other.

The language has one amount for all NUMA nodes and all caches of a level: that of the first is written. Distances and
devices have no place in it.
"""

from collections.abc import Callable, Sequence

from numafit.bits import mask_of, members
from numafit.errors import InputError
from numafit.machine.model import Cpu, Machine

_CURE = "hwloc's synthetic language describes regular machines only"


def synthetic_text(machine: Machine) -> str:
    cpus = [cpu for cpu in machine.cpus if cpu.online]
    if not cpus:
        raise InputError("a machine without CPUs cannot be written", cure=_CURE)
    with_cpus = {cpu.numa for cpu in cpus}
    bare = [node.id for node in machine.numa_nodes if node.id not in with_cpus]
    if bare:
        raise InputError(f"NUMA node {bare[0]} has no CPUs, which cannot be written", cure=_CURE)
    levels = _levels(machine, cpus)
    parts: list[str] = []
    outer = 1
    everything = [mask_of(cpu.id for cpu in cpus)]
    order = everything
    for name, sets in levels:
        order = _nested(name, order, sets)
        if name == "NUMANode" and len(order) == outer:
            parts.append(f"[NUMANode{_attributes(machine, cpus, name, order)}]")
            continue
        parts.append(f"{name}:{len(order) // outer}{_attributes(machine, cpus, name, order)}")
        outer = len(order)
    return " ".join(parts) + "\n"


def _levels(machine: Machine, cpus: Sequence[Cpu]) -> list[tuple[str, list[int]]]:
    """The sets of CPUs of each level, the largest sets first; of equal ones the package, then the NUMA node."""
    online = mask_of(cpu.id for cpu in cpus)
    levels = [
        ("Package", _sets(cpus, lambda cpu: cpu.socket)),
        ("NUMANode", _sets(cpus, lambda cpu: cpu.numa)),
        ("Core", _sets(cpus, lambda cpu: (cpu.numa, cpu.socket, cpu.core))),
    ]
    caches = {cache.cpus & online for cache in machine.caches if cache.level == 3} - {0}
    if mask_of(id for cpus_of in caches for id in members(cpus_of)) == online:
        levels.insert(2, ("L3Cache", list(caches)))
    levels.sort(key=lambda level: -max(cpus_of.bit_count() for cpus_of in level[1]))
    return [*levels, ("PU", [1 << cpu.id for cpu in cpus])]


def _sets(cpus: Sequence[Cpu], key: Callable[[Cpu], object]) -> list[int]:
    groups: dict[object, int] = {}
    for cpu in cpus:
        groups[key(cpu)] = groups.get(key(cpu), 0) | 1 << cpu.id
    return list(groups.values())


def _nested(name: str, outer: Sequence[int], inner: Sequence[int]) -> list[int]:
    """The inner sets in the order of the outer ones, then of their lowest CPUs; raises unless they divide evenly."""
    home = {id: place for place, cpus in enumerate(outer) for id in members(cpus)}
    ordered = sorted(inner, key=lambda cpus: (home[_lowest(cpus)], cpus & -cpus))
    spread = [cpus for cpus in inner if cpus & ~outer[home[_lowest(cpus)]]]
    sizes = {cpus.bit_count() for cpus in inner}
    if spread or len(sizes) != 1 or len(inner) % len(outer):
        fault = "lies in two places at once" if spread else "is larger than another one of its kind"
        raise InputError(f"a {name} {fault}, which cannot be written", cure=_CURE)
    return ordered


def _lowest(cpus: int) -> int:
    return (cpus & -cpus).bit_length() - 1


def _attributes(machine: Machine, cpus: Sequence[Cpu], name: str, order: Sequence[int]) -> str:
    fields: list[str] = []
    if name == "NUMANode":
        home = {cpu.id: cpu.numa for cpu in cpus}
        ids = [home[_lowest(cpus_of)] for cpus_of in order]
        memory = {node.id: node.memory for node in machine.numa_nodes}.get(ids[0], 0)
        fields = [f"memory={memory}"] if memory else []
        fields += _indexes(ids)
    elif name == "L3Cache":
        size = next((cache.size for cache in machine.caches if cache.level == 3), 0)
        fields = [f"size={size}"] if size else []
    elif name == "PU":
        fields = _indexes([_lowest(cpu) for cpu in order])
    return f"({' '.join(fields)})" if fields else ""


def _indexes(ids: Sequence[int]) -> list[str]:
    """Left out where they count from 0; as two loops where siblings are n and n + the number of cores."""
    count = len(ids)
    if list(ids) == list(range(count)):
        return []
    for threads in (2, 4, 8):
        cores = count // threads
        if list(ids) == [core + thread * cores for core in range(cores) for thread in range(threads)]:
            return [f"indexes={threads}*{cores}:1*{threads}"]
    return [f"indexes={','.join(map(str, ids))}"]
