"""The pods of a node as the API server tells of them: what each asks for, and what its kubelet has said of it."""

from collections.abc import Iterable, Mapping

import msgspec

from numafit.cluster.kube.objects import ObjectMeta
from numafit.errors import InputError
from numafit.workload.objects import ManifestFile
from numafit.workload.pod import Pod
from numafit.workload.reading import read_past
from numafit.workload.served import ENDED, REJECTIONS, STATIC_POD_UID, kubelet_uid

RESIZE = "PodResize"
"""How the conditions of a pod begin that is to have other resources."""


class NodePodMeta(ObjectMeta, frozen=True, gc=False):
    creationTimestamp: str = ""
    deletionTimestamp: str | None = None
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class NodePodCondition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""


class NodePodContainer(msgspec.Struct, frozen=True, gc=False):
    name: str = ""


class PodClaimName(msgspec.Struct, frozen=True, gc=False):
    """A claim of a pod: in the spec by its own name, where it has one, and in the status where one was made for it."""

    resourceClaimName: str | None = None


class _ClaimingSpec(msgspec.Struct, frozen=True, gc=False):
    resourceClaims: tuple[PodClaimName, ...] | None = None


class NodePodStatus(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""
    reason: str = ""
    message: str = ""
    startTime: str | None = None
    containerStatuses: tuple[NodePodContainer, ...] = ()
    initContainerStatuses: tuple[NodePodContainer, ...] = ()
    conditions: tuple[NodePodCondition, ...] = ()
    resourceClaimStatuses: tuple[PodClaimName, ...] | None = None


class NodePod(msgspec.Struct, frozen=True, gc=False):
    """As the API server sends it; its spec is read when somebody asks for the pod."""

    metadata: NodePodMeta
    spec: msgspec.Raw
    status: NodePodStatus = NodePodStatus()

    @property
    def uid(self) -> str:
        """As the kubelet's state files have it: the mirror of a static pod has another one of its own."""
        return kubelet_uid(self.metadata.annotations, self.metadata.uid)

    @property
    def name(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def ended(self) -> bool:
        return self.status.phase in ENDED

    @property
    def rejected(self) -> bool:
        """The kubelet did not take it in."""
        reason = self.status.reason
        return self.status.phase == "Failed" and (reason in REJECTIONS or reason.startswith("OutOf"))

    @property
    def admitted(self) -> bool:
        """The kubelet says so: it has begun with it. That it has a time of start says nothing: a kubelet that has just
        started tells one also of a pod that it rejects, and tells the rejection up to ten seconds later (v1.36.4)."""
        seen = self.status.containerStatuses or self.status.initContainerStatuses
        return bool(seen) and not self.rejected

    @property
    def claims(self) -> frozenset[str]:
        """Names of the ResourceClaims that it has, in its namespace."""
        made = self.status.resourceClaimStatuses or ()
        own = msgspec.json.decode(self.spec, type=_ClaimingSpec).resourceClaims or ()
        return frozenset(each.resourceClaimName for each in (*own, *made) if each.resourceClaimName)

    @property
    def resizing(self) -> bool:
        return any(condition.type.startswith(RESIZE) for condition in self.status.conditions)

    @property
    def order(self) -> tuple[str, str]:
        """When its kubelet began with it, and when it was made; what is not begun comes last."""
        return self.status.startTime or "~", self.metadata.creationTimestamp


def by_uid(pods: Iterable[NodePod]) -> dict[str, NodePod]:
    """As state files name them, in the order given. Whoever makes a pod writes its annotations: one that claims to be
    the mirror of somebody else's pod, or of a static one that is known already, is itself only."""
    pods = tuple(pods)
    taken = {own.metadata.uid for own in pods}
    first: dict[str, NodePod] = {}
    for own in sorted(pods, key=lambda own: own.metadata.creationTimestamp):
        if own.uid != own.metadata.uid and own.uid not in taken:
            first.setdefault(own.uid, own)
    mirrors = {own.metadata.uid: uid for uid, own in first.items()}
    return {mirrors.get(own.metadata.uid, own.metadata.uid): own for own in pods}


class NodePodReader:
    """From what the API server sends to pods as the engine knows them; each is read once."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str, bool], Pod | None] = {}
        self.unreadable: dict[str, str] = {}
        """namespace/name -> why it cannot be read."""

    def pods(self, served: Mapping[str, NodePod], *, pod_level: bool) -> dict[str, Pod]:
        """By UID, in the order of `served`. One that cannot be read is left out."""
        found: dict[tuple[str, str, bool], Pod | None] = {}
        there = {own.name for own in served.values()}
        self.unreadable = {name: why for name, why in self.unreadable.items() if name in there}
        for uid, own in served.items():
            # The text of its spec: it changes with a resize, and the status changes often.
            key = uid, str(hash(bytes(own.spec))), pod_level
            found[key] = self._read[key] if key in self._read else self._one(own, uid, pod_level=pod_level)
        self._read = found
        return {uid: pod for (uid, _, _), pod in found.items() if pod is not None}

    def _one(self, own: NodePod, uid: str, *, pod_level: bool) -> Pod | None:
        meta = own.metadata
        static = {STATIC_POD_UID: uid} if uid != meta.uid else {}
        told = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid, "annotations": static}
        content = {"apiVersion": "v1", "kind": "Pod", "metadata": told, "spec": own.spec}
        try:
            reading = read_past([ManifestFile(own.name, msgspec.json.encode(content))], pod_level=pod_level)
        except InputError as error:
            self.unreadable[own.name] = str(error)
            return None
        self.unreadable.pop(own.name, None)
        return next(iter(reading.coming), None)
