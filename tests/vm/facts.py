"""What a machine and the definition of a virtual one say about the same things, in the same words."""

from typing import NamedTuple

from numafit.machine.model import Machine
from tests.vm.boot import DISKS
from tests.vm.shape import Shape


class Facts(NamedTuple):
    sockets: int | None
    cores: frozenset[tuple[int, int, tuple[int, ...]]]
    """Socket, NUMA node, and the CPUs of one core. Not its number: firmware gives that."""
    distances: dict[int, tuple[int, ...] | None]
    devices: dict[str, tuple[int, ...] | None]
    """PCI address -> NUMA nodes."""


def facts_of_machine(machine: Machine) -> Facts:
    cores: dict[tuple[int, int, int], list[int]] = {}
    for cpu in machine.cpus:
        cores.setdefault((cpu.socket, cpu.numa, cpu.core), []).append(cpu.id)
    return Facts(
        machine.sockets,
        frozenset((socket, numa, tuple(sorted(cpus))) for (socket, numa, _), cpus in cores.items()),
        {node.id: node.distances for node in machine.numa_nodes},
        {device.bus: device.numa for device in machine.devices},
    )


def facts_of_shape(shape: Shape) -> Facts:
    cores = frozenset(
        (shape.socket_of(cpu), node, tuple(range(cpu, cpu + shape.threads)))
        for node in range(len(shape.nodes))
        for cpu in shape.cpus_of(node)[:: shape.threads]
    )
    places = {address: (node,) for address, node in shape.addresses()}
    return Facts(
        shape.sockets, cores, {node: shape.row(node) for node in range(len(shape.nodes))}, {DISKS: None, **places}
    )


def kernel_share(machine: Machine, shape: Shape) -> list[float]:
    """Per NUMA node the part of its memory that the kernel kept for itself."""
    by_id = {node.id: node.memory for node in machine.numa_nodes}
    return [1 - by_id[number] / (node.memory << 20) for number, node in enumerate(shape.nodes)]
