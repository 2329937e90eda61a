"""Is a merge that stands in a log the one that the engine computes from the same hints?"""

from collections.abc import Iterator

import msgspec

from numafit.advice.logs.admission import LoggedMerge
from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.bits import mask_of
from numafit.errors import NumafitError
from numafit.ledger.ledger import Hint
from numafit.machine.model import Machine
from numafit.managers.topology.hint_order import DistanceRows
from numafit.managers.topology.merge import merge
from numafit.managers.topology.policy import NONE
from numafit.settings.options import PREFER_CLOSEST_NUMA_NODES, TOPOLOGY_OPTION_STAGES, stage_of
from numafit.settings.versions import LATEST_PATCH, Behaviour, KubeVersion, behaviour_of

FAR = 1000


class MergeCheck(msgspec.Struct, frozen=True):
    agrees: bool | None
    """None: the log does not hold enough to tell."""
    computed: Hint | None = None
    """What the engine gets where it does not agree."""


def check_merge(logged: LoggedMerge, kubelet: LoggedKubelet, machine: Machine | None = None) -> MergeCheck:
    """Agrees when one of the policies, releases and machines that the log leaves open leads to the logged hint.

    Hint lines may be missing: with less than two providers, or fewer than in other merges, nothing can be said.
    """
    best = logged.best
    if best is None or len(logged.providers) < max(2, kubelet.providers):
        return MergeCheck(None)
    measured = _distances(machine)
    certain: list[DistanceRows | None] = [] if kubelet.prefer_closest else [None]
    if kubelet.prefer_closest is not False and measured is not None:
        certain.append(measured)
    results = list(_results(logged, kubelet, machine, certain))
    if (best, logged.admit) in results:
        return MergeCheck(True)
    closest_known = stage_of(PREFER_CLOSEST_NUMA_NODES, TOPOLOGY_OPTION_STAGES, kubelet.last_minor) is not None
    # Without a start-up line and a machine the option may be set, unseen.
    if kubelet.prefer_closest is not False and closest_known and measured is None:
        thinkable = list(_results(logged, kubelet, machine, [_favouring(best[0] or 0, kubelet.numa_nodes)]))
        if (best, logged.admit) in thinkable:
            return MergeCheck(None)
    computed = next((hint for hint, _ in results), None)
    return MergeCheck(None if computed is None else False, computed)


def _results(
    logged: LoggedMerge, kubelet: LoggedKubelet, machine: Machine | None, measures: list[DistanceRows | None]
) -> Iterator[tuple[Hint, bool | None]]:
    """All that the merge may come to; the verdict is None where the log has none either."""
    for policy in sorted(kubelet.policies - {NONE}):
        for behaviour in behaviours(kubelet):
            for nodes in _grounds(kubelet, machine):
                for distances in measures:
                    try:
                        found = merge(policy, logged.providers, nodes, behaviour=behaviour, distances=distances)
                    except NumafitError:
                        continue
                    yield found.best, None if logged.admit is None else found.admit


def _favouring(mask: int, nodes: int) -> DistanceRows:
    """Distances with which prefer-closest-numa-nodes chooses `mask` before others of its size."""
    size = max(nodes, mask).bit_length() + 1
    return {
        own: tuple(1 if mask >> own & 1 and mask >> other & 1 else FAR for other in range(size)) for own in range(size)
    }


def _distances(machine: Machine | None) -> DistanceRows | None:
    if machine is None or any(node.distances is None for node in machine.numa_nodes):
        return None
    return {node.id: node.distances for node in machine.numa_nodes if node.distances is not None}


def behaviours(kubelet: LoggedKubelet) -> list[Behaviour]:
    """Of the releases that the log leaves open, those that merge differently."""
    if kubelet.version is not None:
        return [behaviour_of(kubelet.version)]
    found = [behaviour_of(KubeVersion(1, kubelet.first_minor, LATEST_PATCH))]
    last = behaviour_of(KubeVersion(1, kubelet.last_minor, LATEST_PATCH))
    if last.merge_equal_masks != found[0].merge_equal_masks:
        found.append(last)
    return found


def _grounds(kubelet: LoggedKubelet, machine: Machine | None) -> Iterator[int]:
    """All NUMA nodes; without a machine the log may not have shown all of them."""
    if machine is not None:
        yield mask_of(node.id for node in machine.numa_nodes)
        return
    seen = kubelet.numa_nodes or 1
    yield seen
    yield seen | seen + 1
