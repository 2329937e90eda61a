"""CPUs in /sys: which there are, which the kubelet finds, and where each one sits."""

from collections.abc import Iterator, Mapping

import msgspec

from numafit.machine.bits import members
from numafit.machine.model import Cpu
from numafit.machine.reading import UNKNOWN
from numafit.machine.sysfs_cache import CPUS, Caches
from numafit.machine.sysfs_node import NODES, cpu_ids
from numafit.machine.sysfs_text import cpu_list, needed_cpu_list, needed_number, number
from numafit.machine.tree import Tree

PERFORMANCE, EFFICIENCY = "performance", "efficiency"

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
