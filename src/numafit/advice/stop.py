"""What keeps the next pod out: the rule that stopped it, and the resources without which it would not be stopped.

The rule is read off the cause of the decision; which resources stand in the way is found by asking the managers for the
pod without them.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import msgspec
from msgspec.structs import replace

from numafit.advice.propose.knobs import with_resources
from numafit.decision.admit import admit
from numafit.decision.decision import Crash, Decision, ManagerRefused, NodeShort, NothingToEvict, Unsuited
from numafit.decision.left import left_on_nodes
from numafit.decision.node import Node
from numafit.decision.stage import Stage
from numafit.ledger.ledger import Ledger
from numafit.managers.ask import MEMORY, Ask, ask_of
from numafit.managers.device.manager import free_devices, is_plugin_resource
from numafit.managers.protocol import EMPTY_SHARED_POOL
from numafit.managers.refused import (
    BudgetUsedUp,
    CpusNotPicked,
    CpusShort,
    MemoryRefused,
    NotInt64,
    OddCpus,
    WholeCoresShort,
)
from numafit.quantity import Quantity
from numafit.workload.pod import Pod, PodResources, Resources

CPU = "cpu"
WHOLE_CPU = 1000

StopRule = Literal[
    "max-pods",
    "node",
    "topology-policy",
    "full-pcpus-only",
    "cpu-manager",
    "memory-manager",
    "device-manager",
    "pod-resources",
    "unsuited",
    "crash",
]


class Stop(msgspec.Struct, frozen=True):
    """The rule that stopped a pod, with its numbers: bytes, devices, pods, and CPUs in thousandths."""

    rule: StopRule
    policy: str = ""
    """The topology policy, where that is the rule."""
    container: str = ""
    """Empty where the pod as a whole was refused."""
    resource: str = ""
    needed: int = 0
    free: int = 0
    """With `full-pcpus-only`: on cores without a reserved CPU."""
    capacity: int = 0
    """What the node as a whole has for pods; the CPUs of a core with `full-pcpus-only`. Else 0."""

    @property
    def is_uneven(self) -> bool:
        """The CPUs that were asked for make no whole cores: that more of something is free would not help."""
        return self.rule == "full-pcpus-only" and self.needed % self.capacity != 0


Shortfall = Literal["out", "large", "scattered", "in-the-way"]


class Limit(msgspec.Struct, frozen=True):
    """A resource that stands in the way."""

    resource: str
    needed: int
    """CPUs, bytes or devices, of the container or pod that was refused."""
    short: Mapping[int, int]
    """NUMA node -> what is still free there, where that is too little."""
    kind: Shortfall = "in-the-way"
    """`out`: less is free on all NUMA nodes together than is needed. `large`: no NUMA node could ever hold it.
    `scattered`: there is enough, but on no single NUMA node. `in-the-way`: there is enough on one, and that does not
    help."""
    free: int = 0
    """On all NUMA nodes together, and on none."""


def stop_of(stage: Stage, refusal: Decision) -> Stop:
    cause = refusal.cause
    if isinstance(cause, Crash):
        return Stop("crash")
    if isinstance(cause, NothingToEvict):
        cause = cause.short[0]
    if isinstance(cause, NodeShort):
        free = max(0, cause.capacity - cause.used)
        rule: StopRule = "max-pods" if cause.resource == "pods" else "node"
        return Stop(rule, resource=cause.resource, needed=cause.asked, free=free, capacity=cause.capacity)
    if isinstance(cause, Unsuited):
        return Stop("unsuited")
    if isinstance(cause, ManagerRefused):
        return _manager_stop(stage.node, refusal, cause)
    return Stop("topology-policy", policy=stage.node.topology.policy, container=_container(refusal))


def _container(refusal: Decision) -> str:
    """Whose turn it was; empty where the pod was looked at as a whole."""
    if refusal.merges:
        return refusal.merges[-1].container
    return refusal.cause.container if isinstance(refusal.cause, ManagerRefused) else ""


def _manager_stop(node: Node, refusal: Decision, refused: ManagerRefused) -> Stop:
    container, cause = refused.container, refused.cause
    ledger = refusal.ledger
    if refusal.reason == EMPTY_SHARED_POOL or isinstance(cause, BudgetUsedUp):
        return Stop("pod-resources")
    if isinstance(cause, OddCpus | WholeCoresShort):
        free = (ledger.cpu.default & ~node.cpu.reserved_cores).bit_count() * WHOLE_CPU
        per_core = cause.threads * WHOLE_CPU
        return Stop("full-pcpus-only", "", container, CPU, cause.cpus * WHOLE_CPU, free, per_core)
    if isinstance(cause, CpusShort | CpusNotPicked):
        return Stop("cpu-manager", "", container, CPU, cause.cpus * WHOLE_CPU, cause.free * WHOLE_CPU)
    if isinstance(cause, NotInt64):
        return Stop("memory-manager", "", container, MEMORY)
    if isinstance(cause, MemoryRefused):
        resource, needed, free = _short_memory(node, ledger, cause.needs)
        return Stop("memory-manager", "", container, resource, needed, free)
    ask = ask_of(refusal.pod, node.settings)
    needed = (ask.devices[container] if container else ask.pod_devices).get(cause.resource, 0)
    return Stop(
        "device-manager", "", container, cause.resource, needed, len(free_devices(ledger.device, cause.resource))
    )


def _short_memory(node: Node, ledger: Ledger, needs: Mapping[str, int]) -> tuple[str, int, int]:
    """The type of memory that is short, how much of it is needed, and how much is free in all."""
    left = left_on_nodes(node, ledger)
    free = {name: sum(own.memory.get(name, 0) for own in left) for name in (*needs, MEMORY)}
    short = next((name for name, size in needs.items() if free[name] < size), MEMORY)
    return short, needs.get(short, 0), free[short]


def limits_of(stage: Stage, ledger: Ledger, pod: Pod, refusal: Decision) -> tuple[Limit, ...]:
    """The resource that the kubelet names, or the smallest sets without which the managers would admit the pod."""
    if refusal.shortage:
        return (Limit(refusal.shortage, 0, {}),)
    if isinstance(refusal.cause, Unsuited):
        return ()
    own = pod.resources or PodResources()
    names = {name for each in pod.all_containers for name in (*each.requests, *each.limits)}
    resources = sorted(names | set(own.requests) | set(own.limits))
    for size in range(1, len(resources) + 1):
        found: set[str] = set()
        for dropped in combinations(resources, size):
            if admit(stage.node, ledger, _without(pod, dropped)).admitted:
                found.update(dropped)
        if found:
            return tuple(_limit(stage.node, refusal, name) for name in sorted(found))
    return ()


def _limit(node: Node, refusal: Decision, resource: str) -> Limit:
    ask = ask_of(refusal.pod, node.settings)
    ledger, container = refusal.merges[-1].ledger if refusal.merges else refusal.ledger, _container(refusal)
    needed = _needed(node, ask, container, resource, ledger)
    if not needed:
        return Limit(resource, 0, {})
    free, most, total = _supply(node, ledger, resource)
    short = {numa: amount for numa, amount in free.items() if amount < needed}
    kind: Shortfall = "in-the-way"
    if total < needed:
        kind = "out"
    elif len(short) == len(free) and free:
        kind = "large" if all(amount < needed for amount in most.values()) else "scattered"
    return Limit(resource, needed, short, kind, total)


def _needed(node: Node, ask: Ask, container: str, resource: str, ledger: Ledger) -> int:
    """What a manager that looks after the resource is asked for; 0 where none does."""
    if resource == CPU:
        cpus = ask.cpus[container] if container else ask.pod_cpus
        return cpus if node.cpu.static and ask.pod_level != "skipped" else 0
    devices = ask.devices[container] if container else ask.pod_devices
    if resource in devices:
        return devices[resource] if is_plugin_resource(ledger.device, resource) else 0
    memory = (ask.memory[container] if container else ask.pod_memory) or {}
    static = node.memory is not None and node.memory.static and ask.guaranteed and ask.pod_level != "skipped"
    return memory.get(resource, 0) if static else 0


def _supply(node: Node, ledger: Ledger, resource: str) -> tuple[dict[int, int], dict[int, int], int]:
    """Free on each NUMA node, the most that each could ever give, and free in all."""
    left = left_on_nodes(node, ledger)
    if resource == CPU:
        free = {own.numa: own.cpus.bit_count() for own in left}
        cpus = node.cpu.topology.numa_nodes
        most = {own.numa: (cpus.get(own.numa, 0) & ~node.cpu.reserved).bit_count() for own in left}
        return free, most, sum(free.values())
    if resource in ledger.device.devices:
        free = {own.numa: len(own.devices.get(resource, ())) for own in left}
        places = [device.numa or () for device in ledger.device.devices[resource].values()]
        most = {own.numa: sum(own.numa in numa for numa in places) for own in left}
        return free, most, len(free_devices(ledger.device, resource))
    free = {own.numa: own.memory[resource] for own in left if resource in own.memory}
    tables = {numa: own.tables.get(resource) for numa, own in node.idle_memory.items()}
    most = {numa: table.allocatable for numa, table in tables.items() if table is not None and numa in free}
    return free, most, sum(free.values())


def _without(pod: Pod, dropped: Sequence[str]) -> Pod:
    """Next to nothing of these resources: a pod without any CPU or memory would have another QoS class."""
    changed = pod
    for container in pod.all_containers:
        changed = with_resources(
            changed, container.name, _least(container.requests, dropped), _least(container.limits, dropped)
        )
    own = pod.resources
    if own is None:
        return changed
    return replace(changed, resources=PodResources(_least(own.requests, dropped), _least(own.limits, dropped)))


def _least(resources: Resources, dropped: Sequence[str]) -> dict[str, Quantity]:
    least = {"cpu": Quantity(1, -3), "memory": Quantity(1)}
    kept = {name: quantity for name, quantity in resources.items() if name not in dropped}
    return kept | {name: least[name] for name in least if name in dropped and name in resources}
