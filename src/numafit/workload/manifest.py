"""Pods out of Kubernetes manifests: any kind that makes pods, lists of them, several documents in a file."""

from collections.abc import Iterator
from hashlib import sha1

import msgspec

from numafit.document import Document, Path, read_documents
from numafit.errors import InputError
from numafit.quantity import Quantity, QuantityError, quantity_of
from numafit.workload.api_server import (
    ResourcesProblem,
    defaulted,
    label_problem,
    pod_level_problem,
    resources_problem,
    stored,
    subdomain_problem,
)
from numafit.workload.fields import CONTAINER, POD_SPEC, RESOURCES, TEMPLATES, WITHOUT_PODS
from numafit.workload.pod import Container, Pod, PodResources, Resources

ManifestObject = dict[str, object]

LARGEST_NUMBER = (1 << 31) - 1
"""Of replicas and the like, which have 32 bits."""


class Workload(msgspec.Struct, frozen=True):
    """Something that makes `count` equal pods; for a DaemonSet that is one per node."""

    kind: str
    name: str
    namespace: str
    count: int
    pod: Pod
    """The template; its name and uid are those of the first pod."""
    source: str = ""
    first: int = 0
    """The number of the first pod of a StatefulSet."""

    def pods(self) -> Iterator[Pod]:
        """Numbered `name-0`, `name-1` … where the kind makes several."""
        if self.kind == "Pod":
            yield self.pod
            return
        for index in range(self.first, self.first + self.count):
            name = f"{self.name}-{index}"
            yield msgspec.structs.replace(self.pod, name=name, uid=made_up_uid(self.namespace, name))


def read_pods(data: str | bytes, source: str = "", *, pod_level: bool = True) -> list[Workload]:
    """The workloads of a file, in its order, defaulted and checked as the API server does it.

    `pod_level`: the gate PodLevelResources is on; where it is off the API server drops `spec.resources`.
    """
    workloads = [
        _workload(document, value, path, kind, pod_level=pod_level)
        for document in read_documents(data, source)
        for value, path, kind in _objects(document, document.value, ())
    ]
    if not workloads:
        kinds = ", ".join(TEMPLATES)
        raise InputError("there is no pod in this file", source=source, cure=f"kinds with pods are {kinds}")
    return workloads


def made_up_uid(namespace: str, name: str) -> str:
    """The same uid for the same pod each time, in the form of a version 5 UUID."""
    digits = sha1(f"numafit/{namespace}/{name}".encode(), usedforsecurity=False).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def _objects(
    document: Document, value: object, path: Path, kind: str = ""
) -> Iterator[tuple[ManifestObject, Path, str]]:
    """The objects that make pods. `kind` is for the items of a list, which may leave it out."""
    mapping = _mapping(document, value, path)
    found = mapping.get("kind", kind)
    if not isinstance(found, str) or not found:
        raise document.error("the object has no kind", path, cure="is this a Kubernetes manifest?")
    if found in TEMPLATES:
        yield mapping, path, found
    elif found.endswith("List"):
        for index, item in enumerate(_list(document, mapping.get("items"), (*path, "items"))):
            yield from _objects(document, item, (*path, "items", index), found.removesuffix("List"))
    elif found not in WITHOUT_PODS:
        cure = f"kinds with pods are {', '.join(TEMPLATES)}"
        raise document.error(f'the kind "{found}" is not known', (*path, "kind"), cure=cure)


def _workload(document: Document, value: ManifestObject, path: Path, kind: str, *, pod_level: bool) -> Workload:
    metadata = _mapping(document, value.get("metadata"), (*path, "metadata"))
    name = _object_name(document, metadata, (*path, "metadata"))
    namespace = _text(document, metadata, "namespace", (*path, "metadata")) or "default"
    template, template_path = value, path
    for step in TEMPLATES[kind]:
        template_path = (*template_path, step)
        template = _mapping(document, template.get(step), template_path)
    count, first = _count(document, value, path, kind)
    pod_name = name if kind == "Pod" else f"{name}-{first}"
    uid = _text(document, metadata, "uid", (*path, "metadata")) if kind == "Pod" else ""
    pod = _pod(document, template, template_path, pod_level=pod_level)
    pod = msgspec.structs.replace(pod, name=pod_name, namespace=namespace, uid=uid or made_up_uid(namespace, pod_name))
    return Workload(kind, name, namespace, count, pod, document.source, first)


def _count(document: Document, value: ManifestObject, path: Path, kind: str) -> tuple[int, int]:
    """How many pods, and the number of the first one."""
    spec = _mapping(document, value.get("spec"), (*path, "spec"))
    spec_path: Path = (*path, "spec")
    if kind in ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"):
        ordinals = _mapping(document, spec.get("ordinals"), (*spec_path, "ordinals"))
        first = _number(document, ordinals, "start", (*spec_path, "ordinals"), 0) if kind == "StatefulSet" else 0
        return _number(document, spec, "replicas", spec_path, 1), first
    if kind == "CronJob":
        job = _mapping(document, spec.get("jobTemplate"), (*spec_path, "jobTemplate"))
        spec_path = (*spec_path, "jobTemplate", "spec")
        spec = _mapping(document, job.get("spec"), spec_path)
    if kind in ("Job", "CronJob"):
        parallelism = _number(document, spec, "parallelism", spec_path, 1)
        return min(parallelism, _number(document, spec, "completions", spec_path, parallelism)), 0
    return 1, 0


def _pod(document: Document, template: ManifestObject, path: Path, *, pod_level: bool) -> Pod:
    spec_path: Path = (*path, "spec")
    spec = _mapping(document, template.get("spec"), spec_path)
    _check_fields(document, spec, POD_SPEC, spec_path)
    status = _mapping(document, template.get("status"), (*path, "status"))
    allocated = _allocated(document, status, (*path, "status"))
    containers = _containers(document, spec, "containers", spec_path, allocated)
    init_containers = _containers(document, spec, "initContainers", spec_path, allocated)
    if not containers:
        raise document.error("Required value: a pod needs at least one container", (*spec_path, "containers"))
    resources = None
    if pod_level and spec.get("resources") is not None:
        requests, limits = _resources(document, spec["resources"], (*spec_path, "resources"))
        resources = PodResources(requests, limits)
    pod = defaulted(
        Pod(
            uid="",
            name="",
            containers=containers,
            init_containers=init_containers,
            resources=resources,
            overhead=_amounts(document, spec.get("overhead"), (*spec_path, "overhead")),
            status_qos=_text(document, status, "qosClass", (*path, "status")),
        )
    )
    _check_pod(document, pod, spec_path)
    return pod


def _check_pod(document: Document, pod: Pod, path: Path) -> None:
    """What the API server checks after defaulting."""
    seen: set[str] = set()
    for part, containers in (("initContainers", pod.init_containers), ("containers", pod.containers)):
        for index, container in enumerate(containers):
            here: Path = (*path, part, index)
            if container.name in seen:
                raise document.error(f'Duplicate value: "{container.name}"', (*here, "name"))
            seen.add(container.name)
            _refuse(document, resources_problem(container.requests, container.limits), (*here, "resources"))
    if pod.resources is not None:
        own = resources_problem(pod.resources.requests, pod.resources.limits, of_pod=True)
        _refuse(document, own, (*path, "resources"))
        _refuse(document, pod_level_problem(pod), path)
    overhead = resources_problem({}, pod.overhead)
    if overhead is not None:
        _refuse(document, overhead._replace(path=overhead.path[1:]), (*path, "overhead"))


def _refuse(document: Document, problem: ResourcesProblem | None, path: Path) -> None:
    if problem is not None:
        raise document.error(problem.message, (*path, *problem.path), cure=problem.cure)


def _containers(
    document: Document, spec: ManifestObject, part: str, path: Path, allocated: dict[str, Resources]
) -> tuple[Container, ...]:
    containers = []
    for index, value in enumerate(_list(document, spec.get(part), (*path, part))):
        here: Path = (*path, part, index)
        container = _mapping(document, value, here)
        _check_fields(document, container, CONTAINER, here)
        name = _text(document, container, "name", here)
        problem = label_problem(name) if name else "Required value: a container needs a name"
        if problem:
            raise document.error(problem, (*here, "name"))
        requests, limits = _resources(document, container.get("resources"), (*here, "resources"))
        policy = _text(document, container, "restartPolicy", here)
        if policy not in ("", "Always", "OnFailure", "Never"):
            message = f'Unsupported value: "{policy}": supported values: "Always", "Never", "OnFailure"'
            raise document.error(message, (*here, "restartPolicy"))
        restartable = part == "initContainers" and policy == "Always"
        containers.append(Container(name, requests, limits, restartable, allocated.get(name)))
    return tuple(containers)


def _resources(document: Document, value: object, path: Path) -> tuple[Resources, Resources]:
    resources = _mapping(document, value, path)
    _check_fields(document, resources, RESOURCES, path)
    requests = _amounts(document, resources.get("requests"), (*path, "requests"))
    return requests, _amounts(document, resources.get("limits"), (*path, "limits"))


def _amounts(document: Document, value: object, path: Path) -> Resources:
    amounts: dict[str, Quantity] = {}
    for name, amount in _mapping(document, value, path).items():
        try:
            amounts[name] = stored(quantity_of(amount))
        except QuantityError as error:
            message = f'"{amount}" is not a quantity: {error}'
            raise document.error(message, (*path, name), cure="write it like 2, 500m or 16Gi") from None
    return amounts


def _allocated(document: Document, status: ManifestObject, path: Path) -> dict[str, Resources]:
    """`allocatedResources` per container, as far as the status has any."""
    allocated: dict[str, Resources] = {}
    for part in ("initContainerStatuses", "containerStatuses"):
        for index, value in enumerate(_list(document, status.get(part), (*path, part))):
            here: Path = (*path, part, index)
            entry = _mapping(document, value, here)
            if entry.get("allocatedResources") is not None:
                name = _text(document, entry, "name", here)
                allocated[name] = _amounts(document, entry["allocatedResources"], (*here, "allocatedResources"))
    return allocated


def _object_name(document: Document, metadata: ManifestObject, path: Path) -> str:
    name = _text(document, metadata, "name", path)
    if not name:
        prefix = _text(document, metadata, "generateName", path)
        name = f"{prefix}0" if prefix else ""
    problem = subdomain_problem(name) if name else "Required value: name or generateName is required"
    if problem:
        raise document.error(problem, (*path, "name"))
    return name


def _check_fields(document: Document, mapping: ManifestObject, known: frozenset[str], path: Path) -> None:
    for name in mapping:
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(name, sorted(known), 1)
            cure = f"did you mean {close[0]}?" if close else f"known here: {', '.join(sorted(known))}"
            raise document.error(f'unknown field "{name}"', (*path, name), cure=cure, key=True)


def _mapping(document: Document, value: object, path: Path) -> ManifestObject:
    """A missing mapping is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.error("a mapping is expected here", path)
    return value


def _list(document: Document, value: object, path: Path) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise document.error("a list is expected here", path)
    return value


def _text(document: Document, mapping: ManifestObject, name: str, path: Path) -> str:
    value = mapping.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise document.error("a text is expected here", (*path, name), cure="put it in quotes")
    return value


def _number(document: Document, mapping: ManifestObject, name: str, path: Path, missing: int) -> int:
    value = mapping.get(name)
    if value is None:
        return missing
    if isinstance(value, bool) or not isinstance(value, int):
        raise document.error("a whole number is expected here", (*path, name))
    if value > LARGEST_NUMBER:
        message = f"{value} is more than the API server takes, which is {LARGEST_NUMBER}"
        raise document.error(message, (*path, name), cure="is this the right number?")
    if value < 0:
        raise document.error(f"Invalid value: {value}: must be greater than or equal to 0", (*path, name))
    return value
