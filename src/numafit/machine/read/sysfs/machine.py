"""A machine from its /sys and /proc: live, in a folder, or in a .tgz.

CPUs, NUMA nodes, sockets and uncore caches are found as the kubelet finds them (through cAdvisor): the same files, the
same order, the same omissions. What the kubelet does not look at (offline CPUs, kinds of cores, PCI devices) is added
beside it.
"""

import re

import msgspec

from numafit.errors import InputError
from numafit.machine.model import Machine, NumaNode
from numafit.machine.read.sysfs.cpu import CPUS, Caches, read_cpus
from numafit.machine.read.sysfs.node import cpu_ids, mem_total, node_ids, read_node
from numafit.machine.read.sysfs.pci import read_devices
from numafit.machine.read.sysfs.text import needed_cpu_list
from numafit.machine.read.sysfs.tree import Tree

CPUINFO = "proc/cpuinfo"
MEMINFO = "proc/meminfo"

_SOCKET = re.compile(r"^physical id[\t\n\f\r ]*:[\t\n\f\r ]*[0-9]+$", re.M)
_MODEL = re.compile(r"^(?:model name|cpu)[\t ]*:[\t ]*(\S.*)$", re.M)
"""`cpu` is what POWER calls it."""


def read_sysfs(tree: Tree, source: str) -> Machine:
    """`source` names the tree in errors: a file, a folder, or `/`."""
    ids = node_ids(tree)
    caches = Caches(tree)
    found = read_cpus(tree, ids, caches, source)
    if not ids and not found.cpus:
        raise InputError(
            "no CPU and no NUMA node in it",
            source=source,
            cure=f"give the folder above sys and proc, with {CPUS} in it, or a .tgz of that",
        )
    devices = read_devices(tree)
    with_cpus = {cpu.numa for cpu in found.cpus}
    nodes = [read_node(tree, id, source) for id in ids] or [NumaNode(id) for id in found.pseudo_nodes]
    owners = {id: owner for id, owner in devices.memory_nodes.items() if id not in with_cpus}
    cpuinfo = tree.text(CPUINFO) or ""
    model = _MODEL.search(cpuinfo)
    return Machine(
        cpus=found.cpus,
        numa_nodes=tuple(
            msgspec.structs.replace(node, device=owners[node.id]) if node.id in owners else node for node in nodes
        ),
        devices=devices.devices,
        memory=mem_total(tree, MEMINFO, source),
        sockets=_sockets(tree, cpuinfo, source),
        caches=caches.all(),
        model=model[1].strip()[:200] if model else "",
    )


def _sockets(tree: Tree, cpuinfo: str, source: str) -> int | None:
    """As cAdvisor counts: different `physical id` lines, or, where there are none (Arm), different package numbers of
    the CPUs online, a missing one counting as 0."""
    lines = len(set(_SOCKET.findall(cpuinfo)))
    if lines:
        return lines
    online = needed_cpu_list(tree, f"{CPUS}/online", source)
    cpus = [cpu for cpu in cpu_ids(tree.names(CPUS)) if online is None or online >> cpu & 1]
    packages = {(tree.text(f"{CPUS}/cpu{cpu}/topology/physical_package_id") or "0").strip() for cpu in cpus}
    return len(packages) or None
