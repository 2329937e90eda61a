"""A node: a machine and the settings of its kubelet, with everything the managers derive from both once, at start."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.ledger.ledger import Ledger, MemoryNode
from numafit.machine.model import Device, Machine
from numafit.managers.cpu.manager import CpuManager
from numafit.managers.device.manager import DeviceManager
from numafit.managers.memory.manager import MemoryManager
from numafit.managers.protocol import Manager
from numafit.managers.topology.policy import TopologyPolicy
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.settings.settings import Settings

LAST_NUMA_NODE = 63
"""The kubelet's masks have 64 bits; with a higher id it panics at the first pod that it aligns (seen in 1.35)."""


class Node(msgspec.Struct, frozen=True):
    machine: Machine
    settings: Settings
    topology: TopologyPolicy
    device: DeviceManager
    cpu: CpuManager
    memory: MemoryManager | None
    """None for releases without a memory manager, or with its gate off."""
    idle_memory: Mapping[int, MemoryNode]
    """The memory of the machine with nobody on it."""
    facts: NodeFacts = NO_FACTS
    """What no machine shows."""

    @property
    def managers(self) -> tuple[Manager, ...]:
        """In the kubelet's order, for hints and for allocation alike."""
        return (self.device, self.cpu) if self.memory is None else (self.device, self.cpu, self.memory)


def register(node: Node, ledger: Ledger, devices: Sequence[Device]) -> Ledger:
    """Every plugin registers and lists its devices, one resource after the other."""
    device = ledger.device
    for resource in node.device.plugins:
        own = tuple(device for device in devices if device.resource == resource)
        device = node.device.listed(device, resource, own)
    return replace(ledger, device=device)
