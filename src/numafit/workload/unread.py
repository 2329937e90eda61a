"""What a pod says and nobody here looks at, although the kubelet or the scheduler does."""

from collections.abc import Iterator

from numafit.workload.pod import Pod, Unread
from numafit.workload.served import Life
from numafit.workload.values import ManifestObject, ObjectPart

DISK = "ephemeral-storage"
_SELECTORS = ("nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "schedulingGates")
_SERVER_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Keys of the tolerations that the API server adds to each pod."""


_TELLING = frozenset(
    (*_SELECTORS, "resourceClaims", "resources", "initContainers", "runtimeClassName", "priority", "priorityClassName")
)
"""A spec with none of these has something to tell in its containers at most."""


def unread_of(pod: Pod, spec: ObjectPart, life: Life, *, pod_level: bool) -> tuple[Unread, ...]:
    """Of what a kubelet has decided already, and the scheduler of a bound pod, nothing is open any more.

    `pod_level`: the gate PodLevelResources is on.
    """
    value = spec.value
    disk = any(DISK in container.requests for container in pod.all_containers)
    if not (
        disk
        or pod.static
        or value.keys() & _TELLING
        or any(_is_telling(one) for one in _mappings(value.get("containers")))
    ):
        return ()
    found: list[Unread] = []
    containers = [*_mappings(value.get("initContainers")), *_mappings(value.get("containers"))]
    if value.get("resourceClaims") or any(_claims(container) for container in containers):
        found.append(Unread("claim-not-decided", "its resource claims (DRA) are not decided"))
    if value.get("resources") and not pod_level:
        found.append(Unread("pod-level-dropped", "spec.resources is dropped, as the gate PodLevelResources is off"))
    if life.running:
        return tuple(found)
    if any(_has_host_port(container, host=value.get("hostNetwork") is True) for container in containers):
        found.append(Unread("ports-not-checked", "its host ports are not compared with those of other pods"))
    # a Pod that names its node is bound to it; a template can only wish
    selectors = [] if life.node else [name for name in _SELECTORS if _selects(name, value.get(name))]
    if selectors:
        is_are = "is" if len(selectors) == 1 and not selectors[0].endswith("s") else "are"
        text = f"its {_listed(selectors)} {is_are} not compared with the node"
        found.append(Unread("selectors-not-checked", text))
    if disk:
        text = "its ephemeral-storage is not compared with the disk of the node"
        found.append(Unread("storage-not-checked", text))
    if value.get("runtimeClassName") and not value.get("overhead") and not life.served:
        text = "its runtimeClassName may bring an overhead, which is not counted; spec.overhead would be"
        found.append(Unread("overhead-unknown", text))
    return tuple(found)


def _mappings(value: object) -> Iterator[ManifestObject]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _is_telling(container: ManifestObject) -> bool:
    return "ports" in container or _claims(container)


def _claims(container: ManifestObject) -> bool:
    resources = container.get("resources")
    return isinstance(resources, dict) and bool(resources.get("claims"))


def _has_host_port(container: ManifestObject, *, host: bool) -> bool:
    """In the network of the host each port of a container is one of the host."""
    ports = list(_mappings(container.get("ports")))
    return any(port.get("hostPort") for port in ports) or (host and bool(ports))


def _selects(name: str, value: object) -> bool:
    if name != "tolerations":
        return bool(value)
    return any(toleration.get("key") not in _SERVER_TOLERATIONS for toleration in _mappings(value))


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
