"""Pods that were released, and that the scheduler cannot bind: what they want nobody knew, or it came later.

A released pod cannot be changed any more. Where a controller owns it, it is deleted, and the next one gets other nodes
first. That is done seldom: with patience that doubles for each owner, and only while nothing of the pod can have begun.
A Job counts each of its pods that goes as a failed one, so its pods are told only, as those that nobody owns are; but
for one whose rules ignore pods with the condition DisruptionTarget, which such a pod gets before it is deleted.
"""

from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Literal

import msgspec

from numafit.cluster.kube.api import STRATEGIC, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import SCALED_ANNOTATION
from numafit.cluster.place.successors import DISRUPTION
from numafit.errors import ApiServerError, InputError
from numafit.show.records.time import time_text

PATIENCE, LOST_PATIENCE, MOST_PATIENCE = 60.0, 10.0, 900.0
"""Seconds: for the first pod of an owner; where none of its nodes is left; at most."""
FORGET_SECONDS = 3600.0
"""After which an owner's earlier pods, and the nodes that they did not get, are forgotten."""
BETWEEN_SECONDS = 2.0
"""Between two deletions in the whole cluster."""
MOST_OWNERS = 10_000
NOT_REPLACED = ("Job", "Node", "DaemonSet")
"""Kinds of owners whose pods are told only, unless a Job forgives."""
UNSCHEDULABLE = "Unschedulable"
DISRUPTED = "NumafitReplacement"
"""Reason of the condition by which a Job need not count a pod."""

StuckAnswer = Literal["", "tell", "replace"]


class StuckOwner(msgspec.Struct):
    times: int = 0
    at: float = 0.0
    """When its last pod was deleted."""
    nodes: dict[str, float] = {}
    """Nodes that its pods did not get, and when that was."""


class StuckBook:
    """No network: whoever calls tells what time it is."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        """UID of a pod -> since when the scheduler says that it cannot bind it."""
        self._told: dict[str, bool] = {}
        """UIDs of those that were told; whether it was that another node would take it."""
        self._owners: dict[str, StuckOwner] = {}
        self._last = -BETWEEN_SECONDS

    def told(self, pod: ClusterPod, now: float) -> None:
        """A pod that is not bound and has no gate; others are not stuck."""
        if is_released(pod) and scheduler_refuses(pod):
            self._since.setdefault(pod.uid, now)
        else:
            self.gone(pod.uid)

    def gone(self, uid: str) -> None:
        self._since.pop(uid, None)
        self._told.pop(uid, None)

    def stuck(self) -> Collection[str]:
        return tuple(self._since)

    def answer(
        self,
        pod: ClusterPod,
        nodes: Mapping[str, ClusterNode],
        *,
        elsewhere: bool,
        now: float,
        forgiven: bool = False,
    ) -> StuckAnswer:
        """`elsewhere`: another node would take it than those that it was offered. `forgiven`: its Job does not count
        it as failed."""
        lost = bool(pod.offered) and not any(_open(nodes.get(name)) for name in pod.offered)
        waited = now - self._since.get(pod.uid, now)
        owner = pod.owner
        times = self._owners[owner.uid].times if owner is not None and owner.uid in self._owners else 0
        patience = min((LOST_PATIENCE if lost else PATIENCE) * 2**times, MOST_PATIENCE)
        if waited < patience:
            return ""
        kept = owner is None or (owner.kind in NOT_REPLACED and not forgiven)
        if kept or not (lost or elsewhere):
            # That a known node has room now is news for one that waits for nodes to come, and stays.
            news = is_scaled(pod) and elsewhere and not self._told.get(pod.uid, False)
            return "tell" if news or pod.uid not in self._told else ""
        return "replace" if now - self._last >= BETWEEN_SECONDS else ""

    def was_told(self, uid: str, *, elsewhere: bool = False) -> None:
        self._told[uid] = elsewhere

    def replaced(self, pod: ClusterPod, now: float) -> None:
        self._last = now
        self._since.pop(pod.uid, None)
        if pod.owner is None:
            return
        for uid in [uid for uid, own in self._owners.items() if now - own.at >= FORGET_SECONDS]:
            del self._owners[uid]
        while len(self._owners) >= MOST_OWNERS:
            del self._owners[next(iter(self._owners))]
        own = self._owners.setdefault(pod.owner.uid, StuckOwner())
        own.times, own.at = own.times + 1, now
        own.nodes = {**own.nodes, **dict.fromkeys(pod.offered, now)}

    def tried(self, pod: ClusterPod) -> Collection[str]:
        """Nodes that come last for it, since earlier pods of its owner did not get them."""
        own = self._owners.get(pod.owner.uid) if pod.owner is not None else None
        return own.nodes.keys() if own is not None else ()


def is_released(pod: ClusterPod) -> bool:
    """By us, and not bound yet."""
    return (
        (bool(pod.offered) or is_scaled(pod))
        and not pod.node
        and not pod.gates
        and pod.metadata.deletionTimestamp is None
    )


def is_scaled(pod: ClusterPod) -> bool:
    """It was released for nodes that are still to come."""
    return SCALED_ANNOTATION in pod.metadata.annotations


def scheduler_refuses(pod: ClusterPod) -> bool:
    condition = pod.condition("PodScheduled")
    return condition is not None and condition.status == "False" and condition.reason == UNSCHEDULABLE


def _open(node: ClusterNode | None) -> bool:
    return node is not None and not node.unschedulable


class _SeenSpec(msgspec.Struct):
    nodeName: str = ""


class _SeenStatus(msgspec.Struct):
    nominatedNodeName: str = ""
    phase: str = ""


class _Seen(msgspec.Struct):
    metadata: ObjectMeta
    spec: _SeenSpec = msgspec.field(default_factory=_SeenSpec)
    status: _SeenStatus = msgspec.field(default_factory=_SeenStatus)


async def delete_unbound(api: KubeApi, pod: ClusterPod, health: ApiHealth, *, disrupted: bool = False) -> bool:
    """Whether it is deleted now: only the pod that was seen last, by UID and version, so that a binding that comes in
    between wins; and never one for which the scheduler is making room. `disrupted`: it gets the condition by which a
    Job need not count it. Where a binding wins after that, Kubernetes takes the condition back after two minutes."""
    try:
        seen = msgspec.json.decode(await api.get(pod.path), type=_Seen)
        if seen.metadata.uid != pod.metadata.uid or seen.spec.nodeName or seen.status.nominatedNodeName:
            return False
        meta = seen.metadata
        if disrupted:
            patch = _disruption(meta, api.clock.now())
            meta = msgspec.json.decode(await api.patch(f"{pod.path}/status", patch, STRATEGIC), type=_Seen).metadata
        preconditions = {"uid": meta.uid, "resourceVersion": meta.resourceVersion}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        await api.delete(pod.path, msgspec.json.encode(options))
    except InputError as error:
        if not (isinstance(error, ApiServerError) and error.status in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)):
            health.failed(error)
        return False
    return True


def _disruption(meta: ObjectMeta, now: float) -> bytes:
    """Of this pod as it was seen, and no other."""
    condition = {
        "type": DISRUPTION,
        "status": "True",
        "reason": DISRUPTED,
        "message": "numafit deletes it, so that another one goes to a node that has room",
        "lastTransitionTime": time_text(now),
    }
    own = {"uid": meta.uid, "resourceVersion": meta.resourceVersion}
    return msgspec.json.encode({"metadata": own, "status": {"conditions": [condition]}})
