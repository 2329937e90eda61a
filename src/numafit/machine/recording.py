"""Reads the `machine` object of a recording: one made-up node, as the recorded kubelet was shown it."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from numafit.errors import InputError
from numafit.machine.bits import LARGEST_ID
from numafit.machine.model import Cpu, Machine, NumaNode

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
    return Machine(cpus=cpus, numa_nodes=tuple(_numa_node(node) for node in plain.numa_nodes), name=plain.name)
