"""Settings as recordings of the kubelet state them: what its managers were given, the reservation already added up."""

from collections.abc import Mapping
from typing import Any

import msgspec

from numafit.quantity import parse_quantity
from numafit.settings.gates import default_gates
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.versions import KubeVersion

STATE_DIR = "<STATE_DIR>"
"""What recordings show in place of the state directory."""


class _ReservedMemory(msgspec.Struct, frozen=True, rename="camel"):
    numa_node: int
    limits: dict[str, str] = {}


class _Config(msgspec.Struct, frozen=True, rename="camel"):
    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: dict[str, str] | None = None
    memory_manager_policy: str = "None"
    reserved_memory: list[_ReservedMemory] | None = None
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: dict[str, str] | None = None
    feature_gates: dict[str, bool] | None = None
    reserved_system_cpus: str = msgspec.field(default="", name="reservedSystemCPUs")
    node_allocatable_reservation: dict[str, str] | None = None


def settings_from_recording(config: Mapping[str, Any], version: KubeVersion) -> Settings:
    """`Any`: the parsed JSON of one recording. Empty policy names stay empty: defaults were filled in before."""
    given = msgspec.convert(config, _Config)
    return Settings(
        version=version,
        cpu_policy=given.cpu_manager_policy,
        cpu_options=given.cpu_manager_policy_options or {},
        memory_policy=given.memory_manager_policy,
        reserved_memory=tuple(
            ReservedMemory(item.numa_node, {name: parse_quantity(text) for name, text in item.limits.items()})
            for item in given.reserved_memory or ()
        ),
        topology_policy=given.topology_manager_policy,
        topology_scope=given.topology_manager_scope,
        topology_options=given.topology_manager_policy_options or {},
        gates=default_gates(version) | (given.feature_gates or {}),
        reserved_cpus=given.reserved_system_cpus,
        reservation={name: parse_quantity(text) for name, text in (given.node_allocatable_reservation or {}).items()},
        state_dir=STATE_DIR,
    )
