"""100 nodes with two NUMA nodes and eight GPUs each, 90 % of which are held.

Of the 80 free GPUs 60 lie one by one: on 30 nodes each NUMA node has a single one. The sum of such a node says that two
are free, and a kubelet with the policy `restricted` rejects who wants two. Five nodes have four free ones together.
Three of the full nodes become free on one side after some time.
"""

from collections.abc import Iterator

from tests.kube.api import Api, Json

NODES, TRAPS, ROOMY, LEAVING = 100, 30, 5, 3
GPU = "nvidia.com/gpu"
MACHINE = "gpu8-128cpu"
RESTRICTED = "restricted"
POLICY = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": RESTRICTED,
    "topologyManagerScope": "pod",
    "kubeReserved": {"cpu": "1", "memory": "412Mi"},
    "evictionHard": {"memory.available": "100Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "256Mi"}}, {"numaNode": 1, "limits": {"memory": "256Mi"}}],
}
HOLDERS = "holders"
"""Their namespace."""
RUN_SECONDS = "numafit.io/run-seconds"


def group(policy: str = RESTRICTED) -> Json:
    """All nodes. Who wants two GPUs wants them on one NUMA node, so `single-numa-node` decides alike."""
    kubelet = {**POLICY, "topologyManagerPolicy": policy}
    return {"name": "gpu", "count": NODES, "machine": MACHINE, "kubelet": kubelet, "startSeconds": 0.2}


def pod_spec(cpus: int, gpus: int) -> Json:
    amounts = {"cpu": str(cpus), "memory": f"{cpus}Gi", **({GPU: str(gpus)} if gpus else {})}
    own = {"name": "c", "image": "none:1", "resources": {"requests": amounts, "limits": amounts}}
    return {"containers": [own], "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0}


def holders(leaving_seconds: float) -> Iterator[Json]:
    """Bound where they sit: the kubelets admit them in any order."""
    for number in range(NODES):
        name = f"gpu-{number}"
        if number < TRAPS:
            yield from (_holder(name, index, 24, 3) for index in (0, 1))
        elif number < TRAPS + ROOMY:
            yield _holder(name, 0, 40, 4)
        else:
            leaves = number >= NODES - LEAVING
            yield _holder(name, 0, 40, 4, leaving_seconds if leaves else 0)
            yield _holder(name, 1, 40, 4)


def _holder(node: str, index: int, cpus: int, gpus: int, seconds: float = 0) -> Json:
    metadata: Json = {"name": f"{node}-{index}", "namespace": HOLDERS}
    if seconds:
        metadata["annotations"] = {RUN_SECONDS: str(seconds)}
    return {"metadata": metadata, "spec": {**pod_spec(cpus, gpus), "nodeName": node, "restartPolicy": "Never"}}


def fill(api: Api, leaving_seconds: float) -> int:
    """How many came."""
    api.post("/api/v1/namespaces", {"metadata": {"name": HOLDERS, "labels": {"numafit.io/place": "disabled"}}})
    pods = list(holders(leaving_seconds))
    for pod in pods:
        api.post(f"/api/v1/namespaces/{HOLDERS}/pods", pod)
    return len(pods)
