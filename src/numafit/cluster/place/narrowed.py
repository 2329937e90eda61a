"""What a released pod wished before its release: without the nodes that the release patch left it, or took from it.

A released pod cannot be changed any more, and whether another node would take it is asked of the pod as it came.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import SCALED_ANNOTATION
from numafit.cluster.place.patch import HOSTNAME, NAME_FIELD
from numafit.workload.demands import AffinityTerm, LabelRule


def as_it_came(pod: ClusterPod) -> ClusterPod:
    """The rules that a release adds stand behind the pod's own, in each of its terms."""
    demands = pod.pod.demands
    scaled = pod.metadata.annotations.get(SCALED_ANNOTATION, "")
    if demands.affinity is None or not (pod.offered or scaled):
        return pod
    own = tuple(
        _before_scale(term, scaled) if scaled else _before_offer(term, pod.offered) for term in demands.affinity
    )
    # A term without any rule is ours alone: it had no terms.
    ours = any(not any(after) and any(before) for before, after in zip(demands.affinity, own, strict=True))
    return replace(pod, pod=replace(pod.pod, demands=replace(demands, affinity=None if ours else own)))


def _before_offer(term: AffinityTerm, names: Sequence[str]) -> AffinityTerm:
    labels, fields = term
    if fields and fields[-1].key == NAME_FIELD and fields[-1].operator == "In" and set(fields[-1].values) <= set(names):
        return AffinityTerm(labels, fields[:-1])
    return AffinityTerm(labels[:-1], fields) if _is_hosts(labels, "In") else term


def _before_scale(term: AffinityTerm, excluded: str) -> AffinityTerm:
    labels, fields = term
    named = int(excluded) if excluded.isdigit() else 0
    if _is_hosts(labels, "NotIn"):
        named -= len(labels[-1].values)
        labels = labels[:-1]
    for _ in range(min(named, len(fields))):
        if (fields[-1].key, fields[-1].operator) != (NAME_FIELD, "NotIn"):
            break
        fields = fields[:-1]
    return AffinityTerm(labels, fields)


def _is_hosts(labels: Sequence[LabelRule], operator: str) -> bool:
    return bool(labels) and (labels[-1].key, labels[-1].operator) == (HOSTNAME, operator)
