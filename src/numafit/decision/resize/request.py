"""What is asked of a pod that runs, and what the API server says to it before any kubelet hears of it.

The API server is taken to be of the kubelet's release, with the same feature gates. It compares the pod with what was
asked last, which need not be what the pod has: a resize may be pending.
"""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from numafit.decision.decision import ResizeRefused
from numafit.decision.node import Node
from numafit.errors import InputError
from numafit.quantity import Quantity
from numafit.settings.settings import Settings
from numafit.workload.pod import Container, Pod, PodResources, Resources, pod_requests, qos_class

GATE = "InPlacePodVerticalScaling"
INIT_GATE = "InPlacePodVerticalScalingInitContainers"
POD_LEVEL_GATE = "InPlacePodLevelResourcesVerticalScaling"
RESIZABLE = ("cpu", "memory")

NO_RESIZE = "no-resize"
STATIC_POD = "static-pod"
QOS = "qos"
ABOVE_LIMIT = "above-limit"
MEMORY_LIMIT = "memory-limit"
OTHER_RESOURCE = "other-resource"
INIT_CONTAINER = "init-container"
POD_LEVEL = "pod-level"
NODE_TOO_SMALL = "node-too-small"
"""Codes of `ResizeRefused`."""


class ApiRefusal(msgspec.Struct, frozen=True):
    """The API server's no. `message` is empty where it holds more than is known here, as a comparison of two pods."""

    cause: ResizeRefused
    reason: str
    message: str


class _Error(msgspec.Struct, frozen=True):
    cause: ResizeRefused
    text: str


def wanted_pod(pod: Pod, container: str, requests: Resources, limits: Resources) -> Pod:
    """The pod with other resources for one container: those named change, the others stay."""
    if all(own.name != container for own in pod.all_containers):
        names = ", ".join(own.name for own in pod.all_containers)
        raise InputError(f"pod {pod.full_name} has no container {container}, only {names}")

    def changed(own: Container) -> Container:
        if own.name != container:
            return own
        new = {**own.limits, **limits}
        # As when a pod is created: a limit without a request is the request, too.
        return replace(own, limits=new, requests={**new, **own.requests, **requests}, allocated=None)

    return replace(
        pod,
        containers=tuple(changed(own) for own in pod.containers),
        init_containers=tuple(changed(own) for own in pod.init_containers),
    )


def same_resources(pod: Pod, other: Pod) -> bool:
    return _resources(pod) == _resources(other)


def _resources(pod: Pod) -> list[tuple[str, dict[str, Quantity], dict[str, Quantity]]]:
    return [(own.name, dict(own.requests), dict(own.limits)) for own in pod.all_containers]


def api_answer(node: Node, pod: Pod, wanted: Pod, allocatable: Mapping[str, Quantity] | None) -> ApiRefusal | None:
    """None: the pod is changed. `pod` is as it was asked for last."""
    settings = node.settings
    behaviour = settings.behaviour
    if behaviour.resize == "none" or not settings.gate(GATE):
        return ApiRefusal(ResizeRefused(NO_RESIZE, {"gate": "" if behaviour.resize == "none" else GATE}), "Invalid", "")
    errors = list(_errors(settings, pod, wanted))
    if errors:
        texts = [error.text for error in errors]
        whole = all(texts)
        text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        message = f'Pod "{pod.name}" is invalid: {text}' if whole else ""
        return ApiRefusal(errors[0].cause, "Invalid", message)
    return _too_small(wanted, allocatable or {}) if behaviour.resize_admission else None


def _errors(settings: Settings, pod: Pod, wanted: Pod) -> Iterator[_Error]:
    """In the API server's order. A text is empty where it goes on with a comparison of the two pods."""
    behaviour = settings.behaviour
    subresource = behaviour.resize == "subresource"
    sums = list(_above_limit(wanted))
    alone = _alone(settings, pod) if subresource else None
    if alone is not None:
        yield alone
        return
    yield from sums
    pod_level = settings.gate("PodLevelResources")
    before = qos_class(pod, pod_level=pod_level, status=behaviour.status_qos)
    after = qos_class(wanted, pod_level=pod_level, status=False)
    if before != after:
        cause = ResizeRefused(QOS, {"was": before, "would": after})
        if subresource:
            text = f'spec: Invalid value: "{before}": Pod QOS Class may not change as a result of resizing'
        else:
            text = f'metadata: Invalid value: "{after}": Pod QoS is immutable'
        yield _Error(cause, text)
    if subresource and _has_own(pod.resources) and not settings.gate(POD_LEVEL_GATE):
        yield _Error(
            ResizeRefused(POD_LEVEL),
            ": Forbidden: resize of pods with pod-level resources is forbidden when "
            "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled",
        )
        return
    if behaviour.resize_memory_limit_stays:
        yield from _memory_limits(pod, wanted)
    yield from _immutable(settings, pod, wanted)


def _alone(settings: Settings, pod: Pod) -> _Error | None:
    """An error that stands for all others."""
    if _has_own(pod.resources) and not settings.behaviour.resize_pod_level:
        return _Error(ResizeRefused(POD_LEVEL), ": Forbidden: pods with pod-level resources cannot be resized")
    if pod.static:
        return _Error(ResizeRefused(STATIC_POD), ": Forbidden: static pods cannot be resized")
    return None


def _has_own(resources: PodResources | None) -> bool:
    return resources is not None and bool(resources.requests or resources.limits)


def _placed(pod: Pod) -> Iterator[tuple[str, Container]]:
    """Each container with its path, in the order of validation."""
    for i, own in enumerate(pod.containers):
        yield f"spec.containers[{i}]", own
    for i, own in enumerate(pod.init_containers):
        yield f"spec.initContainers[{i}]", own


def _above_limit(wanted: Pod) -> Iterator[_Error]:
    for path, own in _placed(wanted):
        for name, request in sorted(own.requests.items()):
            limit = own.limits.get(name)
            if limit is not None and name in RESIZABLE and request > limit:
                yield _Error(
                    ResizeRefused(ABOVE_LIMIT, {"container": own.name, "resource": name}),
                    f'{path}.resources.requests: Invalid value: "{request}": '
                    f"must be less than or equal to {name} limit of {limit}",
                )


def _memory_limits(pod: Pod, wanted: Pod) -> Iterator[_Error]:
    """The container is taken to have no resize policy of its own, which is: it is not restarted."""
    paths = [*((path, own) for path, own in _placed(wanted) if own.restartable)]
    paths += [(path, own) for path, own in _placed(wanted) if own in wanted.containers]
    known = {own.name: own for own in pod.all_containers}
    for path, own in paths:
        new, old = own.limits.get("memory"), known[own.name].limits.get("memory")
        if new is None or (old is not None and new >= old):
            continue
        verb = "added" if old is None else "decreased"
        yield _Error(
            ResizeRefused(MEMORY_LIMIT, {"container": own.name}),
            f"{path}.resources.limits[memory]: Forbidden: "
            f"memory limits cannot be {verb} unless resizePolicy is RestartContainer",
        )


def _immutable(settings: Settings, pod: Pod, wanted: Pod) -> Iterator[_Error]:
    behaviour = settings.behaviour
    told = behaviour.resize_sidecars
    known = {own.name: own for own in pod.all_containers}
    for own in wanted.containers:
        other = _other_resource(known[own.name], own)
        if other:
            cause = ResizeRefused(OTHER_RESOURCE, {"container": own.name, "resource": other})
            yield _Error(cause, "spec: Forbidden: only cpu and memory resources are mutable" if told else "")
    init = settings.gate(INIT_GATE)
    for i, own in enumerate(wanted.init_containers):
        old = known[own.name]
        if (own.requests, own.limits) == (old.requests, old.limits):
            continue
        if (own.restartable and told) or init:
            other = _other_resource(old, own)
            if other:
                cause = ResizeRefused(OTHER_RESOURCE, {"container": own.name, "resource": other})
                yield _Error(cause, _only_cpu_and_memory(settings, i))
        else:
            text = "spec: Forbidden: resources for non-sidecar init containers are immutable" if told else ""
            yield _Error(ResizeRefused(INIT_CONTAINER, {"container": own.name}), text)


def _only_cpu_and_memory(settings: Settings, i: int) -> str:
    if settings.behaviour.resize_admission:
        kind = f"spec.initContainers[{i}]: Forbidden: only cpu and memory resources for init or sidecar containers"
    else:
        kind = "spec: Forbidden: only cpu and memory resources for sidecar containers"
    return f"{kind} are mutable"


def _other_resource(old: Container, new: Container) -> str:
    for was, would in ((old.requests, new.requests), (old.limits, new.limits)):
        for name in sorted({*was, *would}):
            if name not in RESIZABLE and was.get(name) != would.get(name):
                return name
    return ""


def _too_small(wanted: Pod, allocatable: Mapping[str, Quantity]) -> ApiRefusal | None:
    """More than the node could ever have. What it has is compared only where it is known."""
    asked = pod_requests(wanted, sidecars=True, pod_level=True)
    short: list[tuple[str, int, int]] = []
    if _exceeds(asked, allocatable, "cpu"):
        short.append(("cpu", asked["cpu"].milli(), allocatable["cpu"].milli()))
    if _exceeds(asked, allocatable, "memory"):
        short.append(("memory", asked["memory"].value(), allocatable["memory"].value()))
    if not short:
        return None
    numbers = "; ".join(f"{name}, requested: {wants}, allocatable: {has}" for name, wants, has in short)
    name, wants, has = short[0]
    return ApiRefusal(
        ResizeRefused(NODE_TOO_SMALL, {"resource": name, "asked": wants, "capacity": has}),
        "Forbidden",
        f'pods "{wanted.name}" is forbidden: node didn\'t have enough allocatable resources: {numbers}',
    )


def _exceeds(asked: Mapping[str, Quantity], allocatable: Mapping[str, Quantity], name: str) -> bool:
    return name in asked and name in allocatable and asked[name] > allocatable[name]
