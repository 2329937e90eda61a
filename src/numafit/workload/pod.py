"""What is wanted: a pod as the kubelet sees it, its QoS class, and what it asks for as a whole.

The API server's defaulting is done. The QoS class decides who gets exclusive CPUs and pinned memory. As a whole a pod
asks for the sum of its containers or the peak of its init containers, whichever is more.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from numafit.quantity import Quantity
from numafit.workload.demands import NO_DEMANDS, Demands

Resources = Mapping[str, Quantity]

_AGAIN = "#"
"""Before the number of a coming in a UID that is made up; in no real one."""
STORAGE = "ephemeral-storage"
CRITICAL = 2_000_000_000
"""A pod of this priority or more is critical (kubelet 1.20 to 1.37)."""


class Container(msgspec.Struct, frozen=True):
    name: str
    requests: Resources = {}
    limits: Resources = {}
    restartable: bool = False
    """An init container with restartPolicy Always: a sidecar."""
    allocated: Resources | None = None
    """`allocatedResources` of the container's status, when there is a status."""


class PodResources(msgspec.Struct, frozen=True):
    """Pod-level resources (`spec.resources`)."""

    requests: Resources = {}
    limits: Resources = {}


class Unread(NamedTuple):
    """Something that a pod says and that is not looked at here: the code of a note, and its text."""

    code: str
    text: str


class Pod(msgspec.Struct, frozen=True):
    uid: str
    name: str
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    namespace: str = "default"
    resources: PodResources | None = None
    overhead: Resources = {}
    status_qos: str = ""
    unread: tuple[Unread, ...] = ()
    priority: int | None = None
    """None where nobody gave it one, which counts as 0, and where it is not known."""
    static: bool = False
    """The kubelet has it from a file or an address of its own, or it is the mirror of such a pod."""
    demands: Demands = NO_DEMANDS
    """What it wants of its node beside amounts."""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def known_name(self) -> str:
        """The UID where no more is known, as of a pod that stands in a state file only."""
        return self.uid if self.name == self.uid else self.full_name

    @property
    def critical(self) -> bool:
        """It may evict others where the node as a whole is full."""
        return self.static or (self.priority is not None and self.priority >= CRITICAL)

    @property
    def all_containers(self) -> tuple[Container, ...]:
        """Init containers in order, then app containers: the order of admission."""
        return self.init_containers + self.containers

    @property
    def comes_again(self) -> bool:
        """It has the name of one that came before, and a UID made up for it."""
        return _AGAIN in self.uid

    def coming_again(self, times: int) -> "Pod":
        """The pod that comes by this name for the second time, or later: the API server gives it another UID."""
        return replace(self, uid=f"{self.uid.partition(_AGAIN)[0]}{_AGAIN}{times}")


GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"


def qos_class(pod: Pod, *, pod_level: bool, status: bool) -> str:
    """`pod_level`: the gate PodLevelResources is on. `status`: a class in the pod's status is taken as it is (1.29)."""
    if status and pod.status_qos:
        return pod.status_qos
    # pod-level resources, even empty ones, stand in for all containers
    by_pod = pod_level and pod.resources is not None
    parts: tuple[Container | PodResources | None, ...] = (pod.resources,) if by_pod else pod.all_containers

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    for part in parts:
        if part is None:
            continue
        for name in ("cpu", "memory"):
            request = part.requests.get(name)
            if request is not None and request.unscaled > 0:
                requests[name] = requests[name] + request if name in requests else request
            limit = part.limits.get(name)
            if limit is not None and limit.unscaled > 0:
                limits[name] = limits[name] + limit if name in limits else limit
            else:
                guaranteed = False
    if not requests and not limits:
        return BEST_EFFORT
    # the sums are compared, not the containers one by one
    return GUARANTEED if guaranteed and requests == limits else BURSTABLE


def integral(quantity: Quantity) -> int:
    """The amount if it is a whole number, else 0: the kubelet's test for exclusive CPUs."""
    value = quantity.value()
    if quantity.exponent == 0 and not quantity.big:
        return value
    # compared as int64, as the kubelet does
    return 0 if (value * 1000 - quantity.milli()) % (1 << 64) else value


def is_pod_level(name: str) -> bool:
    """Pod-level resources exist for cpu, memory and huge pages only."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def pod_requests(pod: Pod, *, sidecars: bool, pod_level: bool = False, overhead: bool = True) -> dict[str, Quantity]:
    """`sidecars`: restartable init containers are known to this release; if not, they count as ordinary ones.
    `pod_level`: the gate PodLevelResources is on."""
    totals = container_requests(pod, sidecars=sidecars)
    if pod_level and pod.resources is not None:
        totals.update((name, amount) for name, amount in pod.resources.requests.items() if is_pod_level(name))
    if overhead:
        _add(totals, pod.overhead)
    return totals


def container_requests(pod: Pod, *, sidecars: bool) -> dict[str, Quantity]:
    return _aggregate(pod, _requests, sidecars=sidecars)


def container_limits(pod: Pod, *, sidecars: bool) -> dict[str, Quantity]:
    return _aggregate(pod, _limits, sidecars=sidecars)


def _requests(container: Container) -> Resources:
    return container.requests


def _limits(container: Container) -> Resources:
    return container.limits


def _aggregate(pod: Pod, resources: Callable[[Container], Resources], *, sidecars: bool) -> dict[str, Quantity]:
    totals: dict[str, Quantity] = {}
    for container in pod.containers:
        _add(totals, resources(container))
    started: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in pod.init_containers:
        if sidecars and container.restartable:
            _add(totals, resources(container))
            _add(started, resources(container))
            _raise_to(peak, started)
        else:
            running = dict(resources(container))
            _add(running, started)
            _raise_to(peak, running)
    _raise_to(totals, peak)
    return totals


def _add(totals: dict[str, Quantity], more: Resources) -> None:
    for name, amount in more.items():
        totals[name] = totals[name] + amount if name in totals else amount


def _raise_to(totals: dict[str, Quantity], least: Resources) -> None:
    for name, amount in least.items():
        if name not in totals or amount > totals[name]:
            totals[name] = amount
