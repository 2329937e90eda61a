"""What a job asks of this machine, and the pod that asks the engine for it."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from numafit.quantity import Quantity

CONTAINER = "lease"
"""The one container of the pod that stands for a lease."""

Policy = Literal["none", "best-effort", "restricted", "single-numa-node"]
POLICIES: tuple[Policy, ...] = ("none", "best-effort", "restricted", "single-numa-node")
STRICT = POLICIES[2:]
"""Those that refuse what is not aligned."""

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
    """Bytes to hold; with 0 nobody is kept from the memory that the job uses."""
    devices: Mapping[str, int] = {}
    """Resource -> number."""
    policy: Policy = "best-effort"
    prefer: tuple[str, ...] = ()
    name: str = ""
    bind: str = ""
    """How its memory comes from its nodes: `prefer`, `bind` or `interleave`; empty: bound if it holds memory, else
    preferred."""
    on_nodes: int = 0
    """The NUMA nodes that its CPUs and memory come from, as a mask; 0: any."""
    limit_memory: int = 0
    """Bytes that it may use at most; 0: no limit."""
    threads: bool = False
    """Single threads of cores; else whole cores, of which nobody else gets a thread."""
    like_kubelet: bool = False
    """Exactly what a kubelet would do, good or not."""
    ranks: int = 0
    """So many processes, each with a part of its own; 0: nobody said."""
    cpus_per_rank: int = 0
    cpus_per_gpu: int = 0
    """`cpus` is the sum in any case; these say that it is so many for each."""
    priority: int = 0
    """Who waits with a higher one comes first."""
    seconds: float = 0.0
    """How long the job may run; 0: as long as it likes."""
    """The longest that it may run; 0: as long as it likes."""

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
        if self.ranks:
            parts.append(f"{self.ranks} rank{'s' if self.ranks != 1 else ''}")
        return ", ".join(parts) or "shared CPUs"


def main_resources(devices: Mapping[str, object]) -> list[str]:
    """The GPUs, where there are any; else all of the devices."""
    gpus = [resource for resource in devices if resource.endswith("/gpu") or resource.startswith("nvidia.com/")]
    return sorted(gpus or devices)


def len_of_main(devices: Mapping[str, int]) -> int:
    return sum(devices[resource] for resource in main_resources(devices))
