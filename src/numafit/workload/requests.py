"""What a pod asks for as a whole: the sum of its containers or the peak of its init containers, whichever is more."""

from collections.abc import Callable

from numafit.quantity import Quantity
from numafit.workload.pod import Container, Pod, Resources


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


def pod_limits(pod: Pod, *, sidecars: bool, pod_level: bool = False, overhead: bool = True) -> dict[str, Quantity]:
    """As `pod_requests`, but overhead is added only to limits that are not zero. The device manager takes none."""
    totals = container_limits(pod, sidecars=sidecars)
    if pod_level and pod.resources is not None:
        totals.update((name, amount) for name, amount in pod.resources.limits.items() if is_pod_level(name))
    if overhead:
        _add(totals, {name: extra for name, extra in pod.overhead.items() if name in totals and totals[name].unscaled})
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
