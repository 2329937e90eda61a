"""Nodes that somebody made alike: which of them are configured otherwise than most of their pool.

A pool is what a label of a cloud or of an autoscaler says, else the type of the instance, else an equal machine.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from numafit.errors import some_of
from numafit.fleet.look.findings import NodeFinding

POOL_LABELS = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "karpenter.sh/nodepool",
    "node.cluster.x-k8s.io/pool",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
)
"""The first that a node has counts."""
DIFFERS = "differs-in-pool"
MOST_FIELDS = 6


class PoolMember(msgspec.Struct, frozen=True):
    node: str
    pool: str
    """As people read it: `pool gpu`, `nodes like gpu-1`."""
    told: Mapping[str, str]
    """Field -> its value as a text: the release, and what the configuration says."""


def pool_label(labels: Mapping[str, str]) -> str:
    """`pool gpu` or `instance type m5.large`; empty where no label tells."""
    for name in POOL_LABELS:
        value = labels.get(name)
        if value:
            return f"instance type {value}" if name.endswith("instance-type") else f"pool {value}"
    return ""


def pool_findings(members: Sequence[PoolMember]) -> Iterator[tuple[str, NodeFinding]]:
    """(node, finding) of those that are not as most of their pool; where two halves differ, of the later names."""
    pools: dict[str, list[PoolMember]] = {}
    for member in sorted(members, key=lambda own: own.node):
        pools.setdefault(member.pool, []).append(member)
    for pool, own in sorted(pools.items()):
        counts = Counter(_key(member) for member in own)
        usual = counts.most_common(1)[0][0]
        number = counts[usual]
        expected = dict(usual)
        for member in own:
            if _key(member) != usual:
                yield member.node, _difference(member, expected, pool, number)


def _key(member: PoolMember) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(member.told.items()))


def _difference(member: PoolMember, expected: Mapping[str, str], pool: str, number: int) -> NodeFinding:
    told = member.told
    fields = sorted(name for name in told.keys() | expected.keys() if told.get(name) != expected.get(name))
    words = [f"{name} is {told.get(name, 'not set')} here and {expected.get(name, 'not set')} there" for name in fields]
    others = "1 other node" if number == 1 else f"{number} other nodes"
    text = f"is not configured like {others} of {pool}: {some_of(words, MOST_FIELDS)}"
    cure = "give the nodes of a pool one configuration: which one a pod meets is chance"
    return NodeFinding(DIFFERS, "warning", text, cure)
