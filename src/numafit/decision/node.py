"""A node: a machine and the settings of its kubelet, with everything the managers derive from both once, at start."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.bits import mask_of
from numafit.errors import InputError
from numafit.ledger.ledger import DeviceLedger, Held, Ledger, MemoryNode
from numafit.machine.model import Device, Machine
from numafit.managers.cpu.manager import CpuManager
from numafit.managers.cpu.start import new_cpu_manager, start_cpu_manager
from numafit.managers.device.manager import DeviceManager, allocated_devices
from numafit.managers.device.plugin import Plugin, plugins_of
from numafit.managers.memory.manager import MemoryManager
from numafit.managers.memory.start import new_memory_manager, start_memory_manager
from numafit.managers.protocol import Choices, Manager
from numafit.managers.topology.policy import TopologyPolicy, topology_policy
from numafit.settings.settings import Settings
from numafit.workload.pod import Pod

CPU_FILE = "cpu_manager_state"
MEMORY_FILE = "memory_manager_state"
DEVICE_FILE = "kubelet_internal_checkpoint"

LAST_NUMA_NODE = 63
"""The kubelet's masks have 64 bits; with a higher id it crashes at the first pod that it aligns (seen in 1.35)."""


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

    @property
    def managers(self) -> tuple[Manager, ...]:
        """In the kubelet's order, for hints and for allocation alike."""
        return (self.device, self.cpu) if self.memory is None else (self.device, self.cpu, self.memory)


class Started(msgspec.Struct, frozen=True):
    node: Node
    ledger: Ledger
    device_file_error: str = ""
    """The device manager's file could not be read: the kubelet says so and goes on without it."""


def new_node(
    machine: Machine, settings: Settings, plugins: Mapping[str, Plugin] | None = None, choices: Choices | None = None
) -> Node:
    """What the kubelet constructs before it reads any state; raises StartError as the kubelet would."""
    for numa in machine.numa_nodes:
        if numa.id > LAST_NUMA_NODE:
            raise InputError(f"the kubelet's masks end at NUMA node {LAST_NUMA_NODE}, this machine has node {numa.id}")
    choices = choices or Choices()
    topology = topology_policy(settings, machine)
    if plugins is None:
        plugins = plugins_of(machine)
    nodes = mask_of(node.id for node in machine.numa_nodes)
    cpu = new_cpu_manager(machine, settings, choices)
    memory: MemoryManager | None = None
    idle: Mapping[int, MemoryNode] = {}
    if settings.behaviour.memory_manager and settings.gates.get("MemoryManager", True):
        memory, idle = new_memory_manager(machine, settings)
    return Node(machine, settings, topology, DeviceManager(nodes, settings.behaviour, plugins), cpu, memory, idle)


def start(
    node: Node,
    files: Mapping[str, str] | None = None,
    *,
    active: Sequence[Pod] = (),
    containers: tuple[tuple[str, str, str], ...] = (),
    choices: Choices | None = None,
) -> Started:
    """The kubelet starts over these state files. No plugin has registered yet.

    `containers` are the (pod UID, container, container id) that the runtime knows; `active` pods are known, but not yet
    admitted.
    """
    files = files or {}
    choices = choices or Choices()
    cpu = start_cpu_manager(node.cpu, node.settings, files.get(CPU_FILE), containers)
    ledger = Ledger(cpu=cpu, active={pod.uid: pod for pod in active})
    if node.memory is not None:
        text = files.get(MEMORY_FILE)
        memory = start_memory_manager(node.memory, node.idle_memory, node.settings, text, choices)
        ledger = replace(ledger, memory=memory)
    device, error = _read_devices(node, files.get(DEVICE_FILE))
    return Started(node, replace(ledger, device=device), error)


def _read_devices(node: Node, text: str | None) -> tuple[DeviceLedger, str]:
    if text is None:
        return DeviceLedger(), ""
    # A node that starts empty needs no reader, and a command starts quicker without it.
    from numafit.ledger.files.checkpoint import RestoreError
    from numafit.ledger.files.device import read_device

    try:
        content = read_device(text, node.settings.behaviour)
    except RestoreError as error:
        return DeviceLedger(file=text), str(error)
    held: dict[str, dict[str, dict[str, Held]]] = {}
    for entry in content.entries or ():
        if not _is_response(entry.response):
            # The kubelet logs an answer that it cannot decode, and goes on without the entry.
            continue
        ids = frozenset(device for devices in entry.devices.values() for device in devices)
        container = held.setdefault(entry.pod_uid, {}).setdefault(entry.container, {})
        container[entry.resource] = Held(entry.devices, ids, entry.response)
    healthy: dict[str, frozenset[str]] = dict.fromkeys(content.registered, frozenset())
    ledger = DeviceLedger(held=held, healthy=healthy, file=text)
    return replace(ledger, allocated=allocated_devices(ledger)), ""


def _is_response(data: bytes) -> bool:
    from numafit.ledger.files.allocate_response import AllocateResponseError, decode_response

    try:
        decode_response(data)
    except AllocateResponseError:
        return False
    return True


def register(node: Node, ledger: Ledger, devices: Sequence[Device]) -> Ledger:
    """Every plugin registers and lists its devices, one resource after the other."""
    device = ledger.device
    for resource in node.device.plugins:
        own = tuple(device for device in devices if device.resource == resource)
        device = node.device.listed(device, resource, own)
    return replace(ledger, device=device)
