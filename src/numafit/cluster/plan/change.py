"""One change of a fleet, and the fleet with it: its kubelets, machines, number of nodes, or the pods that come.

Every node is changed alike. Whether a kubelet would start so is found when its nodes are made.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from numafit.cluster.plan.kubelets import (
    CPU_OPTIONS,
    TOPOLOGY_OPTIONS,
    with_cpu_manager,
    with_machine,
    with_memory_manager,
    with_option,
    with_reserved_cores,
    with_reserved_cpus,
)
from numafit.cluster.plan.planned import PlannedNodes, policy_fields
from numafit.cluster.plan.sized import sized
from numafit.cluster.sim.file import SimulatedGroup
from numafit.cluster.sim.group import reconfigured
from numafit.cluster.sim.table import TableRow, machine_of_row
from numafit.errors import InputError
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.what_if.shapes import RESHAPES, at_most_per_gpu, reshaped
from numafit.machine.model import Machine
from numafit.settings.read.loader import ConfigFile
from numafit.settings.versions import parse_version

ChangeKind = Literal[
    "policy",
    "scope",
    "cpu-manager",
    "cpu-option",
    "topology-option",
    "memory-manager",
    "reserved-cores",
    "reserved-cpus",
    "release",
    "kubelet",
    "machine",
    "numa",
    "nodes",
    "pods",
    "scheduler",
]
EACH_NUMA = "/numa"
PER_GPU = "cpus-per-gpu="


class FleetChange(msgspec.Struct, frozen=True):
    kind: ChangeKind
    value: str
    machine: Machine | None = None
    """Of the kind `machine`: the one that is meant."""
    config: ConfigFile | None = None
    """Of the kind `kubelet`: the file that is meant."""

    @property
    def name(self) -> str:
        """As it is typed."""
        return f"{self.kind}={self.value}"


GroupChange = Callable[[SimulatedGroup, FleetChange], SimulatedGroup]


def changed_nodes(planned: PlannedNodes, change: FleetChange) -> PlannedNodes:
    """Raises InputError where that cannot be."""
    if change.kind == "nodes":
        return sized(planned, other_count(planned.count, change.value))
    own = _GROUP_CHANGES.get(change.kind)
    if own is None:
        return planned
    return replace(planned, kinds=tuple((own(group, change), names) for group, names in planned.kinds))


def changed_pods(pods: Sequence[TracePod], change: FleetChange) -> tuple[TracePod, ...]:
    if change.kind != "pods":
        return tuple(pods)
    if change.value.startswith(PER_GPU):
        return reshaped(pods, at_most_per_gpu(int(change.value.removeprefix(PER_GPU))))
    return reshaped(pods, RESHAPES[change.value])


def other_count(now: int, value: str) -> int:
    """`12`, `+3`, `-3`, `+10%`, `-10%`; rounded away from what there is now. InputError where that leaves none."""
    sign = {"+": 1, "-": -1}.get(value[:1], 0)
    if not sign:
        return int(value)
    whole = value[1:]
    many = -(-now * int(whole[:-1]) // 100) if whole.endswith("%") else int(whole)
    if now + sign * many < 1:
        raise InputError(f"of {now:,} {'node' if now == 1 else 'nodes'} none is left")
    return now + sign * many


def _option(field: str) -> GroupChange:
    def own(group: SimulatedGroup, change: FleetChange) -> SimulatedGroup:
        name, equals, text = change.value.partition("=")
        return with_option(group, field, name, text if equals else "true")

    return own


def _reserved_cores(group: SimulatedGroup, change: FleetChange) -> SimulatedGroup:
    many = int(change.value.removesuffix(EACH_NUMA))
    return with_reserved_cores(group, many, each=change.value.endswith(EACH_NUMA))


def _machine(group: SimulatedGroup, change: FleetChange) -> SimulatedGroup:
    assert change.machine is not None
    return with_machine(group, change.machine)


def _numa(group: SimulatedGroup, change: FleetChange) -> SimulatedGroup:
    """The same CPUs, memory and devices in equal parts; whoever has so many NUMA nodes stays as it is. Raises
    InputError where the CPUs cannot be split so."""
    wanted = int(change.value)
    machine = group.machine
    if len(machine.numa_nodes) == wanted:
        return group
    if len(machine.cpus) % wanted:
        raise InputError(f"the {len(machine.cpus)} CPUs of {group.name} cannot be split into {wanted} equal parts")
    counts: dict[str, int] = {}
    for device in machine.devices:
        if device.resource and device.healthy:
            counts[device.resource] = counts.get(device.resource, 0) + 1
    pages: dict[int, int] = {}
    for node in machine.numa_nodes:
        for size, many in node.hugepages.items():
            pages[size] = pages.get(size, 0) + many
    memory = sum(own.memory for own in machine.numa_nodes) >> 20
    devices, hugepages = tuple(sorted(counts.items())), tuple(sorted(pages.items()))
    made = machine_of_row(TableRow(len(machine.cpus), memory, devices, hugepages=hugepages), wanted)
    return with_machine(group, made)


_GROUP_CHANGES: Mapping[str, GroupChange] = {
    "policy": lambda group, change: reconfigured(group, dict(policy_fields(change.value))),
    "scope": lambda group, change: reconfigured(group, {"topologyManagerScope": change.value}),
    "cpu-manager": lambda group, change: with_cpu_manager(group, change.value),
    "cpu-option": _option(CPU_OPTIONS),
    "topology-option": _option(TOPOLOGY_OPTIONS),
    "memory-manager": lambda group, change: with_memory_manager(group, change.value),
    "reserved-cores": _reserved_cores,
    "reserved-cpus": lambda group, change: with_reserved_cpus(group, change.value),
    "release": lambda group, change: replace(group, version=parse_version(change.value)),
    "kubelet": lambda group, change: replace(group, config=change.config),
    "machine": _machine,
    "numa": _numa,
}
