"""The machine and the ledger as a merge met them, counted by brute force: which sets of NUMA nodes fit what.

Nothing here asks the managers, their hints or the code that makes the story; only data are read.
"""

from collections.abc import Mapping
from itertools import combinations

from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.managers.ask import Ask

Nodes = frozenset[int]
"""A set of NUMA nodes."""


def bits(mask: int) -> Nodes:
    return frozenset(i for i in range(mask.bit_length()) if mask >> i & 1)


def is_bytes(resource: str) -> bool:
    return resource == "memory" or resource.startswith("hugepages-")


class World:
    """The machine and the ledger as the merge of one container, or of the pod, met them."""

    def __init__(self, node: Node, ask: Ask, container: str, ledger: Ledger) -> None:
        self.node, self.ask, self.container, self.ledger = node, ask, container, ledger
        self.uid = ask.pod.uid
        self.numa = sorted(each.id for each in node.machine.numa_nodes)
        self.cpu_numa = {cpu.id: cpu.numa for cpu in node.machine.cpus if cpu.online}
        self.cores: dict[tuple[int, int, int], set[int]] = {}
        for cpu in node.machine.cpus:
            if cpu.online:
                self.cores.setdefault((cpu.numa, cpu.socket, cpu.core), set()).add(cpu.id)
        self.reserved = bits(node.cpu.reserved)

    # what there is

    def own_cpus(self) -> dict[str, Nodes]:
        return {name: bits(cpus) for name, cpus in self.ledger.cpu.entries.get(self.uid, {}).items()}

    def reused_cpus(self) -> Nodes:
        return bits(self.ledger.cpu.reuse) if self.ledger.cpu.reuse_pod == self.uid else frozenset()

    def cpus(self) -> Nodes:
        own = self.own_cpus()
        free = bits(self.ledger.cpu.default) - self.reserved
        if self.container:
            return own.get(self.container, free | self.reused_cpus())
        held = frozenset().union(*own.values()) if own else frozenset()
        return held if len(held) == self.ask.pod_cpus else free | self.reused_cpus() | held

    def cpus_held(self) -> bool:
        own = self.own_cpus()
        if self.container:
            return self.container in own
        held = frozenset().union(*own.values()) if own else frozenset()
        return bool(held) and len(held) == self.ask.pod_cpus

    def own_devices(self, resource: str) -> frozenset[str]:
        found: set[str] = set()
        for name, resources in self.ledger.device.held.get(self.uid, {}).items():
            if resource in resources and self.container in ("", name):
                found |= resources[resource].ids
        return frozenset(found)

    def reused_devices(self, resource: str) -> frozenset[str]:
        ledger = self.ledger.device
        return (
            ledger.reuse.get(resource, frozenset()) if self.container and ledger.reuse_pod == self.uid else frozenset()
        )

    def free_devices(self, resource: str) -> frozenset[str]:
        ledger = self.ledger.device
        return ledger.healthy.get(resource, frozenset()) - ledger.allocated.get(resource, frozenset())

    def devices(self, resource: str) -> frozenset[str]:
        return self.own_devices(resource) or self.free_devices(resource) | self.reused_devices(resource)

    def numa_of(self, resource: str, device: str) -> Nodes:
        listed = self.ledger.device.devices.get(resource, {})
        return frozenset((listed[device].numa or ()) if device in listed else ())

    def own_blocks(self) -> Mapping[str, object]:
        return self.ledger.memory.entries.get(self.uid, {})

    def memory_held(self) -> bool:
        return self.container in self.own_blocks() if self.container else bool(self.own_blocks())

    def reused_bytes(self, nodes: Nodes, kind: str) -> int:
        memory = self.ledger.memory
        mask = sum(1 << i for i in nodes)
        return memory.reuse.get((mask, kind), 0) if memory.reuse_pod == self.uid else 0

    # what fits

    def masks(self, resource: str) -> list[Nodes]:
        """The sets that the manager of the resource thinks of."""
        ground = self.numa
        if resource == "cpu":
            ground = sorted(set(self.cpu_numa.values()))
        elif not is_bytes(resource) and self.node.settings.behaviour.device_own_nodes:
            own = {n for device in self.ledger.device.devices.get(resource, {}) for n in self.numa_of(resource, device)}
            ground = sorted(own & set(self.numa)) or self.numa
        return [frozenset(each) for size in range(1, len(ground) + 1) for each in combinations(ground, size)]

    def amount(self, resource: str, nodes: Nodes) -> int:
        if resource == "cpu":
            return sum(1 for cpu in self.cpus() if self.cpu_numa.get(cpu) in nodes)
        if is_bytes(resource):
            tables = [self.ledger.memory.nodes[i].tables for i in nodes if i in self.ledger.memory.nodes]
            return sum(table[resource].free for table in tables if resource in table) + self.reused_bytes(
                nodes, resource
            )
        return sum(1 for device in self.devices(resource) if self.numa_of(resource, device) & nodes)

    def everything(self, resource: str) -> int:
        if resource == "cpu":
            return len(self.cpus())
        return len(self.devices(resource))

    def fits(self, needs: Mapping[str, int], nodes: Nodes) -> bool:
        for resource, need in needs.items():
            if is_bytes(resource) and self.memory_held():
                blocks = next(iter([self.own_blocks()[n] for n in self._names() if n in self.own_blocks()]))
                return nodes in {frozenset(block.numa) for block in blocks}  # type: ignore[attr-defined]
            if self.amount(resource, nodes) < need:
                return False
            if resource == "cpu" and not self.cpus_held():
                if not {self.cpu_numa[cpu] for cpu in self._asked_first()} <= nodes:
                    return False
            elif is_bytes(resource):
                if self.barred(nodes):
                    return False
            elif not self.own_devices(resource):
                listed = self.ledger.device.devices.get(resource, {})
                for device in self.reused_devices(resource):
                    # one without any topology binds nobody
                    placed = device in listed and listed[device].numa is not None
                    if placed and not self.numa_of(resource, device) & nodes:
                        return False
        return True

    def _asked_first(self) -> Nodes:
        """CPUs that the container, or the pod, has already and therefore keeps."""
        held = frozenset().union(*self.own_cpus().values()) if self.own_cpus() and not self.container else frozenset()
        return self.reused_cpus() | held

    def _names(self) -> tuple[str, ...]:
        return (self.container,) if self.container else tuple(each.name for each in self.ask.pod.all_containers)

    def barred(self, nodes: Nodes) -> bool:
        """A node of a group may not be used alone, nor a node in use with others than its group."""
        states = self.ledger.memory.nodes
        if len(nodes) == 1:
            return any(len(states[i].cells) > 1 for i in nodes)
        return any(states[i].assignments > 0 and frozenset(states[i].cells) != nodes for i in nodes)

    def width_by_count(self, needs: Mapping[str, int]) -> int | None:
        """As the manager counts for what it prefers: with reserved CPUs, with unhealthy devices."""
        (first,) = list(needs)[:1]
        for nodes in self.masks(first):
            if is_bytes(first) and self.node.settings.behaviour.memory_group_first and self.barred(nodes):
                continue
            if all(self._whole(resource, nodes) >= need for resource, need in needs.items()):
                return len(nodes)
        return None

    def _whole(self, resource: str, nodes: Nodes) -> int:
        if resource == "cpu":
            return sum(1 for numa in self.cpu_numa.values() if numa in nodes)
        if is_bytes(resource):
            tables = [self.ledger.memory.nodes[i].tables for i in nodes]
            return sum(table[resource].allocatable for table in tables if resource in table)
        return sum(1 for d in self.ledger.device.devices.get(resource, {}) if self.numa_of(resource, d) & nodes)

    def prefers(self, needs: Mapping[str, int], nodes: Nodes) -> bool:
        held = all(self.memory_held() if is_bytes(resource) else False for resource in needs)
        if held or len(nodes) == self.width_by_count(needs):
            return True
        if "cpu" in needs and self.node.cpu.options.align_by_socket:
            sockets = {cpu.socket for cpu in self.node.machine.cpus if cpu.online}
            per_socket = len(set(self.cpu_numa.values())) // len(sockets)
            wanted = (
                -(-(self.width_by_count(needs) or len(set(self.cpu_numa.values()))) // per_socket)
                if per_socket
                else None
            )
            touched = {cpu.socket for cpu in self.node.machine.cpus if cpu.online and cpu.numa in nodes}
            return wanted == len(touched)
        return False

    def accepted(self, needs: Mapping[str, int], single: bool) -> set[Nodes]:
        fitting = [nodes for nodes in self.masks(next(iter(needs))) if self.fits(needs, nodes)]
        return {nodes for nodes in fitting if self.prefers(needs, nodes) and (not single or len(nodes) == 1)}

    def all_that_fit(self, needs: Mapping[str, int]) -> set[Nodes]:
        return {nodes for nodes in self.masks(next(iter(needs))) if self.fits(needs, nodes)}

    # with nobody there

    def empty_amount(self, resource: str, nodes: Nodes) -> int:
        if resource == "cpu":
            return sum(1 for cpu, numa in self.cpu_numa.items() if numa in nodes and cpu not in self.reserved)
        if is_bytes(resource):
            tables = [self.node.idle_memory[i].tables for i in nodes if i in self.node.idle_memory]
            return sum(table[resource].allocatable for table in tables if resource in table)
        healthy = self.ledger.device.healthy.get(resource, frozenset())
        return sum(1 for device in healthy if self.numa_of(resource, device) & nodes)

    def fewest_when_empty(self, needs: Mapping[str, int]) -> int | None:
        for size in range(1, len(self.numa) + 1):
            for each in combinations(self.numa, size):
                if all(self.empty_amount(resource, frozenset(each)) >= need for resource, need in needs.items()):
                    return size
        return None


def needs_of(ask: Ask, container: str) -> dict[str, int]:
    if container:
        return {"cpu": ask.cpus[container], **(ask.memory[container] or {}), **ask.devices[container]}
    return {"cpu": ask.pod_cpus, **(ask.pod_memory or {}), **ask.pod_devices}
