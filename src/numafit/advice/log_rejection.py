"""Log lines that say a pod was rejected: the refusal itself, its event, the patch of its status."""

import msgspec

from numafit.advice.log_lines import DENIED, EVENT, PATCH, PREDICATE, LogLine
from numafit.managers.manager import SMT_ALIGNMENT, TOPOLOGY_AFFINITY

PREFIXES = ("Pod was rejected: ", "Pod ")
"""How the message in a pod's status begins: from 1.28 on, and before."""

_REASONS = frozenset(
    (
        TOPOLOGY_AFFINITY,
        SMT_ALIGNMENT,
        "UnexpectedAdmissionError",
        "EmptyPodSharedPoolError",
        "SysctlForbidden",
        "InvalidNodeInfo",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "PodOSNotSupported",
        "UnexpectedPredicateFailureType",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "TaintToleration",
        "AppArmor",
        "PodLevelResourcesNotSupported",
        "PodFeatureUnsupported",
        "NodeShutdown",
    )
)
_EVICTED = "Evicted"
_PRESSURE = "The node had condition: "
"""A pod that comes under pressure; running pods are evicted with other words."""
_SHORT = "Node didn't have enough resource: "


class Rejection(msgspec.Struct, frozen=True):
    pod: str
    uid: str
    reason: str
    message: str


class _Metadata(msgspec.Struct):
    uid: str = ""


class _Status(msgspec.Struct):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None


class _Patch(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    status: _Status = msgspec.field(default_factory=_Status)


def rejection_of(line: LogLine) -> Rejection | None:
    fields = line.fields
    if line.message == DENIED:
        # A refused resize leaves the pod running.
        if fields.get("operation", "add") != "add" or not fields.get("pod"):
            return None
        return Rejection(fields["pod"], fields.get("podUID", ""), fields.get("reason", ""), fields.get("message", ""))
    if line.message == EVENT:
        reason, message = fields.get("reason", ""), fields.get("message", "")
        if fields.get("fieldPath") or not _rejects(reason, message):
            return None
        return Rejection(fields.get("object", ""), "", reason, message)
    if line.message == PATCH:
        return _from_patch(fields)
    if line.message == PREDICATE and fields.get("pod"):
        message = fields.get("err", "")
        name = message.removeprefix(_SHORT).partition(",")[0] if message.startswith(_SHORT) else ""
        return Rejection(fields["pod"], fields.get("podUID", ""), f"OutOf{name}" if name else "", message)
    return None


def _rejects(reason: str, message: str) -> bool:
    if reason == _EVICTED:
        return message.startswith(_PRESSURE)
    return reason in _REASONS or reason.startswith("OutOf")


def _from_patch(fields: dict[str, str]) -> Rejection | None:
    # Named patchBytes in 1.21.
    text = fields.get("patch") or fields.get("patchBytes", "")
    try:
        patch = msgspec.json.decode(text, type=_Patch)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    status = patch.status
    reason, message = status.reason or "", status.message or ""
    for prefix in PREFIXES:
        if message.startswith(prefix):
            message = message.removeprefix(prefix)
            break
    if status.phase != "Failed" or not _rejects(reason, message) or not fields.get("pod"):
        return None
    return Rejection(fields["pod"], patch.metadata.uid or fields.get("podUID", ""), reason, message)
