"""How a kubelet answers PodResources: which containers hold which CPUs, memory and devices, and what can be given.

A kubelet takes its entries out of maps, in any order. Here pods stand in the order in which they came, devices by
resource, id and NUMA node, CPUs by number.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from numafit.bits import members
from numafit.cluster.sim.sockets.releases import SocketRules, lists_active, socket_rules
from numafit.cluster.wire import pod_resources_pb2 as wire
from numafit.decision.history.situation import Situation
from numafit.ledger.ledger import Block, Held
from numafit.managers.ask import Ask, ask_of
from numafit.managers.device.manager import without_stale
from numafit.workload.pod import Container, Pod


def swept(situation: Situation) -> Situation:
    """The devices of pods that have gone are free: a kubelet looks for them before it answers List."""
    ledger = without_stale(situation.ledger)
    return situation if ledger is situation.ledger else replace(situation, ledger=ledger)


def listed(situation: Situation, known: Iterable[Pod]) -> wire.ListPodResourcesResponse:
    """`known`: all pods that the kubelet has heard of and nobody has deleted, also those that it rejected."""
    pods = situation.ledger.active.values() if lists_active(situation.node.settings) else known
    return wire.ListPodResourcesResponse(pod_resources=[pod_resources(situation, pod) for pod in pods])


def listed_before(situation: Situation, known: Iterable[Pod]) -> wire.ListPodResourcesResponse:
    """As the version v1alpha1 has it (all releases): devices of app containers, without their places."""
    return wire.ListPodResourcesResponse(
        pod_resources=[
            wire.PodResources(
                name=pod.name,
                namespace=pod.namespace,
                containers=[
                    wire.ContainerResources(
                        name=own.name,
                        devices=[
                            wire.ContainerDevices(resource_name=entry.resource_name, device_ids=entry.device_ids)
                            for entry in _devices(situation, pod, own.name)
                        ],
                    )
                    for own in pod.containers
                ],
            )
            for pod in known
        ]
    )


def allocatable(situation: Situation, cpus: int) -> wire.AllocatableResourcesResponse:
    """`cpus`: the CPU manager's, as a mask; in the releases that take them from the shared pool, as it was when the
    kubelet started."""
    rules = socket_rules(situation.node.settings)
    return wire.AllocatableResourcesResponse(
        devices=_allocatable_devices(situation, rules),
        cpu_ids=members(cpus),
        memory=_allocatable_memory(situation) if rules.memory else (),
    )


def pod_resources(situation: Situation, pod: Pod) -> wire.PodResources:
    settings = situation.node.settings
    rules = socket_rules(settings)
    shown = list(pod.containers)
    if rules.sidecars and settings.was_on("SidecarContainers"):
        shown = [own for own in pod.init_containers if own.restartable] + shown
    ask = ask_of(pod, settings)
    containers = [_container(situation, ask, own, rules) for own in shown]
    found = wire.PodResources(name=pod.name, namespace=pod.namespace, containers=containers)
    if rules.pod_level and settings.gate("PodLevelResourceManagers"):
        found.cpu_ids.extend(members(situation.ledger.cpu.pod_entries.get(pod.uid, 0)))
        found.memory.extend(map(_memory, situation.ledger.memory.pod_entries.get(pod.uid, ())))
    return found


def _container(situation: Situation, ask: Ask, own: Container, rules: SocketRules) -> wire.ContainerResources:
    # What a container shares with the others of its pod is told with the pod.
    apart = not rules.pod_level or ask.pod_level != "managed"
    ledger, pod = situation.ledger, ask.pod
    blocks = ledger.memory.entries.get(pod.uid, {}).get(own.name, ()) if rules.memory else ()
    cpus = ledger.cpu.entries.get(pod.uid, {}).get(own.name)
    if cpus is None and not rules.exclusive_cpus:
        cpus = ledger.cpu.default
    return wire.ContainerResources(
        name=own.name,
        devices=_devices(situation, pod, own.name),
        cpu_ids=members(cpus) if cpus and (apart or ask.cpus[own.name]) else (),
        memory=map(_memory, blocks) if apart or ask.memory[own.name] else (),
    )


def _memory(block: Block) -> wire.ContainerMemory:
    return wire.ContainerMemory(memory_type=block.type, size=block.size, topology=_places(block.numa))


def _places(nodes: Iterable[int]) -> wire.TopologyInfo:
    return wire.TopologyInfo(nodes=[wire.NUMANode(ID=node) for node in nodes])


def _devices(situation: Situation, pod: Pod, container: str) -> Iterator[wire.ContainerDevices]:
    settings = situation.node.settings
    for resource, held in sorted(situation.ledger.device.held.get(pod.uid, {}).get(container, {}).items()):
        if not socket_rules(settings).single_devices:
            for node, ids in sorted(held.by_numa.items()):
                yield _entry(resource, ids, (node,))
            continue
        for device, nodes in sorted(_nodes_by_device(held).items()):
            placed = sorted(node for node in nodes if node >= 0)
            yield from _entries(resource, device, placed or None)


def _nodes_by_device(held: Held) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for node, ids in held.by_numa.items():
        for device in ids:
            found.setdefault(device, []).append(node)
    return found


def _allocatable_devices(situation: Situation, rules: SocketRules) -> Iterator[wire.ContainerDevices]:
    ledger = situation.ledger.device
    for resource, devices in sorted(ledger.devices.items()):
        healthy = ledger.healthy.get(resource, frozenset())
        for device in sorted(devices.values(), key=lambda one: one.id):
            if device.id in healthy or not rules.healthy_devices:
                yield from _entries(resource, device.id, device.numa)


def _entries(resource: str, device: str, nodes: Iterable[int] | None) -> Iterator[wire.ContainerDevices]:
    """One for each NUMA node. A device whose plugin names a place without any node is shown by no entry at all."""
    if nodes is None:
        yield wire.ContainerDevices(resource_name=resource, device_ids=[device])
        return
    for node in nodes:
        yield _entry(resource, (device,), (node,))


def _entry(resource: str, ids: Iterable[str], nodes: Iterable[int]) -> wire.ContainerDevices:
    return wire.ContainerDevices(resource_name=resource, device_ids=ids, topology=_places(nodes))


def _allocatable_memory(situation: Situation) -> Iterator[wire.ContainerMemory]:
    manager = situation.node.memory
    if manager is None or not manager.static:
        return
    for node, own in sorted(situation.ledger.memory.nodes.items()):
        for kind, table in sorted(own.tables.items()):
            if table.allocatable:
                yield _memory(Block((node,), kind, table.allocatable))
