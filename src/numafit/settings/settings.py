"""What was ordered: everything about a kubelet that the four managers look at, as one frozen value."""

from collections.abc import Mapping

import msgspec

from numafit.quantity import Quantity
from numafit.settings.versions import Behaviour, KubeVersion, behaviour_of


class ReservedMemory(msgspec.Struct, frozen=True):
    numa_node: int
    limits: Mapping[str, Quantity]


class Settings(msgspec.Struct, frozen=True):
    version: KubeVersion
    cpu_policy: str = "none"
    cpu_options: Mapping[str, str] = {}
    memory_policy: str = "None"
    reserved_memory: tuple[ReservedMemory, ...] = ()
    topology_policy: str = "none"
    topology_scope: str = "container"
    topology_options: Mapping[str, str] = {}
    gates: Mapping[str, bool] = {}
    """Every gate the release knows, with its effective value."""
    reserved_cpus: str = ""
    """`reservedSystemCPUs` as written; empty when there is no list."""
    reservation: Mapping[str, Quantity] = {}
    """kubeReserved + systemReserved + hard eviction threshold, per resource."""
    state_dir: str = "/var/lib/kubelet"

    @property
    def behaviour(self) -> Behaviour:
        return behaviour_of(self.version)

    def gate(self, name: str) -> bool:
        return self.gates.get(name, False)

    def was_on(self, name: str) -> bool:
        """A gate that has been on by default since 1.20: a release that no longer knows it does what it stood for."""
        return self.gates.get(name, True)
