"""How a kubelet starts: one list of steps, in its own order, from what an administrator wrote to a ledger.

A step is called like the value that it finds, and its parameters are the values that it needs. What somebody knows
beforehand is given, and its step is left out: a recording knows settings and no configuration, a node that starts again
knows its managers. `start` ends at the first refusal, as the kubelet does; `examined` goes on with every step whose
values stand, for those who want to know all refusals at once.
"""

from collections.abc import Callable, Mapping, Set
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from numafit.bits import mask_of
from numafit.decision.node import LAST_NUMA_NODE, Node, register
from numafit.errors import InputError, KubeletError, StartError
from numafit.ledger.ledger import CpuLedger, DeviceLedger, Ledger, MemoryLedger, MemoryNode
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.machine.model import Machine
from numafit.managers.ask import MEMORY
from numafit.managers.cpu.manager import CpuManager
from numafit.managers.cpu.start import new_cpu_manager, start_cpu_manager
from numafit.managers.device.manager import DeviceManager
from numafit.managers.device.plugin import Plugin, plugins_of
from numafit.managers.device.start import start_device_manager
from numafit.managers.memory.manager import MemoryManager
from numafit.managers.memory.start import new_memory_manager, start_memory_manager
from numafit.managers.protocol import Choices
from numafit.managers.topology.policy import TopologyPolicy, topology_policy
from numafit.quantity import Quantity
from numafit.settings.allocatable import allocatable_of, check_capacity, settings_of
from numafit.settings.config import KubeletConfig
from numafit.settings.eviction import check_eviction
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.settings.read.flags import Flags, with_flags
from numafit.settings.read.loader import (
    ConfigSources,
    LoadedConfig,
    read_file,
    resolved_gates,
    validated,
    with_drop_ins,
)
from numafit.settings.settings import Settings
from numafit.settings.versions import KubeVersion, behaviour_of
from numafit.workload.pod import Container, Pod

UNKNOWN: Any = msgspec.UNSET
"""Stands for a value that nobody has found yet. `Any`: it may stand for each of them, and only the walk looks at it."""

CREATE_STAGE = "kubelet.NewMainKubelet"

Files = Mapping[str, str]
"""Name -> text of the state files that are there."""
MadeMemory = tuple[MemoryManager | None, Mapping[int, MemoryNode]]
"""The memory manager, and the memory of the machine with nobody on it."""


class Start(msgspec.Struct, frozen=True):
    """What is known of a kubelet that starts."""

    version: KubeVersion = UNKNOWN
    sources: ConfigSources = UNKNOWN
    machine: Machine = UNKNOWN
    files: Files = {}
    containers: tuple[tuple[str, str, str], ...] = ()
    """The (pod UID, container, container id) that the runtime knows."""
    choices: Choices = Choices()
    release_given: bool = True
    """Nobody guessed the version."""
    facts: NodeFacts = NO_FACTS
    """What neither machine nor configuration tell."""

    flags: Flags = UNKNOWN
    file: LoadedConfig = UNKNOWN
    merged: LoadedConfig = UNKNOWN
    config: KubeletConfig = UNKNOWN
    gates: Mapping[str, bool] = UNKNOWN
    valid: KubeletConfig = UNKNOWN
    settings: Settings = UNKNOWN
    numa_mask: int = UNKNOWN
    topology: TopologyPolicy = UNKNOWN
    cpu: CpuManager = UNKNOWN
    memory: MadeMemory = UNKNOWN
    plugins: Mapping[str, Plugin] = UNKNOWN
    node: Node = UNKNOWN
    eviction: KubeletConfig = UNKNOWN
    """The configuration, once its eviction manager can be made."""
    cpu_state: CpuLedger = UNKNOWN
    memory_state: MemoryLedger = UNKNOWN
    device_state: tuple[DeviceLedger, str] = UNKNOWN
    """With the reason why the kubelet goes on without its file."""
    allocatable: Mapping[str, Quantity] = UNKNOWN
    active: Mapping[str, Pod] = UNKNOWN
    """Pods that are known, but not yet admitted, in the order they came."""
    restored: Ledger = UNKNOWN
    """Before any plugin has registered."""
    ledger: Ledger = UNKNOWN


def again(node: Node, files: Files, **known: Any) -> Start:
    """The kubelet of this node starts once more. `Any`: any other value of `Start`."""
    return Start(
        machine=node.machine,
        files=files,
        settings=node.settings,
        numa_mask=node.device.numa_nodes,
        topology=node.topology,
        cpu=node.cpu,
        memory=(node.memory, node.idle_memory),
        plugins=node.device.plugins,
        node=node,
        facts=node.facts,
        **known,
    )


# --- from what was written to a configuration ------------------------------------------------------------------------


def flags(sources: ConfigSources, version: KubeVersion) -> Flags:
    return sources.flags(version)


def file(sources: ConfigSources, flags: Flags, version: KubeVersion) -> LoadedConfig:
    return read_file(sources.file, version, flags.feature_gates)


def merged(file: LoadedConfig, sources: ConfigSources, flags: Flags, version: KubeVersion) -> LoadedConfig:
    return with_drop_ins(file, sources.drop_ins or (), version, flags.feature_gates)


def config(merged: LoadedConfig, flags: Flags) -> KubeletConfig:
    return with_flags(merged.config, flags)


def gates(config: KubeletConfig, version: KubeVersion) -> Mapping[str, bool]:
    return resolved_gates(version, config.feature_gates)


def valid(config: KubeletConfig, version: KubeVersion, gates: Mapping[str, bool]) -> KubeletConfig:
    return validated(config, version, gates)


# --- from a configuration and a machine to managers ------------------------------------------------------------------


def settings(valid: KubeletConfig, machine: Machine, version: KubeVersion, gates: Mapping[str, bool]) -> Settings:
    return settings_of(valid, machine, version, gates)


def numa_mask(machine: Machine) -> int:
    """A limit of numafit: the kubelet starts, and crashes later."""
    for numa in machine.numa_nodes:
        if numa.id > LAST_NUMA_NODE:
            raise InputError(f"the kubelet's masks end at NUMA node {LAST_NUMA_NODE}, this machine has node {numa.id}")
    return mask_of(numa.id for numa in machine.numa_nodes)


def topology(settings: Settings, machine: Machine) -> TopologyPolicy:
    return topology_policy(settings, machine)


def cpu(settings: Settings, machine: Machine, choices: Choices) -> CpuManager:
    return new_cpu_manager(machine, settings, choices)


def memory(settings: Settings, machine: Machine) -> MadeMemory:
    """No manager in releases that have none, or with its gate off."""
    if settings.behaviour.memory_manager and settings.gates.get("MemoryManager", True):
        return new_memory_manager(machine, settings)
    return None, {}


def plugins(machine: Machine) -> Mapping[str, Plugin]:
    return plugins_of(machine)


def node(
    machine: Machine,
    settings: Settings,
    numa_mask: int,
    topology: TopologyPolicy,
    plugins: Mapping[str, Plugin],
    cpu: CpuManager,
    memory: MadeMemory,
    facts: NodeFacts,
) -> Node:
    device = DeviceManager(numa_mask, settings.behaviour, plugins)
    return Node(machine, settings, topology, device, cpu, *memory, facts)


def eviction(valid: KubeletConfig, version: KubeVersion) -> KubeletConfig:
    try:
        check_eviction(valid, behaviour_of(version))
    except KubeletError as error:
        raise StartError(CREATE_STAGE, f"failed to create kubelet: {error}", cause=error) from None
    return valid


# --- from state files to a ledger ------------------------------------------------------------------------------------


def cpu_state(
    cpu: CpuManager, settings: Settings, files: Files, containers: tuple[tuple[str, str, str], ...]
) -> CpuLedger:
    return start_cpu_manager(cpu, settings, files.get(CPU_FILE), containers)


def memory_state(memory: MadeMemory, settings: Settings, files: Files, choices: Choices) -> MemoryLedger:
    manager, idle = memory
    if manager is None:
        return MemoryLedger()
    return start_memory_manager(manager, idle, settings, files.get(MEMORY_FILE), choices)


def device_state(settings: Settings, files: Files) -> tuple[DeviceLedger, str]:
    return start_device_manager(settings, files.get(DEVICE_FILE))


def allocatable(valid: KubeletConfig, machine: Machine, settings: Settings, facts: NodeFacts) -> Mapping[str, Quantity]:
    """The kubelet looks only now whether the machine has what is reserved. What plugins list counts before `facts`."""
    check_capacity(settings.reservation, machine, settings.version)
    return {**facts.offers, **allocatable_of(valid, machine, settings.version)}


def active(
    cpu_state: CpuLedger, memory_state: MemoryLedger, device_state: tuple[DeviceLedger, str]
) -> Mapping[str, Pod]:
    """The pods that state files tell of, as far as they do: what a container holds stands for what it asked for."""
    holders: dict[str, dict[str, dict[str, int]]] = {}

    def holds(uid: str, container: str, resource: str, amount: int) -> None:
        own = holders.setdefault(uid, {}).setdefault(container, {})
        own[resource] = own.get(resource, 0) + amount

    for uid, containers in cpu_state.entries.items():
        for container, cpus in containers.items():
            holds(uid, container, "cpu", cpus.bit_count())
    for uid, blocks_of in memory_state.entries.items():
        for container, blocks in blocks_of.items():
            holds(uid, container, MEMORY, 0)
            for block in blocks:
                holds(uid, container, block.type, block.size)
    for uid, devices_of in device_state[0].held.items():
        for container, resources in devices_of.items():
            for resource, held in resources.items():
                holds(uid, container, resource, len(held.ids))
    return {uid: _holder(uid, containers) for uid, containers in sorted(holders.items())}


def _holder(uid: str, containers: Mapping[str, Mapping[str, int]]) -> Pod:
    made = []
    for name, held in sorted(containers.items()):
        amounts = {resource: Quantity(amount) for resource, amount in held.items()}
        made.append(Container(name, amounts, amounts))
    return Pod(uid, uid, tuple(made))


def restored(
    cpu_state: CpuLedger,
    memory_state: MemoryLedger,
    device_state: tuple[DeviceLedger, str],
    active: Mapping[str, Pod],
) -> Ledger:
    return Ledger(cpu_state, memory_state, device_state[0], active=active)


def ledger(node: Node, restored: Ledger) -> Ledger:
    return register(node, restored, node.machine.devices)


# --- the walk --------------------------------------------------------------------------------------------------------

STEPS: tuple[Callable[..., Any], ...] = (
    # what was written: the file, the drop-in files over it, the flags over both
    flags,
    file,
    merged,
    config,
    # what the kubelet refuses before it looks at the machine
    gates,
    valid,
    # the managers, with what is reserved of the machine
    settings,
    numa_mask,
    topology,
    cpu,
    memory,
    plugins,
    node,
    # the eviction manager, which is made last
    eviction,
    # the state files, which a manager reads only when all of them stand
    cpu_state,
    memory_state,
    device_state,
    # what is left for pods, and who is there
    allocatable,
    active,
    restored,
    ledger,
)
"""`Any`: each step has values of its own."""
NAMES = tuple(step.__name__ for step in STEPS)
NEEDS = {step.__name__: step.__code__.co_varnames[: step.__code__.co_argcount] for step in STEPS}
"""Step -> the values that it needs: the names of its parameters."""


class StartRefusal(NamedTuple):
    step: str
    error: StartError | InputError


class Examination(msgspec.Struct, frozen=True):
    known: Start
    refusals: tuple[StartRefusal, ...]
    """In the order of the steps; the first one is what the kubelet says."""
    skipped: tuple[str, ...]
    """Steps that lack a value, as one before them was refused or nobody gave it."""

    def started(self) -> Start:
        """All that is known; raises the first refusal."""
        for refusal in self.refusals:
            raise refusal.error
        return self.known


def start(known: Start, until: str = "ledger") -> Start:
    """All steps up to this one; raises the first refusal: a StartError, or an InputError for what only numafit refuses.

    A step that needs what nobody gave is left out.
    """
    for step in STEPS[: NAMES.index(until) + 1]:
        name = step.__name__
        if getattr(known, name) is UNKNOWN and all(getattr(known, need) is not UNKNOWN for need in NEEDS[name]):
            known = _after(known, step)
    return known


def examined(known: Start, without: Set[str] = frozenset()) -> Examination:
    """Each manager reads its own state file, where the kubelet wants all managers to stand first.

    `without`: steps that are left out, and with them those that need their values.
    """
    refusals = []
    skipped = []
    for step in STEPS:
        name = step.__name__
        if name in without or getattr(known, name) is not UNKNOWN:
            continue
        if any(getattr(known, need) is UNKNOWN for need in NEEDS[name]):
            skipped.append(name)
            continue
        try:
            known = _after(known, step)
        except (StartError, InputError) as error:
            refusals.append(StartRefusal(name, error))
    return Examination(known, tuple(refusals), tuple(skipped))


def _after(known: Start, step: Callable[..., Any]) -> Start:
    name = step.__name__
    return replace(known, **{name: step(**{need: getattr(known, need) for need in NEEDS[name]})})
