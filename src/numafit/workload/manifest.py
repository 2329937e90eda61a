"""A pod out of a manifest: the template of any object, defaulted and checked as the API server does it."""

from collections.abc import Iterator
from hashlib import sha1
from math import prod

import msgspec

from numafit.document import Document, Path
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
from numafit.workload.demands import read_demands
from numafit.workload.fields import CONTAINER, POD_SPEC, RESOURCES
from numafit.workload.kinds import Numbers, Template
from numafit.workload.pod import Container, Pod, PodResources, Resources, Unread
from numafit.workload.served import Life, is_served, life_of, uid_of
from numafit.workload.standing import NO_CLASSES, PriorityClasses, is_static, priority_of, unknown_class
from numafit.workload.unread import unread_of
from numafit.workload.values import ManifestObject, ObjectPart, list_at, mapping_at, text_at


class Workload(msgspec.Struct, frozen=True):
    """Something that makes `count` equal pods; for a DaemonSet that is one per node."""

    kind: str
    name: str
    namespace: str
    pod: Pod
    """The template; its name and uid are those of the first pod."""
    source: str = ""
    role: str = ""
    """What stands between the object's name and the numbers in a pod's name."""
    numbers: Numbers = ()
    life: Life = Life()

    @property
    def count(self) -> int:
        return prod(many for _, many in self.numbers)

    def pods(self) -> Iterator[Pod]:
        """Numbered `name-0`, `name-1` … where the kind makes several."""
        if not self.numbers:
            yield self.pod
            return
        for name in _numbered(_prefix(self.name, self.role), self.numbers):
            yield msgspec.structs.replace(self.pod, name=name, uid=made_up_uid(self.namespace, name))


def _prefix(name: str, role: str) -> str:
    return f"{name}-{role}" if role else name


def _numbered(prefix: str, numbers: Numbers) -> Iterator[str]:
    if not numbers:
        yield prefix
        return
    first, many = numbers[0]
    for number in range(first, first + many):
        yield from _numbered(f"{prefix}-{number}", numbers[1:])


def made_up_uid(namespace: str, name: str) -> str:
    """The same uid for the same pod each time, in the form of a version 5 UUID."""
    digits = sha1(f"numafit/{namespace}/{name}".encode(), usedforsecurity=False).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def read_workload(
    part: ObjectPart,
    kind: str,
    template: Template,
    *,
    life: Life | None = None,
    pod_level: bool = True,
    static: bool = False,
    node: str = "",
    classes: PriorityClasses = NO_CLASSES,
) -> Workload:
    """What this template of the object makes.

    `life` is that of a Pod, for who knows it already. `pod_level`: the gate PodLevelResources is on; where it is off
    the API server drops `spec.resources`. `static`: the file is one of those in which the kubelet looks for pods. It
    calls them after the `node`, if that is known; those that it wrote itself, or their mirrors, are called so already.
    """
    metadata = part.part("metadata")
    name = _object_name(part.document, metadata.value, metadata.path)
    namespace = metadata.text("namespace") or "default"
    if kind == "Pod":
        life, uid = life or life_of(part, metadata), uid_of(metadata)
        written = is_static(metadata)
        if static and node and not written:
            name = f"{name}-{node.lower()}"
        static = static or written
    else:
        life, uid = Life(served=is_served(metadata.value)), ""
    first = name
    if template.role or template.numbers:
        first = "-".join([_prefix(name, template.role), *(str(number) for number, _ in template.numbers)])
    pod = _pod(template, life, classes, pod_level=pod_level, static=static)
    pod = msgspec.structs.replace(pod, name=first, namespace=namespace, uid=uid or made_up_uid(namespace, first))
    return Workload(kind, name, namespace, pod, part.document.source, template.role, template.numbers, life)


def _pod(template: Template, life: Life, classes: PriorityClasses, *, pod_level: bool, static: bool) -> Pod:
    document, value, path = template.part
    spec = template.part.part("spec")
    spec_path = spec.path
    check = _FieldCheck(document, strict=not life.served)
    check.names(spec.value, POD_SPEC | template.more_fields if template.more_fields else POD_SPEC, spec_path)
    status = mapping_at(document, value.get("status"), (*path, "status"))
    allocated = _allocated(document, status, (*path, "status"))
    nameless = template.container_name
    containers = _containers(check, spec.value, "containers", spec_path, allocated, nameless)
    init_containers = _containers(check, spec.value, "initContainers", spec_path, allocated)
    if not containers:
        raise document.error("Required value: a pod needs at least one container", (*spec_path, "containers"))
    resources = None
    if pod_level and spec.value.get("resources") is not None:
        requests, limits = _resources(check, spec.value["resources"], (*spec_path, "resources"))
        resources = PodResources(requests, limits)
    pod = defaulted(
        Pod(
            uid="",
            name="",
            containers=containers,
            init_containers=init_containers,
            resources=resources,
            overhead=_amounts(document, spec.value.get("overhead"), (*spec_path, "overhead")),
            status_qos=text_at(document, status, "qosClass", (*path, "status")),
            priority=priority_of(spec, classes, static=static),
            static=static,
            demands=read_demands(template.part, spec),
        )
    )
    _check_pod(document, pod, spec_path)
    unread = unread_of(pod, spec, life, pod_level=pod_level)
    unclassed = unknown_class(spec, pod.priority, static=static)
    if unclassed is not None:
        unread = (*unread, unclassed)
    if unread or check.unknown or template.doubts:
        return msgspec.structs.replace(pod, unread=(*template.doubts, *check.unknown, *unread))
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
    check: "_FieldCheck",
    spec: ManifestObject,
    part: str,
    path: Path,
    allocated: dict[str, Resources],
    nameless: str = "",
) -> tuple[Container, ...]:
    document = check.document
    containers = []
    for index, value in enumerate(list_at(document, spec.get(part), (*path, part))):
        here: Path = (*path, part, index)
        container = mapping_at(document, value, here)
        check.names(container, CONTAINER, here)
        name = text_at(document, container, "name", here) or nameless
        problem = label_problem(name) if name else "Required value: a container needs a name"
        if problem:
            raise document.error(problem, (*here, "name"))
        requests, limits = _resources(check, container.get("resources"), (*here, "resources"))
        policy = text_at(document, container, "restartPolicy", here)
        if policy not in ("", "Always", "OnFailure", "Never"):
            message = f'Unsupported value: "{policy}": supported values: "Always", "Never", "OnFailure"'
            raise document.error(message, (*here, "restartPolicy"))
        restartable = part == "initContainers" and policy == "Always"
        containers.append(Container(name, requests, limits, restartable, allocated.get(name)))
    return tuple(containers)


def _resources(check: "_FieldCheck", value: object, path: Path) -> tuple[Resources, Resources]:
    document = check.document
    resources = mapping_at(document, value, path)
    check.names(resources, RESOURCES, path)
    requests = _amounts(document, resources.get("requests"), (*path, "requests"))
    return requests, _amounts(document, resources.get("limits"), (*path, "limits"))


def _amounts(document: Document, value: object, path: Path) -> Resources:
    amounts: dict[str, Quantity] = {}
    for name, amount in mapping_at(document, value, path).items():
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
        for index, value in enumerate(list_at(document, status.get(part), (*path, part))):
            here: Path = (*path, part, index)
            entry = mapping_at(document, value, here)
            if entry.get("allocatedResources") is not None:
                name = text_at(document, entry, "name", here)
                allocated[name] = _amounts(document, entry["allocatedResources"], (*here, "allocatedResources"))
    return allocated


def _object_name(document: Document, metadata: ManifestObject, path: Path) -> str:
    name = text_at(document, metadata, "name", path)
    if not name:
        prefix = text_at(document, metadata, "generateName", path)
        name = f"{prefix}0" if prefix else ""
    problem = subdomain_problem(name) if name else "Required value: name or generateName is required"
    if problem:
        raise document.error(problem, (*path, "name"))
    return name


class _FieldCheck:
    """Names that Kubernetes 1.36 does not know: mistakes of a person, or fields of a server that is younger."""

    def __init__(self, document: Document, *, strict: bool) -> None:
        self.document = document
        self.strict = strict
        self.unknown: tuple[Unread, ...] = ()

    def names(self, mapping: ManifestObject, known: frozenset[str], path: Path) -> None:
        if mapping.keys() <= known:
            return
        for name in mapping:
            if name in known:
                continue
            if not self.strict:
                text = f'the field "{name}" is left out: no release up to 1.36 knows it'
                self.unknown += (Unread("field-ignored", text),)
                continue
            from difflib import get_close_matches

            close = get_close_matches(name, sorted(known), 1)
            cure = f"did you mean {close[0]}?" if close else f"known here: {', '.join(sorted(known))}"
            raise self.document.error(f'unknown field "{name}"', (*path, name), cure=cure, key=True)
