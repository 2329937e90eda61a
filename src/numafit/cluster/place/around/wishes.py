"""What a pod wants of other pods: to be spread among them, near some, apart from some. Only what is required.

The scheduler looks at this, no kubelet does; but a node that the scheduler must refuse is no use to offer. And one rule
has to be kept here, since the scheduler no longer sees it whole: over which domains a pod is spread is counted on the
nodes that its own node affinity leaves, and those are the ones that were chosen for it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.place.patch import REQUIRED

HARD = "DoNotSchedule"
HONOR = "Honor"


class SelectorRule(NamedTuple):
    key: str
    operator: str
    values: tuple[str, ...] = ()


PodSelector = tuple[SelectorRule, ...] | None
"""All rules hold together; None matches nobody."""


class SpreadWish(msgspec.Struct, frozen=True):
    key: str
    most_skew: int
    selector: PodSelector
    least_domains: int = 1
    by_affinity: bool = True
    """Only nodes that the pod's own node affinity leaves are counted."""
    by_taints: bool = False
    """Only nodes whose taints it tolerates are counted."""


class NeighbourWish(msgspec.Struct, frozen=True):
    key: str
    selector: PodSelector
    namespaces: frozenset[str] | None
    """None: all."""

    def means(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return (self.namespaces is None or namespace in self.namespaces) and selects(self.selector, labels)


class PodWishes(msgspec.Struct, frozen=True):
    spread: tuple[SpreadWish, ...] = ()
    near: tuple[NeighbourWish, ...] = ()
    apart: tuple[NeighbourWish, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spread or self.near or self.apart)


NO_WISHES = PodWishes()


class _Wishing(msgspec.Struct):
    """What of a spec is looked at."""

    affinity: ObjectJson | None = None
    topologySpreadConstraints: list[ObjectJson] | None = None


def read_wishes(spec: bytes | msgspec.Raw, namespace: str, labels: Mapping[str, str]) -> PodWishes:
    """Terms that choose namespaces by their labels are left to the scheduler: nothing here knows those."""
    told = msgspec.json.decode(spec, type=_Wishing)
    if not told.affinity and not told.topologySpreadConstraints:
        return NO_WISHES
    affinity = told.affinity or {}
    spread = tuple(
        _spread(own, labels) for own in told.topologySpreadConstraints or () if own.get("whenUnsatisfiable") == HARD
    )
    near, apart = (_neighbours(affinity.get(kind), namespace, labels) for kind in ("podAffinity", "podAntiAffinity"))
    return PodWishes(spread, near, apart)


def _spread(told: ObjectJson, labels: Mapping[str, str]) -> SpreadWish:
    return SpreadWish(
        told.get("topologyKey", ""),
        told.get("maxSkew", 1),
        _narrowed(_selector(told.get("labelSelector")), told.get("matchLabelKeys"), labels, "In"),
        told.get("minDomains") or 1,
        (told.get("nodeAffinityPolicy") or HONOR) == HONOR,
        told.get("nodeTaintsPolicy") == HONOR,
    )


def _neighbours(told: ObjectJson | None, namespace: str, labels: Mapping[str, str]) -> tuple[NeighbourWish, ...]:
    found = []
    for term in (told or {}).get(REQUIRED) or ():
        chosen = term.get("namespaceSelector")
        if chosen:
            continue
        named = frozenset(term.get("namespaces") or ())
        namespaces = None if chosen is not None else named or frozenset((namespace,))
        selector = _narrowed(_selector(term.get("labelSelector")), term.get("matchLabelKeys"), labels, "In")
        selector = _narrowed(selector, term.get("mismatchLabelKeys"), labels, "NotIn")
        found.append(NeighbourWish(term.get("topologyKey", ""), selector, namespaces))
    return tuple(found)


def _selector(told: ObjectJson | None) -> PodSelector:
    if told is None:
        return None
    rules = [SelectorRule(key, "In", (value,)) for key, value in (told.get("matchLabels") or {}).items()]
    for own in told.get("matchExpressions") or ():
        rules.append(SelectorRule(own.get("key", ""), own.get("operator", ""), tuple(own.get("values") or ())))
    return tuple(rules)


def _narrowed(
    selector: PodSelector, keys: Sequence[str] | None, labels: Mapping[str, str], operator: str
) -> PodSelector:
    """By the pod's own values of these labels."""
    if selector is None:
        return None
    return (*selector, *(SelectorRule(key, operator, (labels[key],)) for key in keys or () if key in labels))


def selects(selector: PodSelector, labels: Mapping[str, str]) -> bool:
    return selector is not None and all(_holds(rule, labels) for rule in selector)


def _holds(rule: SelectorRule, labels: Mapping[str, str]) -> bool:
    match rule.operator:
        case "In":
            return labels.get(rule.key) in rule.values
        case "NotIn":
            return labels.get(rule.key) not in rule.values
        case "Exists":
            return rule.key in labels
        case "DoesNotExist":
            return rule.key not in labels
    return False
