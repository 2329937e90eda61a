"""Which pods of a node go before its kubelet is stopped, which stay, and which nobody may take away unasked.

As `kubectl drain --ignore-daemonsets` chooses (1.36), but for pods that have ended: they hold nothing, and stay.
"""

from collections.abc import Sequence

import msgspec

from numafit.workload.served import ENDED, MIRROR, kubelet_uid

FORCE, EMPTY_DIR = "--force", "--delete-emptydir-data"


class PodOwner(msgspec.Struct, frozen=True):
    kind: str
    name: str
    controller: bool = False


class PodIdentity(msgspec.Struct, frozen=True):
    name: str
    namespace: str = "default"
    uid: str = ""
    annotations: dict[str, str] = {}
    ownerReferences: tuple[PodOwner, ...] = ()
    deletionTimestamp: str = ""


class PodVolume(msgspec.Struct, frozen=True):
    name: str
    emptyDir: dict[str, object] | None = None


class PodVolumes(msgspec.Struct, frozen=True):
    volumes: tuple[PodVolume, ...] = ()


class PodPhase(msgspec.Struct, frozen=True):
    phase: str = ""


class PodOnNode(msgspec.Struct, frozen=True):
    """A pod of the node, as far as a drain looks at it."""

    metadata: PodIdentity
    spec: PodVolumes = PodVolumes()
    status: PodPhase = PodPhase()

    @property
    def name(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def uid(self) -> str:
        """By which the API server knows it."""
        return self.metadata.uid

    @property
    def kubelet_uid(self) -> str:
        """By which its kubelet knows it: a static pod has another than its mirror."""
        return kubelet_uid(self.metadata.annotations, self.metadata.uid)

    @property
    def controller(self) -> PodOwner | None:
        return next((owner for owner in self.metadata.ownerReferences if owner.controller), None)


class BoundPods(msgspec.Struct, frozen=True):
    items: tuple[PodOnNode, ...] = ()


class RemainingPod(msgspec.Struct, frozen=True):
    """A pod that is not evicted."""

    pod: PodOnNode
    why: str
    cure: str = ""
    """The option that would let it go."""


class Drain(msgspec.Struct, frozen=True):
    evicted: tuple[PodOnNode, ...] = ()
    staying: tuple[RemainingPod, ...] = ()
    blocked: tuple[RemainingPod, ...] = ()
    """They would have to go, and would be lost, or their data."""


class DrainChoice(msgspec.Struct, frozen=True):
    force: bool = False
    """Pods that nobody makes again may go."""
    empty_dir: bool = False
    """So may data in volumes that end with their pod."""


def drain_of(pods: Sequence[PodOnNode], choice: DrainChoice) -> Drain:
    evicted, staying, blocked = [], [], []
    for pod in pods:
        stays = _stays(pod)
        problem = None if stays else _problem(pod, choice)
        if stays:
            staying.append(RemainingPod(pod, stays))
        elif problem is not None:
            blocked.append(problem)
        else:
            evicted.append(pod)
    return Drain(tuple(evicted), tuple(staying), tuple(blocked))


def _stays(pod: PodOnNode) -> str:
    if pod.status.phase in ENDED:
        return "has ended, and holds nothing"
    if MIRROR in pod.metadata.annotations:
        return "is a static pod, which its kubelet makes"
    controller = pod.controller
    if controller is not None and controller.kind == "DaemonSet":
        return f"belongs to DaemonSet {controller.name}, which would make it again at once"
    return ""


def _problem(pod: PodOnNode, choice: DrainChoice) -> RemainingPod | None:
    if pod.metadata.deletionTimestamp:
        return None
    if pod.controller is None and not choice.force:
        return RemainingPod(pod, "has no controller, so nobody makes it again", FORCE)
    if not choice.empty_dir and any(volume.emptyDir is not None for volume in pod.spec.volumes):
        return RemainingPod(pod, "has data in an emptyDir, which would be lost", EMPTY_DIR)
    return None
