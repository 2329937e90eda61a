"""Reads answers of the kubelet's podresources API, saved as JSON: devices with their NUMA nodes, CPUs and memory.

It shows what may be given to containers, not the machine: reserved CPUs and reserved memory are missing, cores and
sockets unknown. What stands in for them is listed under `assumed`.
"""

from collections.abc import Iterable

import msgspec

from numafit.bits import LARGEST_ID
from numafit.errors import InputError
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.machine.order import cpus_in_kubelet_order, in_kubelet_order
from numafit.machine.read.text import LARGEST_AMOUNT, text_of
from numafit.quantity import QuantityError, parse_quantity

_CURE = "save the answer of GetAllocatableResources or List as JSON"
_HUGEPAGES = "hugepages-"


class _NumaId(msgspec.Struct):
    """An omitted ID is 0: protocol buffers write no zeros."""

    id: int = msgspec.field(name="id", default=0)


class _Topology(msgspec.Struct):
    nodes: list[_NumaId] | None = None


class _Devices(msgspec.Struct):
    resource_name: str
    device_ids: list[str] | None = None
    topology: _Topology | None = None


class _Memory(msgspec.Struct):
    memory_type: str = ""
    size: int = 0
    topology: _Topology | None = None


class _Resources(msgspec.Struct):
    devices: list[_Devices] | None = None
    cpu_ids: list[int] | None = None
    memory: list[_Memory] | None = None


class _Pod(msgspec.Struct):
    containers: list[_Resources] | None = None


class _List(msgspec.Struct):
    pod_resources: list[_Pod] | None = None


class _Answers(_Resources):
    """One answer alone, or both under names of their own."""

    pod_resources: list[_Pod] | None = None
    allocatable: _Resources | None = None
    list: _List | None = None


def read_podresources(data: str | bytes, source: str = "podresources") -> Machine:
    text = text_of(data, source)
    try:
        value = msgspec.json.decode(text.encode("utf-8", "replace"))
        answers = msgspec.convert(_snake_case(value), _Answers, strict=False)
    except (msgspec.MsgspecError, RecursionError) as error:
        message = f"not an answer of podresources: {str(error)[:200]}"
        raise InputError(message, source=source, cure=_CURE) from None
    allocatable = answers.allocatable or _Resources(answers.devices, answers.cpu_ids, answers.memory)
    pods = answers.pod_resources or (answers.list.pod_resources if answers.list is not None else None) or []
    held = [container for pod in pods for container in pod.containers or ()]
    machine = _Builder(source)
    for resources in (allocatable, *held):
        machine.add_devices(resources.devices or [])
        machine.add_cpus(resources.cpu_ids or [])
    # What pods hold is part of what is allocatable: it must not count twice.
    for memory in allocatable.memory or ():
        machine.add_memory(memory)
    return machine.done()


def _snake_case(value: object) -> object:
    """Field names as in the .proto file, whichever way the JSON writes them (`cpuIds`, `ID`)."""
    if isinstance(value, dict):
        return {_snake_name(name): _snake_case(member) for name, member in value.items()}
    return [_snake_case(item) for item in value] if isinstance(value, list) else value


def _snake_name(name: object) -> str:
    text = str(name)[:60]
    if text.isupper():
        return text.lower()
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in text).lstrip("_")


class _Builder:
    def __init__(self, source: str) -> None:
        self.source = source
        self.devices: dict[tuple[str, str], Device] = {}
        self.cpus: set[int] = set()
        self.memory: dict[int, int] = {}
        self.hugepages: dict[int, dict[int, int]] = {}
        self.has_hugepages = False

    def add_devices(self, found: Iterable[_Devices]) -> None:
        for devices in found:
            numa = None if devices.topology is None else self._nodes(devices.topology)
            for id in devices.device_ids or ():
                # A device of several NUMA nodes is listed once for each of them (1.36); one that pods hold, once more.
                key = devices.resource_name, id
                known = self.devices.get(key)
                both = numa if known is None or known.numa is None else tuple(sorted({*known.numa, *(numa or ())}))
                self.devices[key] = Device(resource=devices.resource_name, id=id, numa=both)

    def add_cpus(self, ids: Iterable[int]) -> None:
        for id in ids:
            self.cpus.add(self._id(id, "CPU"))

    def add_memory(self, memory: _Memory) -> None:
        """Memory that is one block over several NUMA nodes cannot be shared out; only the nodes are taken from it."""
        nodes = self._nodes(memory.topology or _Topology())
        if not 0 <= memory.size < LARGEST_AMOUNT:
            raise InputError(f"{memory.size} is not an amount of memory", source=self.source, cure=_CURE)
        if len(nodes) != 1:
            return
        if memory.memory_type == "memory":
            self.memory[nodes[0]] = min(LARGEST_AMOUNT - 1, self.memory[nodes[0]] + memory.size)
        elif memory.memory_type.startswith(_HUGEPAGES):
            size = self._page_size(memory.memory_type.removeprefix(_HUGEPAGES))
            pages = self.hugepages.setdefault(nodes[0], {})
            pages[size] = pages.get(size, 0) + memory.size // size
            self.has_hugepages = True

    def _page_size(self, text: str) -> int:
        try:
            size = parse_quantity(text[:40]).value()
        except QuantityError:
            size = 0
        if not 0 < size < LARGEST_AMOUNT:
            raise InputError(f'"{text[:40]}" is not a hugepage size', source=self.source, cure=_CURE)
        return size

    def _nodes(self, topology: _Topology) -> tuple[int, ...]:
        nodes = tuple(self._id(node.id, "NUMA node") for node in topology.nodes or ())
        for node in nodes:
            self.memory.setdefault(node, 0)
        return nodes

    def _id(self, id: int, what: str) -> int:
        if not 0 <= id <= LARGEST_ID:
            raise InputError(f"there is no {what} {id}", source=self.source, cure=_CURE)
        return id

    def done(self) -> Machine:
        if not self.devices and not self.cpus and not self.memory:
            raise InputError("it names no devices, CPUs or memory", source=self.source, cure=_CURE)
        assumed = ["core", "cpus", "numa", "socket", "uncore_cache"] if self.cpus else []
        if any(self.memory.values()):
            assumed.append("memory")
        if self.has_hugepages:
            assumed.append("hugepages")
        nodes = {0: 0, **self.memory} if self.cpus else self.memory
        return Machine(
            cpus=tuple(cpus_in_kubelet_order(Cpu(id=cpu, core=cpu, socket=0, numa=0) for cpu in self.cpus)),
            numa_nodes=in_kubelet_order(
                NumaNode(id=node, memory=size, hugepages=dict(sorted(self.hugepages.get(node, {}).items())))
                for node, size in nodes.items()
            ),
            # The kubelet lists them in the order of a Go map: by chance.
            devices=tuple(self.devices[key] for key in sorted(self.devices)),
            assumed=tuple(sorted(assumed)),
        )
