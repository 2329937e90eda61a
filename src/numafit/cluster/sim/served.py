"""Pods as the API server sends them, and what of them a simulated kubelet is told.

Most pods of a cluster are copies of few templates, so what is made from a spec is made once and shared.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.live.spec import OS_LABEL, engine_pod
from numafit.cluster.sim.bound import (
    EXIT_CODE,
    RUN_SECONDS,
    BoundPod,
    ContainerState,
    KnownStatus,
    PlayedContainer,
    PodManner,
)
from numafit.cluster.sim.status import OWN
from numafit.errors import InputError
from numafit.quantity import QuantityError, quantity_of
from numafit.show.records.time import seconds_of
from numafit.workload.api_server import stored
from numafit.workload.pod import Container, Pod, Resources

NOTHING = msgspec.Raw(b"{}")
MOST_TEMPLATES = 2000
"""Remembered at once."""


class PodMeta(ObjectMeta, frozen=True, gc=False):
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    generation: int = 0
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class ServedPod(msgspec.Struct):
    """Spec and status are decoded only where somebody looks, and given up when he has looked (`emptied`)."""

    metadata: PodMeta
    spec: msgspec.Raw = NOTHING
    status: msgspec.Raw = NOTHING
    node: str = ""

    def __post_init__(self) -> None:
        if not self.node:
            self.node = msgspec.json.decode(self.spec, type=_Bound).nodeName

    def emptied(self) -> None:
        """The rest of what came with it need not be kept."""
        meta = self.metadata
        self.spec, self.status = NOTHING, NOTHING
        self.metadata = PodMeta(meta.name, meta.namespace, meta.uid, meta.resourceVersion)


class _Bound(msgspec.Struct):
    nodeName: str = ""


class _Container(msgspec.Struct, omit_defaults=True):
    name: str
    image: str = ""
    resources: Any = None
    restartPolicy: str | None = None
    ports: Any = None


class _Gate(msgspec.Struct):
    conditionType: str


class _Spec(msgspec.Struct, omit_defaults=True):
    """Just what decides. `Any`: handed on to the readers of manifests, which look at it."""

    containers: list[_Container]
    initContainers: list[_Container] | None = None
    restartPolicy: str = "Always"
    hostNetwork: bool = False
    resources: Any = None
    overhead: Any = None
    priority: int | None = None
    tolerations: Any = None
    nodeSelector: Any = None
    affinity: Any = None
    os: Any = None
    securityContext: Any = None
    readinessGates: list[_Gate] | None = None


class _Running(msgspec.Struct):
    startedAt: str | None = None


class _Waiting(msgspec.Struct):
    reason: str = ""
    message: str = ""


class _Terminated(msgspec.Struct):
    exitCode: int = 0
    reason: str = ""
    message: str = ""
    startedAt: str | None = None
    finishedAt: str | None = None
    containerID: str = ""


class _State(msgspec.Struct):
    waiting: _Waiting | None = None
    running: _Running | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(msgspec.Struct):
    name: str
    state: _State = msgspec.field(default_factory=_State)
    lastState: _State = msgspec.field(default_factory=_State)
    restartCount: int = 0
    containerID: str = ""
    allocatedResources: dict[str, Any] | None = None
    resources: Any = None


class _Condition(msgspec.Struct):
    type: str
    status: str
    lastTransitionTime: str | None = None


class _Status(msgspec.Struct):
    phase: str = ""
    reason: str = ""
    message: str = ""
    startTime: str | None = None
    podIP: str = ""
    conditions: list[_Condition] | None = None
    containerStatuses: list[_ContainerStatus] | None = None
    initContainerStatuses: list[_ContainerStatus] | None = None


class _Shape(msgspec.Struct, frozen=True):
    pod: Pod
    manner: PodManner


class PodReader:
    """For many pods one after the other."""

    def __init__(self) -> None:
        self._shapes: dict[bytes, _Shape] = {}

    def bound(self, pod: ServedPod, *, begins: bool = False) -> BoundPod:
        """`begins`: its status counts, too, since nobody here knows it yet. Raises InputError for a pod that no API
        server would have let in."""
        meta = pod.metadata
        try:
            spec = msgspec.json.decode(pod.spec, type=_Spec)
            looks = begins or bool(spec.readinessGates)
            status = msgspec.json.decode(pod.status, type=_Status) if looks else _Status()
        except msgspec.MsgspecError as error:
            raise InputError(f"cannot be read: {error}", source=f"pod {meta.namespace}/{meta.name}") from None
        shape = self._shape(spec, meta)
        own = replace(shape.pod, uid=meta.uid, name=meta.name, namespace=meta.namespace)
        gates = set(shape.manner.readiness_gates)
        return BoundPod(
            own,
            shape.manner,
            meta.creationTimestamp or "",
            meta.generation,
            meta.deletionTimestamp is not None,
            _known(status) if begins else None,
            _allocated(own, status) if begins else None,
            {told.type: told.status for told in status.conditions or () if told.type in gates},
        )

    def _shape(self, spec: _Spec, meta: PodMeta) -> _Shape:
        annotations = meta.annotations or {}
        told = {name: annotations[name] for name in (RUN_SECONDS, EXIT_CODE) if name in annotations}
        system = (meta.labels or {}).get(OS_LABEL)
        key = msgspec.json.encode((spec, told, system))
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= MOST_TEMPLATES:
                self._shapes.clear()
            shape = self._shapes[key] = _made(spec, told, system, f"pod {meta.namespace}/{meta.name}")
        return shape


def _made(spec: _Spec, told: dict[str, str], system: str | None, source: str) -> _Shape:
    pod = engine_pod(spec, system, source)
    containers = [*(spec.initContainers or ()), *spec.containers]
    manner = PodManner(
        spec.restartPolicy,
        spec.hostNetwork,
        {own.name: own.image for own in containers},
        tuple(gate.conditionType for gate in spec.readinessGates or ()),
        _run_seconds(told.get(RUN_SECONDS)),
        _exit_code(told.get(EXIT_CODE)),
    )
    return _Shape(pod, manner)


def _run_seconds(text: str | None) -> float | None:
    """What is no number counts as not said: nobody would see an error."""
    try:
        seconds = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None


def _exit_code(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 4 else 0


# --- the status that it had -------------------------------------------------------------------------------------------


def _known(status: _Status) -> KnownStatus | None:
    if not status.startTime:
        return None
    told = [*(status.initContainerStatuses or ()), *(status.containerStatuses or ())]
    return KnownStatus(
        status.phase,
        status.reason,
        status.message,
        _seconds(status.startTime),
        {own.name: _container(own) for own in told},
        {
            own.type: (own.status, _seconds(own.lastTransitionTime))
            for own in status.conditions or ()
            if own.type in OWN
        },
        status.podIP,
    )


def _container(told: _ContainerStatus) -> PlayedContainer:
    last = _state(told.lastState, "") if told.lastState.terminated is not None else None
    return PlayedContainer(_state(told.state, told.containerID), last, told.restartCount)


def _state(told: _State, container: str) -> ContainerState:
    if told.running is not None:
        return ContainerState("running", started=_seconds(told.running.startedAt), id=container)
    if told.terminated is not None:
        own = told.terminated
        began, ended = _seconds(own.startedAt), _seconds(own.finishedAt)
        return ContainerState("terminated", own.reason, own.message, began, ended, own.exitCode, own.containerID)
    own_reason = told.waiting or _Waiting()
    return ContainerState("waiting", own_reason.reason, own_reason.message, id=container)


def _seconds(text: str | None) -> float:
    try:
        return seconds_of(text) if text else 0.0
    except ValueError:
        return 0.0


def _allocated(pod: Pod, status: _Status) -> Pod | None:
    """The pod with what its containers had been allocated; None where that is what its spec asks."""
    told = {own.name: own for own in (*(status.containerStatuses or ()), *(status.initContainerStatuses or ()))}

    def had(own: Container) -> Container:
        status = told.get(own.name)
        if status is None or status.allocatedResources is None:
            return own
        requests = _amounts(status.allocatedResources)
        limits = status.resources.get("limits") if isinstance(status.resources, dict) else None
        return replace(own, requests=requests, limits=_amounts(limits) if isinstance(limits, dict) else own.limits)

    found = replace(
        pod,
        containers=tuple(had(own) for own in pod.containers),
        init_containers=tuple(had(own) for own in pod.init_containers),
    )
    return None if found == pod else found


def _amounts(told: dict[str, Any]) -> Resources:
    try:
        return {name: stored(quantity_of(amount)) for name, amount in told.items()}
    except QuantityError:
        return {}
