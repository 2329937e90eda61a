"""What an API server or a kubelet wrote of an object beside its spec: who it is, where it runs, how far it is."""

from collections.abc import Mapping
from typing import NamedTuple

from numafit.workload.values import ManifestObject, ObjectPart

ENDED = ("Failed", "Succeeded")
"""Phases in which a pod holds nothing."""

OVER = ("Complete", "Completed", "Succeeded", "Failed")
"""Conditions of a job that makes no pods any more: those of Kubernetes, JobSet and Kubeflow."""

REJECTIONS = ("TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError", "EmptyPodSharedPoolError")
"""Reasons of a kubelet that does not take a pod in; beside them there is OutOf and a resource."""

STATIC_POD_UID = "kubernetes.io/config.hash"
"""The annotation with the UID by which the kubelet knows a static pod; its mirror pod has another one of its own."""

MIRROR = "kubernetes.io/config.mirror"
"""The annotation that makes a pod of the API server the mirror of a static one; a kubelet runs no such pod itself."""


class Life(NamedTuple):
    """How far a pod is. What nobody wrote is empty."""

    node: str = ""
    phase: str = ""
    started: str = ""
    """When its kubelet accepted it."""
    created: str = ""
    served: bool = False
    """It comes from a server, which accepted all that stands in it."""
    seen: bool = False
    """Its kubelet tells of it: it was admitted, unless it has ended."""
    reason: str = ""
    """Why it has failed, in one word."""
    owner: str = ""
    """Kind and name of the object that made it, which makes the next one by its template."""

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    @property
    def rejected(self) -> bool:
        """The kubelet did not take it in, and no container of it ever ran."""
        return self.phase == "Failed" and (self.reason in REJECTIONS or self.reason.startswith("OutOf"))

    @property
    def running(self) -> bool:
        """It holds what it was given, also while it terminates."""
        return self.seen and bool(self.node) and not self.ended


UNSEEN = Life()
"""Of a pod of a person, which is nowhere yet."""


def is_served(metadata: ManifestObject) -> bool:
    """Only a server gives these, and no person keeps them."""
    get = metadata.get
    return bool(get("uid") or get("resourceVersion") or get("managedFields") or get("creationTimestamp"))


def life_of(part: ObjectPart, metadata: ObjectPart) -> Life:
    """Of a Pod."""
    node = part.part("spec").text("nodeName")
    served = is_served(metadata.value)
    if not part.value.get("status") and not served:
        return Life(node) if node else UNSEEN
    own = part.part("status")
    started = own.text("startTime")
    return Life(
        node,
        own.text("phase"),
        started,
        metadata.text("creationTimestamp"),
        served,
        bool(started or own.value.get("containerStatuses") or own.value.get("initContainerStatuses")),
        own.text("reason"),
        _owner(metadata),
    )


def _owner(metadata: ObjectPart) -> str:
    """Not the Node that owns the mirror of a static pod: it has no template."""
    if not metadata.value.get("ownerReferences"):
        return ""
    for own in metadata.parts("ownerReferences"):
        if own.value.get("controller") is True and own.text("kind") != "Node":
            return f"{own.text('kind')} {own.text('name')}"
    return ""


def uid_of(metadata: ObjectPart) -> str:
    """The UID by which the kubelet knows a pod, as its state files have it."""
    own = metadata.text("uid")
    if not metadata.value.get("annotations"):
        return own
    return metadata.part("annotations").text(STATIC_POD_UID) or own


def kubelet_uid(annotations: Mapping[str, str], own: str) -> str:
    """The UID by which the kubelet knows a pod of a live cluster. Whoever makes a pod writes its annotations, so one
    that names another UID counts only as a kubelet writes it: a pod that says that it is no mirror runs as itself."""
    static = annotations.get(STATIC_POD_UID)
    return static if static and annotations.get(MIRROR) == static else own


def is_over(part: ObjectPart, kind: str) -> bool:
    """A job of any kind that has done its work, or given up."""
    if "Job" not in kind or not part.value.get("status"):
        return False
    conditions = part.part("status").parts("conditions")
    return any(each.value.get("type") in OVER and each.value.get("status") == "True" for each in conditions)


def owners_of(metadata: ObjectPart) -> list[str]:
    """The UIDs of the objects that made this one."""
    if not metadata.value.get("ownerReferences"):
        return []
    return [own.text("uid") for own in metadata.parts("ownerReferences") if own.value.get("uid")]
