"""This host as jobs meet it: its machine, what the administrator keeps back, how much each user may hold, and what the
caller may use.
"""

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from numafit.bits import cpuset_text, mask_of
from numafit.errors import InputError
from numafit.host.usage import Usage
from numafit.machine.model import Device, Machine
from numafit.machine.notes import memory_gap_text

Distance = Callable[[int, int], int]

_NEAR, _FAR = 10, 20
"""What the kernel says where nobody knows: 10 within a NUMA node, 20 between two."""


class Quota(msgspec.Struct, frozen=True):
    """How much may be held, by one user or by a group together; None: as much as there is."""

    cpus: int | None = None
    """Exclusive ones."""
    memory: int | None = None
    """Bytes."""
    devices: Mapping[str, int] = {}
    """Resource -> number."""
    jobs: int | None = None
    """Leases at the same time, those of shared work among them."""
    seconds: float | None = None
    """How long a job may run at most; also of one that does not say how long it will."""
    priority: int | None = None
    """The highest that may be asked for."""


class Quotas(msgspec.Struct, frozen=True):
    users: Mapping[str, Quota] = {}
    """`*` is everybody, field by field where a user's own says nothing."""
    groups: Mapping[str, Quota] = {}
    """A lease counts for the first of them that its user belongs to."""


class Host(msgspec.Struct, frozen=True):
    machine: Machine
    reserved_cpus: int = 0
    reserved_memory: Mapping[int, int] = {}
    """NUMA node -> bytes."""
    allowed_cpus: int | None = None
    """CPUs that the caller may use at all; None: every one."""
    allowed_mems: int | None = None
    usage: Usage | None = None
    """What is really in use; None: it was not looked at."""
    live: bool = False
    """This very machine: what is in use can be looked at."""
    notes: tuple[str, ...] = ()
    """What of the machine's memory is told in two ways."""
    quotas: Quotas = Quotas()

    def within(self, nodes: int, *, holding: bool) -> "Host":
        """As far as a job on these NUMA nodes may use it; 0: all of it. Raises `InputError` for nodes that are not
        there, and for those without CPUs or, where memory is to be held, without memory."""
        if not nodes:
            return self
        known = mask_of(node.id for node in self.machine.numa_nodes)
        if nodes & ~known:
            words = f"this machine has no NUMA node {cpuset_text(nodes & ~known)}"
            raise InputError(words, source="--node", cure=f"there are {cpuset_text(known)}")
        cpus = self.usable_cpus & mask_of(cpu.id for cpu in self.machine.cpus if nodes >> cpu.numa & 1)
        if not cpus:
            words, cure = f"NUMA node {cpuset_text(nodes)} has no CPU for this process", "name one with CPUs beside it"
            raise InputError(words, source="--node", cure=cure)
        if holding and not self.memory_nodes & nodes:
            raise InputError(f"NUMA node {cpuset_text(nodes)} has no memory to hold", source="--node")
        return replace(self, allowed_cpus=cpus, allowed_mems=self.memory_nodes & nodes or self.memory_nodes)

    @property
    def online(self) -> int:
        return mask_of(cpu.id for cpu in self.machine.cpus if cpu.online)

    @property
    def cores(self) -> list[int]:
        """The CPU sets of the cores."""
        cores: dict[tuple[int, int, int], int] = {}
        for cpu in self.machine.cpus:
            key = (cpu.numa, cpu.socket, cpu.core)
            cores[key] = cores.get(key, 0) | 1 << cpu.id
        return list(cores.values())

    @property
    def usable_cpus(self) -> int:
        return self.online if self.allowed_cpus is None else self.online & self.allowed_cpus

    @property
    def memory_nodes(self) -> int:
        """NUMA nodes with memory for programs; a device's own memory is not for them."""
        nodes = mask_of(node.id for node in self.machine.numa_nodes if node.memory and not node.device)
        return nodes if self.allowed_mems is None else nodes & self.allowed_mems


class HostFile(msgspec.Struct, frozen=True):
    reserved_cpus: int = 0
    reserved_memory: Mapping[int, int] = {}
    devices: tuple[Device, ...] = ()
    quotas: Quotas = Quotas()


def host_of(machine: Machine, file: HostFile, *, allowed: tuple[int, int] | None = None) -> Host:
    """The devices of the file take the place of those of the same resource. `allowed` are CPUs and memory nodes."""
    named = {device.resource for device in file.devices}
    kept = tuple(device for device in machine.devices if device.resource not in named)
    machine, notes = _one_memory(replace(machine, devices=kept + file.devices))
    cpus, mems = allowed or (None, None)
    return Host(machine, file.reserved_cpus, file.reserved_memory, cpus, mems, notes=notes, quotas=file.quotas)


def _one_memory(machine: Machine) -> tuple[Machine, tuple[str, ...]]:
    """Some virtual machines tell the memory of their nodes before all of it is there, and some containers tell their
    own limit as the total. Of one node the total counts; of several nobody knows which one is meant."""
    sentence = memory_gap_text(machine)
    if not sentence or machine.memory is None:
        return machine, ()
    nodes = [node for node in machine.numa_nodes if node.memory and not node.device]
    if len(nodes) > 1:
        return machine, (f"{sentence}: what the nodes tell counts",)
    known = tuple(replace(node, memory=machine.memory) if node == nodes[0] else node for node in machine.numa_nodes)
    return replace(machine, numa_nodes=known), (f"{sentence}: the latter counts",)


def distances(machine: Machine) -> Distance:
    ids = sorted(node.id for node in machine.numa_nodes)
    rows = {node.id: dict(zip(ids, node.distances, strict=False)) for node in machine.numa_nodes if node.distances}

    def distance(a: int, b: int) -> int:
        return rows.get(a, {}).get(b, _NEAR if a == b else _FAR)

    return distance
