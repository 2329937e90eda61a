"""Nodes on which a pod's wishes about other pods hold, as the scheduler would find it now (1.36).

A pod that was offered to some nodes and is not bound yet counts on all of them for whoever wants to be apart from it.
Where all its nodes are in one domain it is known to come there, and counts as one that is there: so those who have to
be spread need not wait for each other. Whoever is spread gets nodes of one domain only, for that.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from numafit.cluster.place.around.wishes import NeighbourWish, PodWishes, SpreadWish, selects

Labels = Mapping[str, str]


class Neighbour(msgspec.Struct, frozen=True):
    namespace: str
    labels: Labels
    nodes: Sequence[str]
    """Where it is, or all that it was offered to."""
    bound: bool = True
    leaving: bool = False
    apart: tuple[NeighbourWish, ...] = ()
    """From whom it has to be apart itself."""


class Wisher(msgspec.Struct, frozen=True):
    """The pod that asks."""

    namespace: str
    labels: Labels
    wishes: PodWishes


class PodSurroundings(msgspec.Struct, frozen=True):
    nodes: Mapping[str, Labels]
    """All of the cluster, with their labels."""
    suited: Collection[str]
    """Those that the pod's own node affinity and selector leave."""
    tolerated: Collection[str]
    """Those whose taints it tolerates."""
    pods: Iterable[Neighbour]


class SpreadCounts(msgspec.Struct, frozen=True):
    """Of one wish: pods in each domain."""

    wish: SpreadWish
    most: Mapping[str, int]
    """Counting those that may come there."""
    least: int
    """In the domain that has fewest, counting only who is sure to be there."""
    own: int
    """1 where the pod counts itself."""
    pending: bool = False
    """One that counts is under way, and not bound yet."""

    def allows(self, domain: str) -> bool:
        return self.most.get(domain, 0) + self.own - self.least <= self.wish.most_skew

    def alone(self, domain: str) -> bool:
        """The scheduler agrees also when it sees this one domain only, and takes those that it misses for empty."""
        least = 0 if self.wish.least_domains > 1 and self.wish.by_affinity else self.least
        return self.most.get(domain, 0) + self.own - least <= self.wish.most_skew


class Allowed(msgspec.Struct, frozen=True):
    """`spread`: for each wish its counts; nodes are chosen by `chosen_names`."""

    nodes: frozenset[str]
    spread: tuple[SpreadCounts, ...] = ()
    together: tuple[str, ...] = ()
    """Labels of which the chosen nodes must have one value."""


def allowed(wisher: Wisher, around: PodSurroundings) -> Allowed:
    pods = [own for own in around.pods if own.nodes]
    wishes = wisher.wishes
    spread = tuple(_counts(wish, wisher, around, pods) for wish in wishes.spread)
    names = {
        name
        for name, labels in around.nodes.items()
        if all(own.wish.key in labels and own.allows(labels[own.wish.key]) for own in spread)
    }
    if any(own.pending and own.wish.least_domains > 1 and own.wish.by_affinity for own in spread):
        # What the scheduler sees of too few domains depends on who is bound first: one comes after the other.
        names.clear()
    names -= _taken(wisher, around, pods)
    near, first = _near(wisher, around, pods)
    if near is not None:
        names &= near
    keys = [own.wish.key for own in spread]
    if first:
        # Who comes next must find it.
        keys += [own.key for own in wishes.near]
    return Allowed(frozenset(names), spread, tuple(dict.fromkeys(keys)))


def chosen_names(found: Sequence[str], allowed: Allowed, nodes: Mapping[str, Labels], most: int) -> tuple[str, ...]:
    """Of nodes that admit the pod, the best first: those that can be offered together. Empty where none can."""
    for best in found:
        if best not in allowed.nodes:
            continue
        home = nodes[best]
        here = [
            name
            for name in found
            if name in allowed.nodes and all(nodes[name].get(key) == home.get(key) for key in allowed.together)
        ]
        names = [best, *(name for name in here if name != best)][:most]
        wider = [own for own in allowed.spread if not own.alone(home[own.wish.key])]
        if not wider:
            return tuple(names)
        if len(wider) == 1 and (more := _widened(best, wider[0], found, nodes)):
            return more
    return ()


def _widened(
    best: str, counts: SpreadCounts, found: Sequence[str], nodes: Mapping[str, Labels]
) -> tuple[str, ...] | None:
    """With `minDomains` the scheduler has to see so many domains, that with the fewest pods among them: then it refuses
    the others by itself, and takes the right one."""
    key = counts.wish.key
    by_domain: dict[str, str] = {}
    for name in (best, *found):
        domain = nodes[name].get(key)
        if domain is not None:
            by_domain.setdefault(domain, name)
    order = sorted(by_domain, key=lambda domain: (by_domain[domain] != best, counts.most.get(domain, 0)))
    names = [by_domain[domain] for domain in order[: counts.wish.least_domains]]
    fewest = min((counts.most.get(domain, 0) for domain in order[: counts.wish.least_domains]), default=0)
    enough = len(names) >= counts.wish.least_domains and fewest <= counts.least
    return tuple(names) if enough else None


def _counts(wish: SpreadWish, wisher: Wisher, around: PodSurroundings, pods: Sequence[Neighbour]) -> SpreadCounts:
    keys = [own.key for own in wisher.wishes.spread]
    domains: dict[str, str] = {}
    """Counted node -> its domain."""
    for name, labels in around.nodes.items():
        if wish.by_affinity and name not in around.suited:
            continue
        if wish.by_taints and name not in around.tolerated:
            continue
        if all(key in labels for key in keys):
            domains[name] = labels[wish.key]
    sure = dict.fromkeys(domains.values(), 0)
    most = dict(sure)
    pending = False
    for pod in pods:
        if pod.namespace != wisher.namespace or pod.leaving or not selects(wish.selector, pod.labels):
            continue
        pending = pending or not pod.bound
        reached = {domains[name] for name in pod.nodes if name in domains}
        for domain in reached:
            most[domain] += 1
        if len(reached) == 1 and all(name in domains for name in pod.nodes):
            sure[reached.pop()] += 1
    least = min(sure.values(), default=0) if len(sure) >= wish.least_domains else 0
    return SpreadCounts(wish, most, least, int(selects(wish.selector, wisher.labels)), pending)


def _taken(wisher: Wisher, around: PodSurroundings, pods: Sequence[Neighbour]) -> set[str]:
    """Nodes near somebody from whom the pod has to be apart, or who has to be apart from it."""
    pairs: set[tuple[str, str]] = set()
    for pod in pods:
        wishes = [own for own in wisher.wishes.apart if own.means(pod.namespace, pod.labels)]
        wishes += [own for own in pod.apart if own.means(wisher.namespace, wisher.labels)]
        for wish in wishes:
            for name in pod.nodes:
                domain = around.nodes.get(name, {}).get(wish.key)
                if domain is not None:
                    pairs.add((wish.key, domain))
    if not pairs:
        return set()
    keys = {key for key, _ in pairs}
    return {
        name
        for name, labels in around.nodes.items()
        if any(key in labels and (key, labels[key]) in pairs for key in keys)
    }


def _near(wisher: Wisher, around: PodSurroundings, pods: Sequence[Neighbour]) -> tuple[set[str] | None, bool]:
    """Nodes on which all those are near that have to be; None where nobody has to be. And whether the pod is the first
    of those that have to be near each other: then it may go anywhere."""
    wishes = wisher.wishes.near
    if not wishes:
        return None, False
    # Only who is meant by all terms counts for any of them.
    meant = [pod for pod in pods if all(wish.means(pod.namespace, pod.labels) for wish in wishes)]
    pairs: set[tuple[str, str]] = set()
    for pod in meant:
        for wish in wishes:
            domains = {around.nodes.get(name, {}).get(wish.key) for name in pod.nodes}
            # Where it will be is not known, and who follows has to wait for that.
            if len(domains) == 1 and (domain := domains.pop()) is not None:
                pairs.add((wish.key, domain))
    first = not meant and all(wish.means(wisher.namespace, wisher.labels) for wish in wishes)
    names = {
        name
        for name, labels in around.nodes.items()
        if all(wish.key in labels and (first or (wish.key, labels[wish.key]) in pairs) for wish in wishes)
    }
    return names, first
