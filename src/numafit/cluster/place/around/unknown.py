"""Nodes that no NodeTopology tells of: which could take a pod as far as a scheduler knows, by labels, taints and sums.

What their kubelets will say is not known. They are offered where no known node takes the pod, since without numafit it
would have gone there, too.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import ClusterPod
from numafit.decision.filters import untolerated, wrong_labels
from numafit.fleet.places import SCHEDULER_EFFECTS
from numafit.settings.gates import default_gates
from numafit.settings.settings import Settings
from numafit.settings.versions import NEWEST_MINOR, KubeVersion
from numafit.workload.pod import Pod, pod_requests

CPU, PODS = "cpu", "pods"

Sums = dict[str, dict[str, int]]
"""Node -> resource -> what its pods ask for, in thousandths of a CPU and whole units; `pods` is their number."""


def sums_of(pods: Iterable[ClusterPod], offers: Mapping[str, Sequence[str]], unknown: Collection[str]) -> Sums:
    """Of pods that are bound there or were offered to it."""
    found: Sums = {}
    for pod in pods:
        names = (pod.node,) if pod.node else offers.get(pod.uid, ())
        for name in names:
            if name in unknown:
                total = found.setdefault(name, {})
                for resource, amount in asked_of(pod.pod).items():
                    total[resource] = total.get(resource, 0) + amount
    return found


def asked_of(pod: Pod) -> dict[str, int]:
    requests = pod_requests(pod, sidecars=True, pod_level=True)
    amounts = {name: own.milli() if name == CPU else own.value() for name, own in requests.items()}
    return {**amounts, PODS: 1}


def unknown_places(pod: Pod, nodes: Iterable[ClusterNode], sums: Sums) -> Iterator[str]:
    """Names, those first that have most CPUs left for their size: nobody knows what breaks what there."""
    wanted = asked_of(pod)
    found = []
    for node in nodes:
        used = sums.get(node.name, {})
        if _may_come(pod, node) and has_room(wanted, node, used):
            whole = node.allocatable[CPU].milli() if CPU in node.allocatable else 0
            found.append((used.get(CPU, 0) / whole if whole else 1.0, node.name))
    yield from (name for _, name in sorted(found))


def _may_come(pod: Pod, node: ClusterNode) -> bool:
    if node.unschedulable or not node.ready or wrong_labels(pod.demands, node.labels, node.name):
        return False
    return not node.taints or untolerated(_newest(), pod.demands, node.taints, SCHEDULER_EFFECTS) is None


def has_room(wanted: Mapping[str, int], node: ClusterNode, used: Mapping[str, int]) -> bool:
    for name, amount in wanted.items():
        whole = node.allocatable.get(name)
        has = 0 if whole is None else whole.milli() if name == CPU else whole.value()
        if amount > 0 and used.get(name, 0) + amount > has:
            return False
    return True


@lru_cache(1)
def _newest() -> Settings:
    """Which tolerations there are depends on the release; the scheduler's is not known, and the newest knows all."""
    version = KubeVersion(1, NEWEST_MINOR, 0)
    return Settings(version=version, gates=default_gates(version))
