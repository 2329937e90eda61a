"""Where a kubelet would put a job: the engine decides about a request on top of the leases that are held.

A host is a node whose kubelet has all managers on. Two things are apart from the kubelet: nothing need be reserved,
and, unless it shall be exactly like a kubelet, the set of free GPUs that the links favour is tried first.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.bits import cpuset_text, mask_of, members
from numafit.decision.admit import admit
from numafit.decision.decision import Decision
from numafit.decision.node import LAST_NUMA_NODE, Node, register
from numafit.errors import InputError, KubeletError, StartError
from numafit.host.bind.target import BIND, INTERLEAVE, PREFER
from numafit.host.host import Host
from numafit.host.lease import Lease, LeasePart
from numafit.host.request import CONTAINER, PREFERENCES, JobRequest
from numafit.ledger.ledger import Block, CpuLedger, DeviceLedger, Held, Ledger, MemoryLedger, MemoryNode
from numafit.machine.gpu_sets import best_set, pairs_of, reason_text
from numafit.machine.topology import TopologyError, cpu_topology
from numafit.managers.ask import MEMORY
from numafit.managers.cpu.start import static_manager
from numafit.managers.device.manager import DeviceManager, allocated_devices, free_devices
from numafit.managers.device.plugin import plugins_of
from numafit.managers.memory.manager import MemoryManager
from numafit.managers.memory.nodes import fill
from numafit.managers.memory.start import idle_nodes
from numafit.managers.topology.policy import topology_policy
from numafit.quantity import Quantity
from numafit.settings.options import CpuOptions, cpu_options
from numafit.settings.settings import Settings
from numafit.settings.versions import DEFAULT_VERSION, behaviour_of
from numafit.workload.pod import Container, Pod

OUTSIDE = "(outside)"
"""Stands for the holder of what the caller may not use."""
NEW = "(new)"
GPU = "gpu"

_GATES = {
    f"{manager}Policy{stage}Options": True
    for manager in ("CPUManager", "TopologyManager")
    for stage in ("Alpha", "Beta")
}


class Placed(msgspec.Struct, frozen=True):
    """What a request was given, or why not."""

    request: JobRequest
    decision: Decision
    node: Node
    exclusive: int = 0
    nodes: int = 0
    mems: int = 0
    memory: tuple[Block, ...] = ()
    devices: Mapping[str, tuple[str, ...]] = {}
    gpu_reason: str = ""
    """Why these GPUs, where their links chose and not the order of the devices."""
    bind: str = BIND
    """How its memory comes from `mems`."""
    remarks: tuple[str, ...] = ()
    """What is really free and what is not claimed, where that differs."""
    near: bool | None = None
    """Of a job in parts: whether each part has its CPUs and memory on its own NUMA node. None: it has no parts."""
    shares: tuple[LeasePart, ...] = ()
    """Per process, where their number was given."""
    asked: str = ""
    """How the CPUs were asked for, such as ` in whole cores`; empty: one by one."""
    split: int = 0
    """CPUs that are free, but whose core another lease has a part of: they are not given out in whole cores."""

    @property
    def admitted(self) -> bool:
        return self.decision.admitted

    @property
    def aligned(self) -> bool:
        return self.decision.containers[CONTAINER].affinity[1] if self.near is None else self.near


def place(host: Host, leases: Sequence[Lease], request: JobRequest) -> Placed:
    """Raises `InputError` for what this machine can never give, whoever holds what."""
    host = host.within(request.on_nodes, holding=bool(request.memory))
    _check(host, request)
    node = node_of(host, request)
    ledger = ledger_of(host, node, leases)
    pod = pod_of(request, NEW)
    decision = admit(node, ledger, pod)
    linked, reason = _by_links(node, ledger, pod, request)
    # Why not is told of all devices, not of the best linked ones.
    if linked is not None and linked.admitted and _quality(linked) >= _quality(decision):
        return _placed(host, node, request, linked, reason)
    return _placed(host, node, request, decision)


def _quality(decision: Decision) -> tuple[bool, bool, int]:
    """Admitted first, then aligned, then on few NUMA nodes."""
    mask, preferred = decision.containers[CONTAINER].affinity
    return decision.admitted, preferred, -(mask.bit_count() if mask is not None else 64)


def _check(host: Host, request: JobRequest) -> None:
    for resource, count in request.devices.items():
        there = sum(1 for device in host.machine.devices if device.resource == resource)
        if count > there:
            if there:
                raise InputError(f"{count} {resource} are asked for, this machine has {there}")
            known = sorted({device.resource for device in host.machine.devices if device.resource})
            cure = f"there are {', '.join(known)}" if known else "`numafit machine show --table devices` lists them"
            raise InputError(f"this machine has no {resource}", cure=cure)
    where = f"NUMA node {cpuset_text(request.on_nodes)}" if request.on_nodes else "this machine"
    nodes = request.on_nodes or -1
    cpus = mask_of(cpu.id for cpu in host.machine.cpus if cpu.online and nodes >> cpu.numa & 1).bit_count()
    if request.cpus > cpus:
        raise InputError(f"{request.cpus} CPUs are asked for, {where} has {cpus}")
    total = sum(node.memory for node in host.machine.numa_nodes if not node.device and nodes >> node.id & 1)
    if request.memory > total:
        words = f"{Quantity(request.memory, 0, 'BinarySI')} of memory are asked for, {where} has {total >> 20}Mi"
        raise InputError(words)


def pod_of(request: JobRequest, uid: str) -> Pod:
    """Guaranteed if it asks for CPUs or memory: only such pods get exclusive CPUs and memory of their own.

    A job that holds no memory asks for one byte, which makes it Guaranteed and which no manager is told of.
    """
    wanted = {resource: Quantity(count) for resource, count in request.devices.items() if count}
    if request.cpus or request.memory:
        # Less than one CPU is never exclusive: the kubelet's way to a Guaranteed pod in the shared pool.
        wanted["cpu"] = Quantity(request.cpus) if request.cpus else Quantity(1, -3)
        wanted["memory"] = Quantity(request.memory or 1, 0, "BinarySI")
    return Pod(uid, request.name or uid, (Container(CONTAINER, wanted, wanted),), namespace="host")


# The node


def node_of(host: Host, request: JobRequest) -> Node:
    machine = host.machine
    nodes = len(machine.numa_nodes)
    if any(node.id > LAST_NUMA_NODE for node in machine.numa_nodes):
        raise InputError(f"NUMA nodes above {LAST_NUMA_NODE} are beyond the masks of the managers")
    options = {"max-allowable-numa-nodes": str(max(8, nodes))}
    if all(node.distances is not None for node in machine.numa_nodes):
        options["prefer-closest-numa-nodes"] = "true"
    settings = Settings(
        version=DEFAULT_VERSION,
        cpu_policy="static",
        cpu_options={PREFERENCES[word]: "true" for word in request.prefer},
        # A job that holds no memory must not bind groups of NUMA nodes together by it.
        memory_policy="Static" if request.memory else "None",
        topology_policy=request.policy,
        topology_options=options,
        gates=_GATES,
    )
    behaviour = behaviour_of(DEFAULT_VERSION)
    try:
        topology = cpu_topology(machine, behaviour)
        cpu = static_manager(topology, behaviour, _cpu_options(settings, request), host.reserved_cpus)
        policy = topology_policy(settings, machine)
    except (TopologyError, StartError) as error:
        raise InputError(f"this machine cannot be placed on: {error}") from None
    plugins = plugins_of(machine)
    device = DeviceManager(mask_of(node.id for node in machine.numa_nodes), behaviour, plugins)
    memory = MemoryManager(bool(request.memory), behaviour)
    reserved = {node: {MEMORY: size} for node, size in host.reserved_memory.items()}
    return Node(machine, settings, policy, device, cpu, memory, idle_nodes(machine, reserved))


def _cpu_options(settings: Settings, request: JobRequest) -> CpuOptions:
    try:
        return cpu_options(settings)
    except KubeletError as error:
        words = {option: word for word, option in PREFERENCES.items()}
        match error.code:
            case "cpu-options-exclude":
                first, second = (words[error.facts[which]] for which in ("first", "second"))
                text = f"{first} and {second} can not be used at the same time"
            case "socket-single-numa":
                word = words[str(error.field[-1])]
                # the kubelet's words, in its spelling
                text = f"Topolgy manager {request.policy} policy is incompatible with CPUManager {word} policy option"
            case _:
                raise
        raise InputError(text, source="--prefer") from None


# The ledger


def ledger_of(host: Host, node: Node, leases: Iterable[Lease]) -> Ledger:
    """What is held, and what the caller may not use as if somebody held it."""
    topology = node.cpu.topology
    entries = {lease.id: {CONTAINER: lease.exclusive} for lease in leases if lease.exclusive}
    outside = topology.cpus & ~host.usable_cpus
    if outside:
        entries[OUTSIDE] = {CONTAINER: outside}
    taken = 0
    for own in entries.values():
        taken |= own[CONTAINER]
    nodes: Mapping[int, MemoryNode] = node.idle_memory
    blocks: dict[str, dict[str, tuple[Block, ...]]] = {}
    for lease in leases:
        # A node that is no longer there has nothing that could be given twice.
        own_blocks = tuple(block for block in lease.memory if all(numa in nodes for numa in block.numa))
        for block in own_blocks:
            nodes = fill(nodes, block.numa, block.type, block.size)
        if own_blocks:
            blocks[lease.id] = {CONTAINER: own_blocks}
    for numa in members(mask_of(nodes) & ~host.memory_nodes):
        nodes = fill(nodes, (numa,), MEMORY, nodes[numa].tables[MEMORY].free)
    ledger = Ledger(
        cpu=CpuLedger(topology.cpus & ~taken, entries),
        memory=MemoryLedger(nodes, blocks),
        device=_devices(node, leases),
        active={uid: _holder(uid) for uid in (*(lease.id for lease in leases), OUTSIDE)},
    )
    return register(node, ledger, node.machine.devices)


def _holder(uid: str) -> Pod:
    return Pod(uid, uid, (Container(CONTAINER),), namespace="host")


def _devices(node: Node, leases: Iterable[Lease]) -> DeviceLedger:
    places = {(device.resource, device.id): device.numa for device in node.machine.devices}
    # Before its driver is awake, a GPU is known by its PCI address, and afterwards by its UUID.
    by_address = {(device.resource, device.bus): device.id for device in node.machine.devices if device.bus}
    held: dict[str, dict[str, dict[str, Held]]] = {}
    for lease in leases:
        for resource, stored in lease.devices.items():
            ids = [by_address.get((resource, device), device) for device in stored]
            by_numa: dict[int, list[str]] = {}
            for device in ids:
                for numa in places.get((resource, device)) or (-1,):
                    by_numa.setdefault(numa, []).append(device)
            own = Held({numa: tuple(listed) for numa, listed in by_numa.items()}, frozenset(ids), b"")
            held.setdefault(lease.id, {}).setdefault(CONTAINER, {})[resource] = own
    ledger = DeviceLedger(held=held)
    return replace(ledger, allocated=allocated_devices(ledger))


# The GPUs


def _by_links(node: Node, ledger: Ledger, pod: Pod, request: JobRequest) -> tuple[Decision | None, str]:
    """The decision when only the best set of the free GPUs is offered, and why it is; None where links say nothing."""
    if request.like_kubelet or not node.machine.links:
        return None, ""
    # Words about links are needed by few jobs, and a command starts quicker without them.
    hidden: dict[str, frozenset[str]] = {}
    reasons = []
    for resource, count in request.devices.items():
        free = free_devices(ledger.device, resource)
        gpus = tuple(gpu for gpu in node.machine.devices if gpu.kind == GPU and gpu.id in free)
        pairs = pairs_of(replace(node.machine, devices=gpus))
        best = best_set(pairs, count) if count else None
        if best is not None:
            hidden[resource] = free - {gpus[index].id for index in best.gpus}
            reasons.append(reason_text(pairs, best))
    if not hidden:
        return None, ""
    allocated = {resource: ids | hidden.get(resource, frozenset()) for resource, ids in _allocated(ledger).items()}
    return admit(node, replace(ledger, device=replace(ledger.device, allocated=allocated)), pod), "; ".join(reasons)


def _allocated(ledger: Ledger) -> dict[str, frozenset[str]]:
    device = ledger.device
    return {resource: device.allocated.get(resource, frozenset()) for resource in (*device.healthy, *device.allocated)}


# The result


def _placed(host: Host, node: Node, request: JobRequest, decision: Decision, gpu_reason: str = "") -> Placed:
    if not decision.admitted:
        return Placed(request, decision, node)
    got = decision.containers[CONTAINER]
    exclusive = got.cpus or 0
    memory = tuple(got.memory or ()) if request.memory else ()
    held = mask_of(numa for block in memory for numa in block.numa)
    nodes = held | mask_of(numa for numa, cpus in node.cpu.topology.numa_nodes.items() if cpus & exclusive)
    if not exclusive:
        # On the memory of a device nothing runs.
        hinted = (got.affinity[0] or 0) & ~mask_of(numa.id for numa in host.machine.numa_nodes if numa.device)
        nodes |= hinted & request.on_nodes or request.on_nodes or hinted
    devices = {resource: tuple(sorted(ids)) for resource, ids in got.devices.items()}
    mems = held or memory_near(host, request, nodes)
    bind = way_of(request, memory)
    return Placed(request, decision, node, exclusive, nodes, mems, memory, devices, gpu_reason, bind)


def way_of(request: JobRequest, memory: Sequence[Block]) -> str:
    """How its memory comes from its nodes: what is held is there."""
    return request.bind or (BIND if memory else PREFER)


def memory_near(host: Host, request: JobRequest, nodes: int) -> int:
    """Where memory that is not held comes from: the nodes that were asked for; all, to be interleaved; the nodes of the
    CPUs, else the nearest that have memory."""
    known = host.memory_nodes
    if request.on_nodes & known or request.bind == INTERLEAVE:
        return known
    return _near(host, nodes)


def _near(host: Host, nodes: int) -> int:
    known = host.memory_nodes
    if not nodes or nodes & known:
        return nodes & known or known
    ids = [node.id for node in host.machine.numa_nodes]
    nearest = 0
    for node in host.machine.numa_nodes:
        if nodes >> node.id & 1 and node.distances is not None and known:
            distance = dict(zip(ids, node.distances, strict=False))
            nearest |= 1 << min(members(known), key=lambda numa: (distance.get(numa, 255), numa))
    return nearest or known
