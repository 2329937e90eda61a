"""The pods that a cluster lists for a node: those that hold something, in the order of their start."""

from typing import Any

import msgspec

from numafit.workload.pod import Pod
from numafit.workload.reading import read_pods
from numafit.workload.served import ENDED


class _PodList(msgspec.Struct):
    items: list[dict[str, Any]]
    """`Any`: pods of the API server, handed on as they are."""


def running(pods: bytes, *, pod_level: bool) -> tuple[Pod, ...]:
    """Of a PodList those that hold something, by the time of their start."""
    items = [
        item for item in msgspec.json.decode(pods, type=_PodList).items if item["status"].get("phase") not in ENDED
    ]
    if not items:
        return ()
    data = msgspec.json.encode({"apiVersion": "v1", "kind": "PodList", "items": items})
    return read_pods(data, "pods.json", pod_level=pod_level).running
