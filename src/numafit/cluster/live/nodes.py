"""A Node of the cluster, as far as it says who may come to it."""

from collections.abc import Mapping

import msgspec

from numafit.cluster.kube.objects import ObjectMeta
from numafit.quantity import Quantity, QuantityError, quantity_of
from numafit.settings.facts import NodeFacts, Taint, is_offer


class SentTaint(msgspec.Struct, frozen=True, gc=False):
    key: str
    effect: str
    value: str = ""


class SentNodeMeta(ObjectMeta, frozen=True):
    labels: dict[str, str] | None = None


class SentNodeSpec(msgspec.Struct, frozen=True):
    taints: tuple[SentTaint, ...] | None = None
    unschedulable: bool = False


class SentNodeCondition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class SentNodeInfo(msgspec.Struct, frozen=True, gc=False):
    kubeletVersion: str = ""


class SentNodeFeatures(msgspec.Struct, frozen=True, gc=False):
    supplementalGroupsPolicy: bool | None = None


class SentNodeStatus(msgspec.Struct, frozen=True):
    allocatable: dict[str, str | int | float] | None = None
    conditions: tuple[SentNodeCondition, ...] | None = None
    nodeInfo: SentNodeInfo = SentNodeInfo()
    features: SentNodeFeatures | None = None


class SentNode(msgspec.Struct, frozen=True):
    metadata: SentNodeMeta
    spec: SentNodeSpec = SentNodeSpec()
    status: SentNodeStatus = SentNodeStatus()


class ClusterNode(msgspec.Struct, frozen=True):
    name: str
    uid: str = ""
    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    """Cordoned."""
    ready: bool = False
    allocatable: Mapping[str, Quantity] = {}
    release: str = ""
    """Of its kubelet."""
    group_policies: bool = False

    @property
    def facts(self) -> NodeFacts:
        """As its kubelet sees it: what the Node lists beside machine and configuration included."""
        offers = {name: amount for name, amount in self.allocatable.items() if is_offer(name)}
        return NodeFacts(self.name, self.labels, self.taints, self.group_policies, offers)


def node_of(sent: SentNode) -> ClusterNode:
    status = sent.status
    return ClusterNode(
        sent.metadata.name,
        sent.metadata.uid,
        sent.metadata.labels or {},
        tuple(Taint(own.key, own.value, own.effect) for own in sent.spec.taints or ()),
        sent.spec.unschedulable,
        any(own.type == "Ready" and own.status == "True" for own in status.conditions or ()),
        amounts_of(status.allocatable or {}),
        status.nodeInfo.kubeletVersion,
        status.features is not None and status.features.supplementalGroupsPolicy is True,
    )


def amounts_of(told: Mapping[str, str | int | float]) -> dict[str, Quantity]:
    """An API server lets no other amounts in; one that is none is as if nobody had told it."""
    found = {}
    for name, amount in told.items():
        try:
            found[name] = quantity_of(amount)
        except QuantityError:
            continue
    return found
