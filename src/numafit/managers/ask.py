"""What a pod asks of the managers, worked out once per admission."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.settings.settings import Settings
from numafit.workload.pod import Container, Pod, Resources, container_limits, integral, qos_class

MEMORY = "memory"
HUGEPAGES = "hugepages-"

PodLevel = Literal["none", "skipped", "managed"]

MemoryAsk = Mapping[str, int] | None
"""Type -> bytes; None when a quantity does not fit an int64."""


class Ask(msgspec.Struct, frozen=True):
    pod: Pod
    qos: str
    pod_level: PodLevel
    """Pod-level resources: absent or not looked at, a reason to skip the pod, or managed as a whole."""
    cpus: Mapping[str, int]
    """Container -> exclusive CPUs; 0 means the shared pool."""
    pod_cpus: int
    memory: Mapping[str, MemoryAsk]
    """Container -> what it asks of the memory manager; empty when it does not qualify."""
    pod_memory: MemoryAsk
    devices: Mapping[str, Mapping[str, int]]
    """Container -> resource -> count, over all limits."""
    pod_devices: Mapping[str, int]
    ordinary_init: frozenset[str]
    """Init containers that end before the next container starts, and so leave what they hold to the rest of the pod."""

    @property
    def guaranteed(self) -> bool:
        return self.qos == "Guaranteed"


def is_memory(resource: str) -> bool:
    return resource == MEMORY or resource.startswith(HUGEPAGES)


def has_pod_level(pod: Pod) -> bool:
    if pod.resources is None:
        return False
    return any(name == "cpu" or is_memory(name) for name in (*pod.resources.requests, *pod.resources.limits))


def _pod_level(pod: Pod, settings: Settings) -> PodLevel:
    rule = settings.behaviour.pod_level
    if rule == "ignored" or not has_pod_level(pod):
        return "none"
    enabled = settings.gate("PodLevelResources")
    if rule == "managed":
        return "managed" if enabled and settings.gate("PodLevelResourceManagers") else "skipped"
    return "skipped" if enabled else "none"


def _equal_and_set(container: Container, resource: str) -> bool:
    request, limit = container.requests.get(resource), container.limits.get(resource)
    return request is not None and not request.is_zero and request == limit


def _qualifies(container: Container) -> bool:
    """Within a pod that is managed as a whole, only such a container gets resources of its own."""
    return _equal_and_set(container, "cpu") and _equal_and_set(container, MEMORY)


def _requests(pod: Pod, container: Container, settings: Settings) -> Resources:
    """The spec's requests, or those of the container's status while a resize is known only there."""
    behaviour = settings.behaviour
    if container.allocated is None or not behaviour.allocated_resources:
        return container.requests
    if not settings.gate("InPlacePodVerticalScaling"):
        return container.requests
    counts = container in pod.containers or (container.restartable and behaviour.allocated_sidecars)
    return container.allocated if counts else container.requests


def _whole_cpus(resources: Resources) -> int:
    quantity = resources.get("cpu")
    return 0 if quantity is None else integral(quantity)


def _memory(resources: Resources, *, positive: bool = False) -> MemoryAsk:
    asked: dict[str, int] = {}
    for name, quantity in resources.items():
        if not is_memory(name):
            continue
        size = quantity.as_int64()
        if size is None:
            return None
        if size > 0 or not positive:
            asked[name] = size
    return asked


def _peak(init: list[tuple[bool, int]], apps: int) -> int:
    """Init containers run one after the other, sidecars (True) stay: the most that is needed at one time."""
    sidecars = peak = 0
    for restartable, amount in init:
        if restartable:
            sidecars += amount
        else:
            peak = max(peak, sidecars + amount)
    return max(peak, apps + sidecars)


def _pod_memory(pod: Pod, memory: Mapping[str, MemoryAsk], ordinary_init: frozenset[str]) -> MemoryAsk:
    apps: dict[str, int] = {}
    for container in pod.containers:
        own = memory[container.name]
        if own is None:
            return None
        for name, size in own.items():
            apps[name] = apps.get(name, 0) + size
    if not pod.init_containers:
        return apps
    init: dict[str, list[tuple[bool, int]]] = {}
    for container in pod.init_containers:
        own = memory[container.name]
        if own is None:
            return None
        for name, size in own.items():
            init.setdefault(name, []).append((container.name not in ordinary_init, size))
    # A type that only init containers ask for is not part of the pod's request (1.21 to 1.36).
    return {name: _peak(init.get(name, []), size) for name, size in apps.items()}


def qos_of(pod: Pod, settings: Settings) -> str:
    return qos_class(pod, pod_level=settings.gate("PodLevelResources"), status=settings.behaviour.status_qos)


def ask_of(pod: Pod, settings: Settings) -> Ask:
    behaviour = settings.behaviour
    pod_level = _pod_level(pod, settings)
    qos = qos_of(pod, settings)
    ordinary_init = frozenset(
        container.name for container in pod.init_containers if not (container.restartable and behaviour.sidecars)
    )
    cpus: dict[str, int] = {}
    memory: dict[str, MemoryAsk] = {}
    devices: dict[str, dict[str, int]] = {}
    for container in pod.all_containers:
        counts = pod_level != "managed" or _qualifies(container)
        requests = _requests(pod, container, settings)
        cpus[container.name] = _whole_cpus(requests) if counts and qos == "Guaranteed" else 0
        memory[container.name] = _memory(requests) if counts else {}
        devices[container.name] = {
            name: limit.value() for name, limit in container.limits.items() if name != "cpu" and not is_memory(name)
        }
    if pod_level == "managed" and pod.resources is not None:
        pod_cpus = _whole_cpus(pod.resources.requests) if qos == "Guaranteed" else 0
        pod_memory = _memory(pod.resources.requests, positive=True)
    else:
        init = [(container.name not in ordinary_init, cpus[container.name]) for container in pod.init_containers]
        pod_cpus = _peak(init, sum(cpus[container.name] for container in pod.containers))
        pod_memory = _pod_memory(pod, memory, ordinary_init)
    limits = container_limits(pod, sidecars=behaviour.device_pod_sidecars)
    pod_devices = {name: limit.value() for name, limit in limits.items() if name != "cpu" and not is_memory(name)}
    return Ask(pod, qos, pod_level, cpus, pod_cpus, memory, pod_memory, devices, pod_devices, ordinary_init)
