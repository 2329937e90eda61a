"""What the API server fills into a pod before the kubelet sees it."""

import msgspec

from numafit.quantity import Quantity, parse_quantity
from numafit.workload.pod import Container, Pod, PodResources, Resources
from numafit.workload.requests import container_limits, container_requests, is_pod_level


def stored(quantity: Quantity) -> Quantity:
    """As it comes back from the API server: rounded up to thousandths, and through its canonical text."""
    return parse_quantity(str(quantity.rounded_up()))


def defaulted(pod: Pod) -> Pod:
    """Requests out of limits, for containers and then for the pod itself."""
    containers = tuple(_with_requests(container) for container in pod.containers)
    init_containers = tuple(_with_requests(container) for container in pod.init_containers)
    pod = msgspec.structs.replace(pod, containers=containers, init_containers=init_containers)
    if pod.resources is None:
        return pod
    return msgspec.structs.replace(pod, resources=_pod_resources(pod, pod.resources))


def _with_requests(container: Container) -> Container:
    requests = {**container.limits, **container.requests}
    return msgspec.structs.replace(container, requests=requests) if container.limits else container


def _pod_resources(pod: Pod, own: PodResources) -> PodResources:
    if not own.requests and not own.limits:
        return own
    limits: dict[str, Quantity] = dict(own.limits)
    for name, amount in container_limits(pod, sidecars=True).items():
        if name.startswith("hugepages-") and name not in own.requests:
            limits.setdefault(name, amount)
    if not limits:
        return own
    requests: dict[str, Quantity] = dict(own.requests)
    for name, amount in container_requests(pod, sidecars=True).items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, amount)
    return PodResources(requests=_stored(requests), limits=_stored(limits))


def _stored(resources: Resources) -> Resources:
    return {name: stored(amount) for name, amount in resources.items()}
