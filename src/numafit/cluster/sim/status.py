"""The status of a pod as a kubelet of its release writes it, as a patch for the API server.

A rejected pod has a short status of its own: phase, reason and message, and nothing of its containers. The patch is a
strategic merge, so that conditions of others stay; what the kubelet takes back is removed by name.
"""

from collections.abc import Iterator, Mapping

import msgspec

from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.sim.bound import FAILED, SUCCEEDED, ContainerState, PlayedContainer
from numafit.cluster.sim.played import PlayedPod
from numafit.ledger.ledger import DeviceLedger
from numafit.managers.ask import qos_of
from numafit.settings.settings import Settings
from numafit.show.records.time import time_text
from numafit.workload.pod import Container, Pod, Resources, container_limits, is_pod_level, pod_requests

READY_TO_START, INITIALIZED, READY, CONTAINERS_READY, SCHEDULED = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)
RESIZE_PENDING, RESIZE_IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
DISRUPTION = "DisruptionTarget"
OWN = (
    RESIZE_PENDING,
    RESIZE_IN_PROGRESS,
    DISRUPTION,
    READY_TO_START,
    INITIALIZED,
    READY,
    CONTAINERS_READY,
    SCHEDULED,
)
"""The conditions that are written here, in the kubelet's order."""


class StatusStyle(msgspec.Struct, frozen=True):
    """What a kubelet of one release, with its gates, tells in the status of a pod."""

    settings: Settings
    observed: bool
    """Which generation of the pod it tells of (1.34)."""
    ready_to_start: bool
    """1.29."""
    host_ips: bool
    """1.29."""
    resources: bool
    """What containers were allocated, and have (1.33)."""
    pod_resources: bool
    """The same of the pod as a whole (1.36)."""
    device_health: bool
    """1.36."""
    disruption: bool
    """That a pod went for another (1.26)."""
    resize_field: bool
    """A resize that waits stands in a field (up to 1.32), and not in a condition."""


def style_of(settings: Settings) -> StatusStyle:
    minor, gate = settings.version.minor, settings.gate
    return StatusStyle(
        settings,
        observed=gate("PodObservedGenerationTracking"),
        ready_to_start=gate("PodReadyToStartContainersCondition"),
        host_ips=gate("PodHostIPs") or minor > 31,
        resources=gate("InPlacePodVerticalScaling"),
        pod_resources=gate("InPlacePodLevelResourcesVerticalScaling"),
        device_health=gate("ResourceHealthStatus"),
        disruption=gate("PodDisruptionConditions") or minor > 33,
        resize_field=minor < 33,
    )


def status_patch(pod: PlayedPod, style: StatusStyle, devices: DeviceLedger, host_ip: str, now: float) -> ObjectJson:
    """For `pods/status`, as a strategic merge. The UID keeps it from another pod of the same name."""
    return {"metadata": {"uid": pod.uid}, "status": pod_status(pod, style, devices, host_ip, now)}


def pod_status(pod: PlayedPod, style: StatusStyle, devices: DeviceLedger, host_ip: str, now: float) -> ObjectJson:
    """Remembers in the pod since when its conditions are as they are."""
    status: ObjectJson = {
        "phase": pod.phase,
        "qosClass": qos_of(pod.pod, style.settings),
        "startTime": time_text(pod.started),
    }
    if pod.reason:
        status |= {"reason": pod.reason, "message": pod.message}
    if style.observed and pod.generation:
        status["observedGeneration"] = pod.generation
    if pod.rejected:
        # The kubelet takes back even that it was scheduled.
        status["conditions"] = [{"$patch": "delete", "type": SCHEDULED}]
        return status
    if pod.pod.init_containers:
        init = [_container(pod, own, style, devices, init=True) for own in pod.pod.init_containers]
        status["initContainerStatuses"] = init
    apps = sorted(pod.pod.containers, key=lambda own: own.name)
    status["containerStatuses"] = [_container(pod, own, style, devices) for own in apps]
    status["hostIP"] = host_ip
    if style.host_ips:
        status["hostIPs"] = [{"ip": host_ip}]
    address = host_ip if pod.manner.host_network else pod.address
    if address:
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    if style.pod_resources:
        status |= _pod_resources(pod.pod, style.settings)
    if style.resize_field and style.resources:
        # What is allocated is done: only what waits is told.
        status["resize"] = pod.resize.reason if pod.resize is not None and pod.resize.pending else None
    conditions = list(_conditions(pod, style))
    for condition in conditions:
        kind, own = condition["type"], pod.transitions.get(condition["type"])
        since = own[1] if own is not None and own[0] == condition["status"] else now
        if kind in (RESIZE_PENDING, RESIZE_IN_PROGRESS) and pod.resize is not None:
            since = pod.resize.since
        pod.transitions[kind] = (condition["status"], since)
        condition["lastTransitionTime"] = time_text(since)
        if style.observed and pod.generation and "observedGeneration" not in condition:
            condition["observedGeneration"] = pod.generation
    there = [condition["type"] for condition in conditions]
    gone = [kind for kind in (RESIZE_PENDING, RESIZE_IN_PROGRESS) if kind in pod.transitions and kind not in there]
    for kind in gone:
        del pod.transitions[kind]
    status["$setElementOrder/conditions"] = [{"type": kind} for kind in there]
    status["conditions"] = [*conditions, *({"$patch": "delete", "type": kind} for kind in gone)]
    return status


# --- containers -------------------------------------------------------------------------------------------------------


def _container(
    pod: PlayedPod, own: Container, style: StatusStyle, devices: DeviceLedger, *, init: bool = False
) -> ObjectJson:
    life = pod.containers[own.name]
    began = bool(life.state.id)
    image = pod.manner.images.get(own.name, "")
    found: ObjectJson = {
        "name": own.name,
        "state": _state(life.state),
        "lastState": {} if life.last is None else _state(life.last),
        "ready": is_ready(life, ends=init and not own.restartable),
        "restartCount": life.restarts,
        "image": image,
        "imageID": image if began else "",
        "started": life.state.kind == "running",
    }
    if began:
        found["containerID"] = life.state.id
        if style.resources:
            found["resources"] = _requirements(own.requests, own.limits)
            if own.requests:
                found["allocatedResources"] = _amounts(own.requests)
    if style.device_health and not init:
        # Of init containers, and of sidecars among them, a kubelet does not tell it (1.31 to 1.37).
        held = _devices(pod, own.name, devices)
        if held:
            found["allocatedResourcesStatus"] = held
    return found


def is_ready(life: PlayedContainer, *, ends: bool) -> bool:
    """`ends`: an init container, which is ready when it has ended well."""
    if ends:
        return life.state.kind == "terminated" and life.state.code == 0
    return life.state.kind == "running"


def _state(state: ContainerState) -> ObjectJson:
    told = {name: text for name, text in (("reason", state.reason), ("message", state.message)) if text}
    if state.kind == "waiting":
        return {"waiting": told}
    began = time_text(state.started) if state.started else None
    if state.kind == "running":
        return {"running": {"startedAt": began}}
    found: ObjectJson = {"exitCode": state.code, **told, "startedAt": began}
    found["finishedAt"] = time_text(state.finished) if state.finished else None
    if state.id:
        found["containerID"] = state.id
    return {"terminated": found}


def _devices(pod: PlayedPod, container: str, devices: DeviceLedger) -> list[ObjectJson]:
    """What it holds, or held when it ended."""
    held = devices.held.get(pod.uid, {}).get(container)
    if held:
        told = [
            {
                "name": resource,
                "resources": [
                    {"resourceID": own, "health": _health(devices, resource, own)} for own in sorted(held[resource].ids)
                ],
            }
            for resource in sorted(held)
        ]
        pod.devices = {**pod.devices, container: told}
    return pod.devices.get(container, [])


def _health(devices: DeviceLedger, resource: str, device: str) -> str:
    """What its plugin said last, which the end of the plugin does not change; of one that is not listed nothing bad is
    known."""
    listed = devices.devices.get(resource, {}).get(device)
    return "Healthy" if listed is None or listed.healthy else "Unhealthy"


# --- resources --------------------------------------------------------------------------------------------------------


def _amounts(resources: Resources) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items()}


def _requirements(requests: Resources, limits: Resources) -> ObjectJson:
    found = {"limits": _amounts(limits), "requests": _amounts(requests)}
    return {name: amounts for name, amounts in found.items() if amounts}


def _pod_resources(pod: Pod, settings: Settings) -> ObjectJson:
    """What it was allocated as a whole. Of a pod that runs a kubelet tells what its cgroup says, which may be rounded;
    here it has what it was allocated."""
    pod_level = settings.gate("PodLevelResources")
    requests = pod_requests(pod, sidecars=True, pod_level=pod_level)
    limits = dict(container_limits(pod, sidecars=True))
    if pod_level and pod.resources is not None:
        limits |= {name: amount for name, amount in pod.resources.limits.items() if is_pod_level(name)}
    found: ObjectJson = {"resources": _requirements(requests, limits)}
    if requests:
        found["allocatedResources"] = _amounts(requests)
    return found


# --- conditions -------------------------------------------------------------------------------------------------------


def _conditions(pod: PlayedPod, style: StatusStyle) -> Iterator[ObjectJson]:
    if pod.resize is not None and style.resources and not style.resize_field:
        told = pod.resize
        condition: ObjectJson = {"type": RESIZE_PENDING if told.pending else RESIZE_IN_PROGRESS, "status": "True"}
        condition["lastProbeTime"] = time_text(told.looked)
        if style.observed and told.generation:
            condition["observedGeneration"] = told.generation
        condition |= {"reason": told.reason or None, "message": told.message or None}
        yield condition
    if pod.preempted and style.disruption:
        text = "Pod was preempted by Kubelet to accommodate a critical pod."
        yield _condition(DISRUPTION, True, "TerminationByKubelet", text)
    if style.ready_to_start:
        began = any(life.state.id for life in pod.containers.values())
        yield _condition(READY_TO_START, began and not pod.over)
    yield _initialized(pod)
    unready = _unready(pod)
    yield _ready(pod, unready)
    yield _condition(CONTAINERS_READY, not unready, *unready)
    yield _condition(SCHEDULED, True)


def _condition(kind: str, holds: bool, reason: str = "", message: str = "") -> ObjectJson:
    # What stood there before goes only where null is written in its place.
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "lastProbeTime": None,
        "reason": reason or None,
        "message": message or None,
    }


def _initialized(pod: PlayedPod) -> ObjectJson:
    if pod.phase == SUCCEEDED:
        return _condition(INITIALIZED, True, "PodCompleted")
    if any(pod.containers[own.name].state.id for own in pod.pod.containers):
        return _condition(INITIALIZED, True)
    incomplete = [
        own.name for own in pod.pod.init_containers if not is_ready(pod.containers[own.name], ends=not own.restartable)
    ]
    if incomplete:
        text = f"containers with incomplete status: [{' '.join(incomplete)}]"
        return _condition(INITIALIZED, False, "ContainersNotInitialized", text)
    return _condition(INITIALIZED, True)


def _unready(pod: PlayedPod) -> tuple[str, ...]:
    """Reason and message; empty where all of its containers are ready."""
    if pod.phase == SUCCEEDED:
        return ("PodCompleted",)
    if pod.phase == FAILED:
        return ("PodFailed",)
    lasting = [*(own for own in pod.pod.init_containers if own.restartable), *pod.pod.containers]
    unready = [own.name for own in lasting if not is_ready(pod.containers[own.name], ends=False)]
    if not unready:
        return ()
    return ("ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")


def _ready(pod: PlayedPod, unready: tuple[str, ...]) -> ObjectJson:
    if unready:
        return _condition(READY, False, *unready)
    missing = list(_closed_gates(pod.manner.readiness_gates, pod.gates))
    if missing:
        return _condition(READY, False, "ReadinessGatesNotReady", ", ".join(missing))
    return _condition(READY, True)


def _closed_gates(gates: tuple[str, ...], told: Mapping[str, str]) -> Iterator[str]:
    for gate in gates:
        if gate not in told:
            yield f'corresponding condition of pod readiness gate "{gate}" does not exist.'
        elif told[gate] != "True":
            yield f'the status of pod readiness gate "{gate}" is not "True", but {told[gate]}'
