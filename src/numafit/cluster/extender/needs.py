"""Which pods need a decision."""

from collections.abc import Callable

from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.pods import ClusterPod
from numafit.workload.api_server import is_extended
from numafit.workload.pod import GUARANTEED, qos_class


def needs_of(live: LiveFleet) -> Callable[[ClusterPod], bool]:
    def needs(pod: ClusterPod) -> bool:
        own = pod.pod
        return qos_class(own, pod_level=True, status=False) == GUARANTEED or any(
            is_extended(name) for each in own.all_containers for name in each.limits
        )

    return needs
