"""CPUs and caches in /sys: which CPUs there are, which the kubelet finds, where each sits, and its uncore cache.

cAdvisor looks at the caches of the first thread of each core, node by node. A cache above level 2 belongs to the node
when it is shared by as many CPUs as the node has (its cores times the threads of this core), else it is an uncore
cache; the kubelet takes a core's first one. Where a file is missing or odd, cAdvisor stops looking at that node: the
cores before keep what was found, the others have no uncore cache.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from numafit.bits import members
from numafit.machine.model import EFFICIENCY, PERFORMANCE, Cache, Cpu
from numafit.machine.read.sysfs.node import NODES, cpu_ids
from numafit.machine.read.sysfs.text import cpu_groups, cpu_list, mask_of_groups, needed_cpu_list, needed_number, number
from numafit.machine.read.sysfs.tree import Tree
from numafit.machine.read.text import UNKNOWN

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


# The names of the counters that hybrid Intel processors have, one per kind of core.
_KINDS = (
    ("sys/devices/cpu_core/cpus", PERFORMANCE),
    ("sys/devices/cpu_atom/cpus", EFFICIENCY),
    ("sys/devices/cpu_lowpower/cpus", EFFICIENCY),
)


class FoundCpus(msgspec.Struct, frozen=True):
    cpus: tuple[Cpu, ...]
    """As the kubelet meets them, node after node; then those that are offline, ascending."""
    pseudo_nodes: tuple[int, ...]
    """Without node directories the kubelet makes one NUMA node per socket."""


def read_cpus(tree: Tree, nodes: list[int], caches: Caches, source: str) -> FoundCpus:
    """`nodes` in the kubelet's order. A CPU that is online but has no core or socket number does not exist for it."""
    present = cpu_ids(tree.names(CPUS))
    online = needed_cpu_list(tree, f"{CPUS}/online", source)
    sockets = {cpu: needed_number(tree, f"{CPUS}/cpu{cpu}/topology/physical_package_id", source) for cpu in present}
    linked = {node: cpu_ids(tree.names(f"{NODES}/node{node}")) for node in nodes}
    if nodes:
        by_node = linked
        pseudo: tuple[int, ...] = ()
    else:
        # The kubelet leaves the order of these to chance; ours ascends.
        pseudo = tuple(sorted({socket for socket in sockets.values() if socket is not None}))
        by_node = {socket: [cpu for cpu in present if sockets[cpu] == socket] for socket in pseudo}
    isolated = cpu_list(tree.text(f"{CPUS}/isolated")) or 0
    kinds = _kinds(tree, present)
    found: list[Cpu] = []
    for node, cpus in by_node.items():
        placed = list(_placed(tree, node, cpus, sockets, online, source))
        found += _with_uncore_caches(placed, caches)
    homes = {cpu: node for node, cpus in linked.items() for cpu in cpus}
    for cpu in sorted(present):
        # The kernel takes the other files of such a CPU away.
        if online is not None and not online >> cpu & 1:
            found.append(Cpu(id=cpu, core=UNKNOWN, socket=UNKNOWN, numa=homes.get(cpu, UNKNOWN), online=False))
    return FoundCpus(tuple(_marked(cpu, kinds, isolated) for cpu in found), pseudo)


def _placed(
    tree: Tree, node: int, cpus: list[int], sockets: Mapping[int, int | None], online: int | None, source: str
) -> Iterator[Cpu]:
    for cpu in cpus:
        if online is not None and not online >> cpu & 1:
            continue
        topology = f"{CPUS}/cpu{cpu}/topology"
        core, socket = needed_number(tree, f"{topology}/core_id", source), sockets.get(cpu)
        if core is None or socket is None:
            continue
        die = number(tree.text(f"{topology}/die_id"))
        yield Cpu(id=cpu, core=core, socket=socket, numa=node, die=None if die is None or die < 0 else die)


def _with_uncore_caches(cpus: list[Cpu], caches: Caches) -> list[Cpu]:
    cores: dict[tuple[int, int], list[Cpu]] = {}
    for cpu in cpus:
        cores.setdefault((cpu.socket, cpu.core), []).append(cpu)
    uncore = caches.uncore_caches([[cpu.id for cpu in threads] for threads in cores.values()])
    by_core = dict(zip(cores, uncore, strict=True))
    return [msgspec.structs.replace(cpu, uncore_cache=by_core[cpu.socket, cpu.core]) for cpu in cpus]


def _marked(cpu: Cpu, kinds: Mapping[int, str], isolated: int) -> Cpu:
    kind, alone = kinds.get(cpu.id, ""), bool(isolated >> cpu.id & 1)
    return msgspec.structs.replace(cpu, kind=kind, isolated=alone) if kind or alone else cpu


def _kinds(tree: Tree, present: list[int]) -> dict[int, str]:
    """Only where there are both kinds; else there is nothing to tell apart."""
    kinds = {}
    for path, kind in _KINDS:
        for cpu in members(cpu_list(tree.text(path)) or 0):
            kinds[cpu] = kind
    if not kinds:
        kinds = _kinds_by_capacity(tree, present)
    return kinds if len(set(kinds.values())) == 2 else {}


def _kinds_by_capacity(tree: Tree, present: list[int]) -> dict[int, str]:
    """Arm states how strong each CPU is, 1024 being the strongest. Good and best cores of one kind differ by less than
    a quarter, the two kinds by more."""
    if not present or tree.text(f"{CPUS}/cpu{present[0]}/cpu_capacity") is None:
        return {}
    read = {cpu: number(tree.text(f"{CPUS}/cpu{cpu}/cpu_capacity")) for cpu in present}
    capacities = {cpu: capacity for cpu, capacity in read.items() if capacity is not None}
    strongest = max(capacities.values(), default=0)
    return {cpu: EFFICIENCY if 4 * own <= 3 * strongest else PERFORMANCE for cpu, own in capacities.items()}
