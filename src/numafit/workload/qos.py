"""The QoS class of a pod, which decides who gets exclusive CPUs and pinned memory."""

from numafit.quantity import Quantity
from numafit.workload.pod import Container, Pod, PodResources

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
