"""Questions of an API server about pods that are created, and the answers: AdmissionReview v1.

Every pod is allowed: all that an answer may hold is gates to add, and with the guard's the annotation that tells of it.
"""

import msgspec

from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.live.pods import OwnerEntry, PodController, SchedulingGate
from numafit.cluster.live.words import HELD_ANNOTATION, HOLD_GATE, held_text

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
NOTHING = msgspec.Raw(b"{}")


class AdmittedMeta(msgspec.Struct, frozen=True):
    name: str = ""
    generateName: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    ownerReferences: tuple[OwnerEntry, ...] | None = None


class _Spec(msgspec.Struct, frozen=True):
    nodeName: str = ""
    schedulerName: str = ""
    schedulingGates: tuple[SchedulingGate, ...] | None = None


class AdmittedPod(msgspec.Struct, frozen=True):
    """As the API server is about to store it; it has no UID of its own yet, and perhaps no name."""

    namespace: str
    metadata: AdmittedMeta
    spec: msgspec.Raw
    node: str = ""
    scheduler: str = ""
    gates: tuple[str, ...] = ()
    dry_run: bool = False
    """Nobody will store it."""

    @property
    def owner(self) -> PodController | None:
        """The controller that makes the next one."""
        for own in self.metadata.ownerReferences or ():
            if own.controller:
                return PodController(own.kind, own.name, own.uid, own.apiVersion)
        return None


class _Object(msgspec.Struct, frozen=True):
    metadata: AdmittedMeta = AdmittedMeta()
    spec: msgspec.Raw = NOTHING


class _Request(msgspec.Struct, frozen=True):
    uid: str
    namespace: str = ""
    operation: str = ""
    subResource: str = ""
    dryRun: bool | None = None
    object: msgspec.Raw = NOTHING


class _Review(msgspec.Struct, frozen=True):
    request: _Request


class _Asked(msgspec.Struct, frozen=True):
    uid: str


class _Head(msgspec.Struct, frozen=True):
    request: _Asked


class _Response(msgspec.Struct, frozen=True, omit_defaults=True):
    uid: str
    allowed: bool
    patchType: str = ""
    patch: bytes = b""
    """In base64, as msgspec writes bytes."""


class _Answer(msgspec.Struct, frozen=True):
    response: _Response
    apiVersion: str = API_VERSION
    kind: str = KIND


_REVIEW, _HEAD = msgspec.json.Decoder(_Review), msgspec.json.Decoder(_Head)
_OBJECT, _SPEC = msgspec.json.Decoder(_Object), msgspec.json.Decoder(_Spec)
_ENCODER = msgspec.json.Encoder()


def review_uid(data: bytes) -> str:
    """Of a question that cannot be read otherwise; empty where it is none at all."""
    try:
        return _HEAD.decode(data).request.uid
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""


def reviewed_pod(data: bytes) -> tuple[str, AdmittedPod | None]:
    """The UID of the question, and the pod; None where it is about something else than a new pod. Raises
    msgspec.MsgspecError for what cannot be read."""
    asked = _REVIEW.decode(data).request
    if asked.operation != "CREATE" or asked.subResource:
        return asked.uid, None
    told = _OBJECT.decode(asked.object)
    spec = _SPEC.decode(told.spec)
    gates = tuple(own.name for own in spec.schedulingGates or ())
    return asked.uid, AdmittedPod(
        asked.namespace, told.metadata, told.spec, spec.nodeName, spec.schedulerName, gates, bool(asked.dryRun)
    )


def answer(uid: str, patch: bytes = b"") -> bytes:
    return _ENCODER.encode(_Answer(_Response(uid, True, "JSONPatch" if patch else "", patch)))


def gate_patch(pod: AdmittedPod, gates: tuple[str, ...], namespace: str) -> bytes:
    """A JSON patch that adds those which the pod has not yet; empty where it has all. `namespace`: our own."""
    new = [{"name": gate} for gate in dict.fromkeys(gates) if gate not in pod.gates]
    if not new:
        return b""
    if not pod.gates:
        # The list is missing or empty: `add` puts one in its place in both cases.
        operations: list[ObjectJson] = [{"op": "add", "path": "/spec/schedulingGates", "value": new}]
    else:
        operations = [{"op": "add", "path": "/spec/schedulingGates/-", "value": gate} for gate in new]
    if {"name": HOLD_GATE} in new:
        operations.append(_held(pod, namespace))
    return _ENCODER.encode(operations)


def _held(pod: AdmittedPod, namespace: str) -> ObjectJson:
    text = held_text(namespace)
    if not pod.metadata.annotations:
        return {"op": "add", "path": "/metadata/annotations", "value": {HELD_ANNOTATION: text}}
    return {"op": "add", "path": f"/metadata/annotations/{HELD_ANNOTATION.replace('/', '~1')}", "value": text}
