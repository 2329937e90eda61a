"""What a pod says and nobody here looks at, although the kubelet or the scheduler does."""

from collections.abc import Collection, Iterator

from numafit.workload.demands import NODE_PROBLEMS
from numafit.workload.pod import GUARANTEED, STORAGE, Pod, Unread, integral, qos_class
from numafit.workload.served import Life
from numafit.workload.values import ManifestObject, ObjectPart

CLAIMS_NOT_DECIDED = "claim-not-decided"
CLAIMS_NOT_ALIGNED = "claim-not-aligned"
NOBODY_ALIGNS = "nobody aligns these, the Topology Manager does not know claims"
UNCHECKED_SELECTORS = "selectors-not-checked"
UNCHECKED_PORTS = "ports-not-checked"
UNCHECKED_STORAGE = "storage-not-checked"
_SELECTORS = ("nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "schedulingGates")
_POD_AFFINITIES = ("podAffinity", "podAntiAffinity")

_TELLING = frozenset(
    (*_SELECTORS, "resourceClaims", "resources", "initContainers", "runtimeClassName", "priority", "priorityClassName")
)
"""A spec with none of these has something to tell in its containers at most."""


def unread_of(pod: Pod, spec: ObjectPart, life: Life, *, pod_level: bool) -> tuple[Unread, ...]:
    """Of what a kubelet has decided already, and the scheduler of a bound pod, nothing is open any more.

    `pod_level`: the gate PodLevelResources is on.
    """
    value = spec.value
    disk = any(STORAGE in container.requests for container in pod.all_containers)
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
        found.append(Unread(CLAIMS_NOT_DECIDED, "its resource claims (DRA) are not decided"))
        mixed = mixed_containers(pod, [str(each.get("name")) for each in containers if _claims(each)], pod_level)
        if mixed:
            names = _listed([f'"{name}"' for name in mixed])
            noun, verb = ("container", "has") if len(mixed) == 1 else ("containers", "have")
            text = f"{noun} {names} {verb} devices by claims and exclusive CPUs: {NOBODY_ALIGNS}"
            found.append(Unread(CLAIMS_NOT_ALIGNED, text))
    if value.get("resources") and not pod_level:
        found.append(Unread("pod-level-dropped", "spec.resources is dropped, as the gate PodLevelResources is off"))
    if life.running:
        return tuple(found)
    if pod.demands.ports:
        text = "its host ports are not compared with those of pods of which only the state is known"
        found.append(Unread(UNCHECKED_PORTS, text))
    # a Pod that names its node is bound to it; a template can only wish
    if not life.node:
        found += _placed_by_others(pod, value)
    if disk:
        text = (
            "its ephemeral-storage is not compared with the disk of the node (--allocatable or --node-object tell it)"
        )
        found.append(Unread(UNCHECKED_STORAGE, text))
    if value.get("runtimeClassName") and not value.get("overhead") and not life.served:
        text = "its runtimeClassName may bring an overhead, which is not counted; spec.overhead would be"
        found.append(Unread("overhead-unknown", text))
    return tuple(found)


def has_claims(pod: Pod) -> bool:
    return any(each.code == CLAIMS_NOT_DECIDED for each in pod.unread)


def mixed_containers(pod: Pod, claiming: Collection[str], pod_level: bool) -> list[str]:
    """Of the containers with claims those that get exclusive CPUs where the CPU manager is static."""
    if not claiming or qos_class(pod, pod_level=pod_level, status=False) != GUARANTEED:
        return []
    whole = [own.name for own in pod.all_containers if "cpu" in own.requests and integral(own.requests["cpu"])]
    return [name for name in whole if name in claiming]


def _mappings(value: object) -> Iterator[ManifestObject]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _is_telling(container: ManifestObject) -> bool:
    return "ports" in container or _claims(container)


def _claims(container: ManifestObject) -> bool:
    resources = container.get("resources")
    return isinstance(resources, dict) and bool(resources.get("claims"))


def _placed_by_others(pod: Pod, spec: ManifestObject) -> Iterator[Unread]:
    """What the kubelet compares with its Node, if that is known, and what only the scheduler looks at."""
    demands = pod.demands
    tolerated = any(toleration.key not in NODE_PROBLEMS for toleration in demands.tolerations)
    wanted = {"nodeSelector": demands.selector, "affinity": demands.affinity is not None, "tolerations": tolerated}
    selectors = [name for name, there in wanted.items() if there]
    if selectors:
        text = f"its {_listed(selectors)} {_is_are(selectors)} not compared with the node (--node-object tells of it)"
        yield Unread(UNCHECKED_SELECTORS, text)
    affinity = spec.get("affinity")
    between = [name for name in _POD_AFFINITIES if isinstance(affinity, dict) and affinity.get(name)]
    wishes = [name for name in ("nodeName", "topologySpreadConstraints", "schedulingGates") if spec.get(name)]
    if between or wishes:
        names = [*between, *wishes]
        yield Unread(
            "scheduling-not-played", f"its {_listed(names)} {_is_are(names)} for a scheduler, which is not played"
        )


def _is_are(names: list[str]) -> str:
    return "is" if len(names) == 1 and not names[0].endswith("s") else "are"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
