"""The `input` of a recording as our values: the machine that the kubelet was shown, its settings, and the pods.

Defaults of the kubelet and of the API server have been filled in before; the reservation is already added up.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from numafit.bits import LARGEST_ID
from numafit.errors import InputError
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.managers.device.plugin import Plugin, Preference, ResponseKind
from numafit.quantity import parse_quantity
from numafit.settings.gates import default_gates
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.versions import KubeVersion
from numafit.workload.pod import Container, Pod, PodResources, Resources

STATE_DIR = "<STATE_DIR>"
"""What recordings show in place of the state directory."""

_Id = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_ID)]
_PAGE_SIZES = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


class _Cpu(msgspec.Struct, frozen=True, rename="camel"):
    cpu: _Id
    core: int
    socket: int
    numa: int
    uncore_cache: int | None = None


class _NumaNode(msgspec.Struct, frozen=True, rename="camel"):
    id: _Id
    memory_bytes: int = 0
    hugepages: dict[str, int] | None = None
    distances: list[int] | None = None


class _Machine(msgspec.Struct, frozen=True, rename="camel"):
    numa_nodes: list[_NumaNode]
    cpus: list[_Cpu]
    name: str = ""
    memory_bytes: int | None = None
    """Of the whole machine, where somebody looks at it: that is not the sum over the NUMA nodes."""
    sockets: int | None = None


def _page_size(text: str) -> int:
    digits, unit = text[:-2], text[-2:]
    if unit not in _PAGE_SIZES or not digits.isascii() or not digits.isdigit():
        raise InputError(f'"{text}" is not a hugepage size', source="recording", cure="write it like 2Mi or 1Gi")
    return int(digits) * _PAGE_SIZES[unit]


def _numa_node(node: _NumaNode) -> NumaNode:
    pages = {_page_size(size): count for size, count in (node.hugepages or {}).items()}
    distances = None if node.distances is None else tuple(node.distances)
    return NumaNode(id=node.id, memory=node.memory_bytes, hugepages=pages, distances=distances)


def machine_from_recording(recorded: Mapping[str, object]) -> Machine:
    """The machine of one recording; CPUs keep their order, which is the order in which the kubelet met the cores."""
    try:
        plain = msgspec.convert(recorded, _Machine)
    except msgspec.ValidationError as error:
        raise InputError(str(error), source="recording", field="machine") from error
    cpus = tuple(
        Cpu(id=cpu.cpu, core=cpu.core, socket=cpu.socket, numa=cpu.numa, uncore_cache=cpu.uncore_cache)
        for cpu in plain.cpus
    )
    return Machine(
        cpus=cpus,
        numa_nodes=tuple(_numa_node(node) for node in plain.numa_nodes),
        memory=plain.memory_bytes,
        sockets=plain.sockets,
        name=plain.name,
    )


class RecordedDevice(msgspec.Struct, frozen=True):
    id: str
    resource: str = ""
    numa: tuple[int, ...] | None = None
    healthy: bool = True


class RecordedPlugin(msgspec.Struct, frozen=True, rename="camel"):
    resource: str
    preferred_allocation: Preference = "none"
    response: ResponseKind = "empty"
    fail_allocate: str | None = None


def devices_of(recorded: Sequence[RecordedDevice] | None, resource: str) -> tuple[Device, ...]:
    return tuple(
        Device(resource, item.id, item.numa, item.healthy) for item in recorded or () if item.resource in ("", resource)
    )


def plugin_of(recorded: RecordedPlugin, devices: Sequence[Device]) -> Plugin:
    minors = {device.id: i for i, device in enumerate(devices)}
    return Plugin(recorded.preferred_allocation, recorded.response, recorded.fail_allocate or "", minors)


class _RecordedReservedMemory(msgspec.Struct, frozen=True, rename="camel"):
    numa_node: int
    limits: dict[str, str] = {}


class _RecordedConfig(msgspec.Struct, frozen=True, rename="camel"):
    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: dict[str, str] | None = None
    memory_manager_policy: str = "None"
    reserved_memory: list[_RecordedReservedMemory] | None = None
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: dict[str, str] | None = None
    feature_gates: dict[str, bool] | None = None
    reserved_system_cpus: str = msgspec.field(default="", name="reservedSystemCPUs")
    node_allocatable_reservation: dict[str, str] | None = None


def settings_from_recording(config: Mapping[str, Any], version: KubeVersion) -> Settings:
    """`Any`: the parsed JSON of one recording. Empty policy names stay empty: defaults were filled in before."""
    given = msgspec.convert(config, _RecordedConfig)
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


class RecordedResources(msgspec.Struct, frozen=True):
    requests: dict[str, str] | None = None
    limits: dict[str, str] | None = None


class RecordedContainer(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    requests: dict[str, str] | None = None
    limits: dict[str, str] | None = None
    restart_policy: str = ""


class RecordedPod(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    name: str
    containers: list[RecordedContainer]
    init_containers: list[RecordedContainer] | None = None
    namespace: str = "default"
    resources: RecordedResources | None = None
    overhead: dict[str, str] | None = None
    priority: int | None = None
    static: bool = False


def pod_of(pod: RecordedPod) -> Pod:
    resources = pod.resources
    return Pod(
        uid=pod.uid,
        name=pod.name,
        namespace=pod.namespace,
        containers=tuple(_container(container) for container in pod.containers),
        init_containers=tuple(_container(container) for container in pod.init_containers or ()),
        resources=None if resources is None else PodResources(_amounts(resources.requests), _amounts(resources.limits)),
        overhead=_amounts(pod.overhead),
        priority=pod.priority,
        static=pod.static,
    )


def _container(recorded: RecordedContainer) -> Container:
    return Container(
        name=recorded.name,
        requests=_amounts(recorded.requests),
        limits=_amounts(recorded.limits),
        restartable=recorded.restart_policy == "Always",
    )


def _amounts(recorded: dict[str, str] | None) -> Resources:
    return {name: parse_quantity(text) for name, text in (recorded or {}).items()}
