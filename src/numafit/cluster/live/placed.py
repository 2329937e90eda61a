"""The condition of a pod by which it is told why it waits, or that it was released."""

import msgspec

from numafit.cluster.kube.api import STRATEGIC, KubeApi
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import PLACED
from numafit.show.records.time import time_text


async def write_placed(api: KubeApi, pod: ClusterPod, status: str, reason: str, message: str) -> None:
    """The time in it makes it a change each time. Raises InputError."""
    condition = {
        "type": PLACED,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": time_text(api.clock.now()),
    }
    # With its UID, so that no other pod of that name is told.
    content = {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}}
    await api.patch(f"{pod.path}/status", msgspec.json.encode(content), STRATEGIC)
