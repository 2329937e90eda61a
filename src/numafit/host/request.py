"""What a job asks of this machine, and the pod that asks the engine for it."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.quantity import Quantity
from numafit.workload.pod import Container, Pod

CONTAINER = "lease"
"""The one container of the pod that stands for a lease."""

Policy = Literal["none", "best-effort", "restricted", "single-numa-node"]
POLICIES: tuple[Policy, ...] = ("none", "best-effort", "restricted", "single-numa-node")

PREFERENCES: Mapping[str, str] = {
    "full-cores": "full-pcpus-only",
    "uncore-cache": "prefer-align-cpus-by-uncorecache",
    "spread-cores": "distribute-cpus-across-cores",
    "spread-nodes": "distribute-cpus-across-numa",
    "socket": "align-by-socket",
}
"""What `--prefer` takes -> the kubelet's option of the CPU manager that does it."""


class JobRequest(msgspec.Struct, frozen=True):
    cpus: int = 0
    """Exclusive CPUs; with 0 the job runs in the shared pool."""
    memory: int = 0
    """Bytes to hold; with 0 the job's memory is bound, but not held."""
    devices: Mapping[str, int] = {}
    """Resource -> number."""
    policy: Policy = "best-effort"
    prefer: tuple[str, ...] = ()
    name: str = ""

    @property
    def holds(self) -> bool:
        """Whether it takes anything from others."""
        return bool(self.cpus or self.memory or any(self.devices.values()))

    def words(self) -> str:
        """`4 CPUs, 8Gi, 2 nvidia.com/gpu`."""
        parts = [f"{self.cpus} CPU{'s' if self.cpus != 1 else ''}"] if self.cpus else []
        if self.memory:
            parts.append(str(Quantity(self.memory, 0, "BinarySI")))
        parts += [f"{count} {resource}" for resource, count in sorted(self.devices.items()) if count]
        return ", ".join(parts) or "shared CPUs"


def pod_of(request: JobRequest, uid: str) -> Pod:
    """Guaranteed if it asks for CPUs or memory: only such pods get exclusive CPUs and memory of their own.

    A job that holds no memory asks for one byte, which makes it Guaranteed and which no manager is told of.
    """
    wanted = {resource: Quantity(count) for resource, count in request.devices.items() if count}
    if request.cpus or request.memory:
        # Less than one CPU is never exclusive: the kubelet's way to a Guaranteed pod in the shared pool.
        wanted["cpu"] = Quantity(request.cpus) if request.cpus else Quantity(1, -3)
        wanted["memory"] = Quantity(request.memory or 1, 0, "BinarySI")
    return Pod(uid, request.name or uid, (Container(CONTAINER, wanted, wanted),), namespace="host")
