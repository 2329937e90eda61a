"""What no source of a machine states: words for `Machine.assumed` that no reader could put there.

A reader lists what it filled with a stand-in. What is simply missing is seen only here, where all sources are known:
the kubelet itself sees no more than cAdvisor and /sys show, so what those leave out is not there for it, while what
`numactl` leaves out may well be.
"""

from collections.abc import Set
from itertools import combinations

from msgspec.structs import replace

from numafit.machine.model import Machine
from numafit.machine.source import CADVISOR, HWLOC, SYSFS, WRITTEN

_AS_THE_KUBELET = (CADVISOR, SYSFS)
_COUNTS_PAGES = (*WRITTEN, HWLOC)
"""Where these name no huge pages, there are none."""

UNTOLD_MEMORY = 1 << 40
"""Of each NUMA node, in bytes: more than pods and reservations ask for, so that nobody is refused for its sake."""


def unstated(machine: Machine, kinds: Set[str]) -> list[str]:
    """`kinds` are those of the sources."""
    words = []
    nodes = machine.numa_nodes
    if not kinds & set(_AS_THE_KUBELET):
        if machine.cpus and not machine.caches and all(cpu.uncore_cache is None for cpu in machine.cpus):
            words.append("uncore_cache")
        if len(nodes) > 1 and any(node.distances is None for node in nodes):
            words.append("distances")
        if nodes and not any(node.memory for node in nodes):
            words.append("memory")
        if nodes and not kinds & set(_COUNTS_PAGES) and not any(node.hugepages for node in nodes):
            words.append("hugepages")
    if _links_missing(machine):
        words.append("links")
    return words


def with_memory(machine: Machine) -> Machine:
    """For a kubelet, which does not start without memory; where it is told, or told that there is none, as it is."""
    nodes = machine.numa_nodes
    if "memory" not in machine.assumed or not nodes or any(node.memory for node in nodes):
        return machine
    own = UNTOLD_MEMORY if machine.memory is None else machine.memory // len(nodes)
    return replace(machine, numa_nodes=tuple(replace(node, memory=own) for node in nodes))


def _links_missing(machine: Machine) -> bool:
    """Which two of three or more GPUs are nearest depends on links; of two there is only one pair."""
    gpus = [device.id for device in machine.devices if device.kind == "gpu"]
    if len(gpus) < 3:
        return False
    linked = {frozenset((link.a, link.b)) for link in machine.links}
    return any(frozenset(pair) not in linked for pair in combinations(gpus, 2))
