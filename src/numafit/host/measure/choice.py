"""What takes part in a survey: CPUs that nobody holds, memory that is free, pairs of CPUs, GPUs that nobody holds."""

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import msgspec

from numafit.amounts import size_text
from numafit.bits import cpuset_text, mask_of
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.measure.result import OTHER_SOCKET, SAME_CACHE, SAME_NODE, SAME_SOCKET, SIBLINGS
from numafit.host.pool import pool_of
from numafit.host.process.cpuset import cgroup_mounts
from numafit.machine.model import GPU_RESOURCE, Cpu, Device, Machine

NODES = Path("/sys/devices/system/node")
PROC = Path("/proc")

LEAST, MOST = 64 << 20, 4 << 30
"""Bytes that are read on a node."""
MOST_CHAIN = 2 << 30
USEFUL = 1 << 20
"""Less memory than this is not worth a figure."""
_CACHES = 4
"""So many times the caches are read, for what was read last is met last."""
_SHARE = 4
"""Of the free memory of a node, and of what is left to a cgroup, this part is taken at most."""
MOST_CORES = 24
"""More cores are not compared with each other, but some of each uncore cache or NUMA node."""

_GROUPS: tuple[Callable[[Cpu], Hashable], ...] = (
    lambda cpu: (cpu.numa, cpu.uncore_cache),
    lambda cpu: cpu.numa,
    lambda cpu: cpu.socket,
)
"""Of which two cores are enough, when there are too many cores; then of the next."""


class ChosenNode(msgspec.Struct, frozen=True):
    id: int
    cpus: tuple[int, ...]
    """One of each core that nobody holds, ascending."""
    memory: bool
    """Whether its memory takes part."""


class Choice(msgspec.Struct, frozen=True):
    nodes: tuple[ChosenNode, ...]
    size: int
    """Bytes to read on each node."""
    chain: int
    """Bytes of the chain of loads on each node, a power of two."""
    pairs: tuple[tuple[int, int, str], ...]
    """Two CPUs, and what they have in common."""
    gpus: tuple[Device, ...]
    notes: tuple[str, ...]


def choose(host: Host, leases: Sequence[Lease], own: str = "", size: int = 0) -> Choice:
    """`own` is the lease in which numafit itself runs, `size` what somebody wants to be read instead of the default."""
    others = [lease for lease in leases if lease.id != own]
    usable = host.usable_cpus & pool_of(host, others)
    notes: list[str] = []
    held = host.usable_cpus & ~usable
    if held:
        notes.append(f"CPUs {cpuset_text(held)} took no part: leases hold them")
    nodes = _nodes(host, usable)
    room = _room(nodes, notes)
    nodes = [ChosenNode(node.id, node.cpus, node.id in room) for node in nodes]
    free = min(room.values(), default=0)
    wanted, chain = _sizes(host.machine, nodes)
    fits = min(size or wanted, free // 2)
    fitting = _power_of_two(min(size or chain, free // 2))
    if room and (fits < wanted or fitting < chain):
        notes.append(f"only {size_text(fits)} of each node took part, so that some of it may have come from caches")
    taken = {name for lease in others for ids in lease.devices.values() for name in ids}
    gpus = [device for device in host.machine.devices if device.kind == "gpu"]
    lost = {gpu.id: why for gpu in gpus if (why := _without(gpu, taken))}
    notes += [f"{gpu.label or gpu.bus} took no part: {lost[gpu.id]}" for gpu in gpus if gpu.id in lost]
    return Choice(
        tuple(nodes),
        fits,
        fitting,
        tuple(cpu_pairs(host.machine, usable)),
        tuple(gpu for gpu in gpus if gpu.id not in lost),
        tuple(notes),
    )


def _without(gpu: Device, taken: Collection[str]) -> str:
    """Why a GPU takes no part; empty: it does. One that is cut into slices is no resource by itself."""
    if gpu.resource not in (GPU_RESOURCE, ""):
        return "only NVIDIA's driver library is known here"
    return "a lease holds it" if gpu.id in taken else ""


def _nodes(host: Host, usable: int) -> list[ChosenNode]:
    """Those with CPUs or memory for programs, ascending."""
    cpus: dict[int, dict[tuple[int, int], int]] = {}
    for cpu in sorted(host.machine.cpus, key=lambda cpu: cpu.id):
        if usable >> cpu.id & 1:
            cpus.setdefault(cpu.numa, {}).setdefault((cpu.socket, cpu.core), cpu.id)
    ids = sorted(node.id for node in host.machine.numa_nodes if not node.device)
    found = [ChosenNode(id, tuple(cpus.get(id, {}).values()), bool(host.memory_nodes >> id & 1)) for id in ids]
    return [node for node in found if node.cpus or node.memory]


def _room(nodes: Sequence[ChosenNode], notes: list[str]) -> dict[int, int]:
    """NUMA node -> bytes that may be taken of it."""
    wanted = [node.id for node in nodes if node.memory]
    left = cgroup_room()
    room: dict[int, int] = {}
    for id in wanted:
        free = free_memory(id if len(nodes) > 1 else None)
        share = free // _SHARE if left is None else min(free, left // max(len(wanted), 1)) // _SHARE
        if share >= 2 * USEFUL:
            room[id] = share
        else:
            notes.append(f"the memory of node {id} took no part: too little of it is free")
    return room


def free_memory(node: int | None) -> int:
    """Bytes that the kernel can give at once: unused, or a part of a file that was not read lately. None: of the whole
    machine, whose only node may be told as less than it is while its memory is still being set up."""
    with suppress(OSError, ValueError, IndexError):
        if node is None:
            lines = (PROC / "meminfo").read_text().splitlines()
            return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
        lines = (NODES / f"node{node}" / "meminfo").read_text().splitlines()
        sizes = {line.split()[2]: int(line.split()[3]) << 10 for line in lines}
        return sizes.get("MemFree:", 0) + sizes.get("Inactive(file):", 0)
    return 0


def cgroup_room() -> int | None:
    """Bytes until a memory limit of this process's cgroup, or of one above it; None: there is none, or none is seen."""
    room: list[int] = []
    with suppress(OSError, ValueError):
        for line in (PROC / "self/cgroup").read_text().splitlines():
            number, controllers, group = line.split(":", 2)
            if number != "0" and "memory" not in controllers.split(","):
                continue
            kind, limit, used = (
                ("cgroup2", "memory.max", "memory.current")
                if number == "0"
                else ("cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes")
            )
            for mount in cgroup_mounts(PROC / "self", kind, "" if number == "0" else "memory"):
                folder = mount.folder_of(group)
                while folder is not None and folder.is_relative_to(mount.folder):
                    room += _left(folder / limit, folder / used)
                    folder = folder.parent
    return min(room, default=None)


def _left(limit: Path, used: Path) -> Iterator[int]:
    with suppress(OSError, ValueError):
        yield max(int(limit.read_text()) - int(used.read_text()), 0)


def _sizes(machine: Machine, nodes: Sequence[ChosenNode]) -> tuple[int, int]:
    """To be read, and of the chain: several times what the caches hold of all CPUs of a node, and of one CPU."""
    # Some processors number one cache once for each of its CPUs.
    caches = {(cache.level, cache.cpus): cache for cache in machine.caches if cache.kind != "instruction"}
    of_node = of_cpu = 0
    for node in nodes:
        mask = mask_of(node.cpus)
        near = [cache for cache in caches.values() if cache.cpus & mask]
        of_node = max(of_node, sum(cache.size for cache in near))
        own = [sum(cache.size for cache in near if cache.cpus >> cpu & 1) for cpu in node.cpus]
        of_cpu = max([of_cpu, *own])
    chain = _power_of_two(max(LEAST, min(2 * _CACHES * of_cpu, MOST_CHAIN)))
    return max(LEAST, min(_CACHES * of_node, MOST)), chain


def _power_of_two(size: int) -> int:
    """The largest that is not larger."""
    return 1 << size.bit_length() - 1 if size else 0


def cpu_pairs(machine: Machine, usable: int) -> Iterator[tuple[int, int, str]]:
    """Two of one core for each socket, and each two of different cores; of a large machine, of some cores."""
    cores: dict[tuple[int, int, int], list[Cpu]] = {}
    for cpu in sorted(machine.cpus, key=lambda cpu: cpu.id):
        if usable >> cpu.id & 1:
            cores.setdefault((cpu.socket, cpu.numa, cpu.core), []).append(cpu)
    sockets: set[int] = set()
    for (socket, _, _), (first, *rest) in cores.items():
        if rest and socket not in sockets:
            sockets.add(socket)
            yield first.id, rest[0].id, SIBLINGS
    chosen = [own[0] for own in cores.values()]
    for group_of in _GROUPS:
        if len(chosen) > MOST_CORES:
            chosen = _two_of_each(chosen, group_of)
    for a, b in combinations(sorted(chosen[:MOST_CORES], key=lambda cpu: cpu.id), 2):
        yield a.id, b.id, _kinship(a, b)


def _two_of_each(cpus: Sequence[Cpu], group_of: Callable[[Cpu], Hashable]) -> list[Cpu]:
    groups: dict[Hashable, list[Cpu]] = {}
    for cpu in cpus:
        groups.setdefault(group_of(cpu), []).append(cpu)
    return [cpu for group in groups.values() for cpu in group[:2]]


def _kinship(a: Cpu, b: Cpu) -> str:
    if a.socket != b.socket:
        return OTHER_SOCKET
    if a.numa != b.numa:
        return SAME_SOCKET
    if a.uncore_cache is not None and a.uncore_cache == b.uncore_cache:
        return SAME_CACHE
    return SAME_NODE
