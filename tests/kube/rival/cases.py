"""Pods of which the rival's rule and a kubelet may think otherwise, each on a node of its own.

The rule: for each resource the zones that have enough of it left, and at least one zone in all of them. It is applied
on nodes with the policy `single-numa-node` only.
"""

from typing import Any, NamedTuple

from tests.kube.api import Json
from tests.kube.counted.fleet import GPU, MACHINE, POLICY

SINGLE = {**POLICY, "topologyManagerPolicy": "single-numa-node"}
BY_CONTAINER = {**SINGLE, "topologyManagerScope": "container"}
WITHOUT_MEMORY = {name: own for name, own in SINGLE.items() if name not in ("memoryManagerPolicy", "reservedMemory")}
CASE = "case"
"""Label of a node."""


class Case(NamedTuple):
    name: str
    what: str
    kubelet: Json
    pod: Json
    admitted: bool
    """By the kubelet."""
    let_through: bool
    """By the rival."""
    holders: tuple[Json, ...] = ()
    """Who is there before."""


def container(name: str, cpu: str, memory: str = "1Gi", gpus: int = 0, **more: Any) -> Json:
    """`Any`: what else a container says."""
    amounts = {"cpu": cpu, "memory": memory, **({GPU: str(gpus)} if gpus else {})}
    return {"name": name, "image": "none:1", "resources": {"requests": amounts, "limits": amounts}, **more}


def spec(*containers: Json, first: tuple[Json, ...] = ()) -> Json:
    common = {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0, "restartPolicy": "Never"}
    return {"containers": list(containers), **({"initContainers": list(first)} if first else {}), **common}


def sidecar(gpus: int) -> Json:
    return container("beside", "2", gpus=gpus, restartPolicy="Always")


def group(case: Case) -> Json:
    labels = {CASE: case.name}
    return {"name": case.name, "machine": MACHINE, "kubelet": case.kubelet, "labels": labels, "startSeconds": 0.2}


CASES = (
    Case(
        "plain",
        "2 GPUs, where one NUMA node has them",
        SINGLE,
        spec(container("c", "8", gpus=2)),
        admitted=True,
        let_through=True,
        holders=(spec(container("c", "8", gpus=2)),),
    ),
    Case(
        "split",
        "2 GPUs, where each NUMA node has one",
        SINGLE,
        spec(container("c", "8", gpus=2)),
        admitted=False,
        let_through=False,
        holders=(spec(container("c", "24", gpus=3)), spec(container("c", "48", gpus=3))),
    ),
    Case(
        "restricted",
        "2 GPUs, where each NUMA node has one, policy restricted",
        POLICY,
        spec(container("c", "8", gpus=2)),
        admitted=False,
        let_through=True,
        holders=(spec(container("c", "24", gpus=3)), spec(container("c", "48", gpus=3))),
    ),
    Case(
        "memory-group",
        "1 CPU beside a pod whose memory is on both NUMA nodes, policy restricted",
        POLICY,
        spec(container("c", "1")),
        admitted=False,
        let_through=True,
        holders=(spec(container("c", "80", "300Gi")),),
    ),
    Case(
        "odd-cpus",
        "3 CPUs, with full-pcpus-only",
        {**SINGLE, "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}},
        spec(container("c", "3")),
        admitted=False,
        let_through=True,
    ),
    Case(
        "sidecar-pod",
        "a sidecar with 4 GPUs beside a container with 2, scope pod",
        SINGLE,
        spec(container("c", "2", gpus=2), first=(sidecar(4),)),
        admitted=False,
        let_through=True,
    ),
    Case(
        "sidecar-container",
        "a sidecar with 2 GPUs beside two containers with 3, scope container",
        BY_CONTAINER,
        spec(container("a", "2", gpus=3), container("b", "2", gpus=3), first=(sidecar(2),)),
        admitted=False,
        let_through=True,
    ),
    Case(
        "shared-cpus",
        "4.5 CPUs of the shared pool, where the NUMA nodes have 3 and 4 left",
        SINGLE,
        spec(container("c", "4500m")),
        admitted=True,
        let_through=False,
        holders=(spec(container("c", "60")), spec(container("c", "60"))),
    ),
    Case(
        "large-memory",
        "300Gi on NUMA nodes of 256Gi, without a memory manager",
        WITHOUT_MEMORY,
        spec(container("c", "2", "300Gi")),
        admitted=True,
        let_through=False,
    ),
    Case(
        "many-cpus",
        "70 CPUs on NUMA nodes of 64, without a CPU manager",
        {**SINGLE, "cpuManagerPolicy": "none"},
        spec(container("c", "70")),
        admitted=True,
        let_through=False,
    ),
)
