"""Nodes that reach a pod's volumes: a disk of one zone is no use to a node of another, as the scheduler would find.

Asked is what the cluster has said: the nodes of a volume that is bound, and the topologies that a storage class allows
for one that is made when the pod is bound. What cannot be read limits nobody.
"""

from collections.abc import Mapping

import msgspec

from numafit.cluster.kube.objects import ObjectJson
from numafit.decision.filters import wrong_labels
from numafit.workload.demands import AffinityTerm, Demands, LabelRule

VolumeLimits = tuple[tuple[AffinityTerm, ...], ...]
"""For each claim that has some: terms of which one has to hold."""
NO_LIMITS: VolumeLimits = ()
_SIGNS = (b'"persistentVolumeClaim"', b'"ephemeral"')


class _ClaimSource(msgspec.Struct):
    claimName: str = ""


class _Volume(msgspec.Struct):
    name: str = ""
    persistentVolumeClaim: _ClaimSource | None = None
    ephemeral: ObjectJson | None = None


class _Volumes(msgspec.Struct):
    volumes: tuple[_Volume, ...] | None = None


class ClaimSpec(msgspec.Struct):
    volumeName: str = ""
    storageClassName: str | None = None


class ClaimObject(msgspec.Struct):
    """A PersistentVolumeClaim."""

    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)


class VolumeSpec(msgspec.Struct):
    nodeAffinity: ObjectJson | None = None


class VolumeObject(msgspec.Struct):
    """A PersistentVolume."""

    spec: VolumeSpec = msgspec.field(default_factory=VolumeSpec)


class ClassObject(msgspec.Struct):
    """A StorageClass."""

    allowedTopologies: tuple[ObjectJson, ...] | None = None


def claims_of(spec: bytes | msgspec.Raw, pod: str) -> tuple[str, ...]:
    """Names of the claims of a pod of this name."""
    data = bytes(spec)
    if not any(sign in data for sign in _SIGNS):
        return ()
    found = []
    for volume in msgspec.json.decode(data, type=_Volumes).volumes or ():
        if volume.persistentVolumeClaim is not None:
            found.append(volume.persistentVolumeClaim.claimName)
        elif volume.ephemeral is not None:
            found.append(f"{pod}-{volume.name}")
    return tuple(found)


def volume_terms(volume: VolumeObject) -> tuple[AffinityTerm, ...]:
    """Empty where each node reaches it."""
    required = (volume.spec.nodeAffinity or {}).get("required") or {}
    return tuple(
        AffinityTerm(_rules(term.get("matchExpressions")), _rules(term.get("matchFields")))
        for term in required.get("nodeSelectorTerms") or ()
    )


def class_terms(storage: ClassObject) -> tuple[AffinityTerm, ...]:
    return tuple(
        AffinityTerm(
            tuple(
                LabelRule(own.get("key", ""), "In", tuple(own.get("values") or ()))
                for own in term.get("matchLabelExpressions") or ()
            )
        )
        for term in storage.allowedTopologies or ()
    )


def _rules(told: list[ObjectJson] | None) -> tuple[LabelRule, ...]:
    return tuple(
        LabelRule(own.get("key", ""), own.get("operator", ""), tuple(own.get("values") or ())) for own in told or ()
    )


def reaches(limits: VolumeLimits, labels: Mapping[str, str], name: str) -> bool:
    return all(not wrong_labels(Demands(affinity=terms), labels, name) for terms in limits)
