"""Pods of an owner that loops, as the guard keeps them, and moments."""

from datetime import UTC, datetime, timedelta
from typing import Any

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import HOLD_GATE
from tests.cluster.live.cluster_objects import kept, pod_object

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
REASON = "TopologyAffinityError"


def after(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def owned_object(
    name: str, owner: str = "loop", kind: str = "ReplicaSet", made: float = 0, **more: Any
) -> dict[str, Any]:
    """Of an owner whose UID is its name; no kind: of nobody."""
    own = pod_object(name, **more)
    own["metadata"]["creationTimestamp"] = after(made).strftime("%Y-%m-%dT%H:%M:%SZ")
    if kind:
        version = "batch/v1" if kind == "Job" else "apps/v1"
        reference = {"apiVersion": version, "kind": kind, "name": owner, "uid": owner, "controller": True}
        own["metadata"]["ownerReferences"] = [reference]
    return own


def rejected_pod(
    name: str, owner: str = "loop", kind: str = "ReplicaSet", made: float = 0, node: str = "n1"
) -> ClusterPod:
    return kept(owned_object(name, owner, kind, made, node=node, phase="Failed", reason=REASON, message="no"))


def gated_pod(
    name: str, owner: str = "loop", kind: str = "ReplicaSet", gates: tuple[str, ...] = (HOLD_GATE,)
) -> ClusterPod:
    return kept(owned_object(name, owner, kind, gates=gates))


def running_pod(name: str, owner: str = "loop", made: float = 0) -> ClusterPod:
    return kept(owned_object(name, owner, made=made, node="n2", phase="Running"))
