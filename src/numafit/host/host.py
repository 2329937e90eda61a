"""This host as jobs meet it: its machine, what the administrator keeps back, and what the caller may use."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from numafit.bits import mask_of
from numafit.machine.model import Device, Machine


class Host(msgspec.Struct, frozen=True):
    machine: Machine
    reserved_cpus: int = 0
    reserved_memory: Mapping[int, int] = {}
    """NUMA node -> bytes."""
    allowed_cpus: int | None = None
    """CPUs that the caller may use at all; None: every one."""
    allowed_mems: int | None = None

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


def host_of(machine: Machine, file: HostFile, *, allowed: tuple[int, int] | None = None) -> Host:
    """The devices of the file take the place of those of the same resource. `allowed` are CPUs and memory nodes."""
    named = {device.resource for device in file.devices}
    kept = tuple(device for device in machine.devices if device.resource not in named)
    machine = replace(machine, devices=kept + file.devices)
    cpus, mems = allowed or (None, None)
    return Host(machine, file.reserved_cpus, file.reserved_memory, cpus, mems)
