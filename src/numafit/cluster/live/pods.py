"""A pod of the cluster: what the API server sends of it, and what is kept of that."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from numafit.cluster.kube.objects import ObjectMeta, ObjectReference
from numafit.cluster.live.nodes import amounts_of
from numafit.cluster.live.spec import OS_LABEL, PodShapes
from numafit.cluster.live.words import NODES_ANNOTATION, offered_names
from numafit.workload.pod import Container, Pod
from numafit.workload.served import ENDED, REJECTIONS, kubelet_uid

NOTHING = msgspec.Raw(b"{}")
KEPT = (
    "numafit.io/",
    "leaderworkerset.sigs.k8s.io/",
    "alpha.jobset.sigs.k8s.io/",
    "batch.kubernetes.io/",
    "scheduling.x-k8s.io/",
)
"""How annotations begin that somebody looks at."""
APART = b"podAntiAffinity"
MOST_LABELS = 50_000
"""Sets of labels that are shared at once."""
NO_LABELS: Mapping[str, str] = {}


class PodController(msgspec.Struct, frozen=True, gc=False):
    """The controller that makes the next pod where this one has gone."""

    kind: str
    name: str
    uid: str
    apiVersion: str = "v1"


class OwnerEntry(msgspec.Struct, frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    uid: str = ""
    apiVersion: str = "v1"
    controller: bool = False


class SentPodMeta(ObjectMeta, frozen=True, gc=False):
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    ownerReferences: tuple[OwnerEntry, ...] | None = None


class PodCondition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    lastTransitionTime: str | None = None


class SentContainerStatus(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    allocatedResources: dict[str, str | int | float] | None = None


class SentPodStatus(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[PodCondition, ...] | None = None
    containerStatuses: tuple[SentContainerStatus, ...] | None = None
    initContainerStatuses: tuple[SentContainerStatus, ...] | None = None


class SchedulingGate(msgspec.Struct, frozen=True, gc=False):
    name: str


class SchedulingGroup(msgspec.Struct, frozen=True, gc=False):
    podGroupName: str = ""


class _Head(msgspec.Struct, gc=False):
    """What of a spec is looked at beside what decides."""

    nodeName: str = ""
    schedulerName: str = ""
    schedulingGates: tuple[SchedulingGate, ...] | None = None
    schedulingGroup: SchedulingGroup | None = None


class _ApartTerms(
    msgspec.Struct, rename={"requiredDuringScheduling": "requiredDuringSchedulingIgnoredDuringExecution"}
):
    requiredDuringScheduling: tuple[msgspec.Raw, ...] | None = None


class _ApartAffinity(msgspec.Struct, omit_defaults=True):
    podAntiAffinity: _ApartTerms | None = None


class _Apart(msgspec.Struct, omit_defaults=True):
    """What of a bound pod's spec others have to know."""

    affinity: _ApartAffinity | None = None


class SentPod(msgspec.Struct):
    """As the API server sends it; given up when it has been read (`emptied`)."""

    metadata: SentPodMeta
    spec: msgspec.Raw = NOTHING
    status: SentPodStatus = SentPodStatus()

    def emptied(self) -> None:
        meta = self.metadata
        self.spec, self.status = NOTHING, SentPodStatus()
        self.metadata = SentPodMeta(meta.name, meta.namespace, meta.uid, meta.resourceVersion)


COMING_BACK = ("DaemonSet", "Node")
"""Controllers whose pods are made anew on the same node, and the node itself."""


class PodMetadata(msgspec.Struct, frozen=True, gc=False):
    name: str
    namespace: str
    uid: str
    resourceVersion: str = ""
    creationTimestamp: str = ""
    deletionTimestamp: str | None = None
    labels: Mapping[str, str] = NO_LABELS
    annotations: Mapping[str, str] = NO_LABELS
    """Those that somebody looks at."""
    annotated: bool = False
    """It has some, whether or not somebody looks at them: a patch has to know."""


class ClusterPod(msgspec.Struct, frozen=True):
    metadata: PodMetadata
    pod: Pod
    """The engine's; its UID is the one by which the kubelet knows it."""
    node: str = ""
    """Empty: it is not bound."""
    gates: tuple[str, ...] = ()
    scheduler: str = ""
    phase: str = ""
    reason: str = ""
    message: str = ""
    owner: PodController | None = None
    conditions: tuple[PodCondition, ...] = ()
    """Of one that is not bound."""
    spec: msgspec.Raw = NOTHING
    """As the API server has it, of one that is not bound; of a bound one that must be apart from others only that."""
    scheduling_group: str = ""
    """Name of the PodGroup whose pods the scheduler starts together."""

    @property
    def uid(self) -> str:
        return self.pod.uid

    @property
    def full_name(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return f"/api/v1/namespaces/{self.metadata.namespace}/pods/{self.metadata.name}"

    @property
    def reference(self) -> ObjectReference:
        return ObjectReference("Pod", self.metadata.name, self.metadata.uid, self.metadata.namespace)

    @property
    def comes_back(self) -> bool:
        """Its controller makes it anew on the same node: it is of no use to wait for its end."""
        return self.pod.static or (self.owner is not None and self.owner.kind in COMING_BACK)

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    @property
    def rejected(self) -> bool:
        """The kubelet did not take it in, and no container of it ever ran."""
        return self.phase == "Failed" and (self.reason in REJECTIONS or self.reason.startswith("OutOf"))

    @property
    def offered(self) -> tuple[str, ...]:
        """The nodes that its annotation tells."""
        return offered_names(self.metadata.annotations.get(NODES_ANNOTATION, ""))

    def condition(self, kind: str) -> PodCondition | None:
        return next((own for own in self.conditions if own.type == kind), None)


class PodKeeper:
    """From what is sent to what is kept; equal parts of many pods are kept once."""

    def __init__(self) -> None:
        self._shapes = PodShapes()
        self._labels: dict[frozenset[tuple[str, str]], Mapping[str, str]] = {}
        self._texts: dict[str, str] = {}
        self._specs: dict[bytes, msgspec.Raw] = {}

    def kept(self, sent: SentPod) -> ClusterPod:
        """Raises InputError for a pod that no API server would have let in."""
        meta, status = sent.metadata, sent.status
        annotations, labels = meta.annotations or {}, meta.labels or {}
        head = msgspec.json.decode(sent.spec, type=_Head)
        # Whoever makes a pod writes its annotations: who counts twice by that is found out by the book.
        uid = kubelet_uid(annotations, meta.uid)
        pod = self._shapes.pod(sent.spec, meta.name, meta.namespace, uid, labels.get(OS_LABEL))
        bound = bool(head.nodeName)
        if bound:
            pod = _with_allocated(pod, status)
        return ClusterPod(
            PodMetadata(
                meta.name,
                meta.namespace,
                meta.uid,
                meta.resourceVersion,
                meta.creationTimestamp or "",
                meta.deletionTimestamp,
                self._shared(labels),
                self._shared({name: text for name, text in annotations.items() if name.startswith(KEPT)}),
                bool(annotations),
            ),
            pod,
            self._text(head.nodeName),
            tuple(gate.name for gate in head.schedulingGates or ()),
            self._text(head.schedulerName),
            self._text(status.phase),
            self._text(status.reason),
            status.message,
            _owner(meta),
            () if bound else status.conditions or (),
            # A copy: the part of an answer would keep the whole of it.
            self._apart(sent.spec) if bound else msgspec.Raw(bytes(sent.spec)),
            self._text(head.schedulingGroup.podGroupName) if head.schedulingGroup is not None else "",
        )

    def _apart(self, spec: msgspec.Raw) -> msgspec.Raw:
        """From whom it has to be apart: that keeps others from its node for as long as it runs."""
        if APART not in bytes(spec):
            return NOTHING
        found = msgspec.json.decode(spec, type=_Apart).affinity
        if found is None or found.podAntiAffinity is None or not found.podAntiAffinity.requiredDuringScheduling:
            return NOTHING
        text = msgspec.json.encode(_Apart(found))
        if len(self._specs) >= MOST_LABELS:
            self._specs.clear()
        return self._specs.setdefault(text, msgspec.Raw(text))

    def _shared(self, labels: dict[str, str]) -> Mapping[str, str]:
        if not labels:
            return NO_LABELS
        key = frozenset(labels.items())
        if len(self._labels) >= MOST_LABELS:
            self._labels.clear()
        return self._labels.setdefault(key, labels)

    def _text(self, text: str) -> str:
        if len(self._texts) >= MOST_LABELS:
            self._texts.clear()
        return self._texts.setdefault(text, text)


def _with_allocated(pod: Pod, status: SentPodStatus) -> Pod:
    """A pod that is resized counts by what it asks for or by what its kubelet has allocated, whichever is more: what it
    gives back is free when the kubelet says so, which may be never."""
    told = {
        own.name: own.allocatedResources
        for own in (*(status.containerStatuses or ()), *(status.initContainerStatuses or ()))
        if own.allocatedResources
    }
    if not told:
        return pod
    containers = _larger(pod.containers, told)
    init = _larger(pod.init_containers, told)
    if containers == pod.containers and init == pod.init_containers:
        return pod
    return replace(pod, containers=containers, init_containers=init)


def _larger(
    containers: tuple[Container, ...], told: Mapping[str, Mapping[str, str | int | float]]
) -> tuple[Container, ...]:
    found = []
    for own in containers:
        more = {
            name: amount
            for name, amount in amounts_of(told.get(own.name, {})).items()
            if name in own.requests and amount > own.requests[name]
        }
        found.append(replace(own, requests={**own.requests, **more}) if more else own)
    return tuple(found)


def _owner(meta: SentPodMeta) -> PodController | None:
    for own in meta.ownerReferences or ():
        if own.controller:
            return PodController(own.kind, own.name, own.uid, own.apiVersion)
    return None
