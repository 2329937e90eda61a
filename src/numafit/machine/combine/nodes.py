"""Puts the NUMA nodes of several sources together."""

from collections.abc import Mapping, Sequence, Set

import msgspec

from numafit.amounts import amount_text
from numafit.machine.model import NumaNode
from numafit.machine.order import in_kubelet_order
from numafit.machine.source import CADVISOR, SYSFS, WRITTEN, Disagreement, Source, compared, reason

_COMPLETE = (*WRITTEN, CADVISOR, SYSFS)
"""They list all NUMA nodes that the kubelet sees: one that only another source names is not there for it."""

ROUNDING = 1 << 20
"""numactl rounds down to whole MiB."""

DeviceNames = Mapping[tuple[str, str], str]
"""(source, device id in it) -> the id of the combined device."""


class CombinedNodes(msgspec.Struct, frozen=True):
    nodes: tuple[NumaNode, ...]
    disagreements: tuple[Disagreement, ...]
    assumed: tuple[str, ...]


def combine_nodes(sources: Sequence[Source], names: DeviceNames, with_cpus: Set[int]) -> CombinedNodes:
    """`sources` in the order in which they are believed; NUMA nodes with CPUs are there, whoever tells of them."""
    speaking = [source for source in sources if source.machine.numa_nodes]
    if not speaking:
        return CombinedNodes((), (), ())
    complete = next((source for source in speaking if source.kind in _COMPLETE and source.machine.cpus), None)
    order = [node.id for source in ([complete] if complete else speaking) for node in source.machine.numa_nodes]
    ids = list(dict.fromkeys([*order, *sorted(with_cpus)]))
    disagreements = _missing(complete, set(ids), speaking) if complete else []
    said: dict[int, list[tuple[Source, NumaNode]]] = {id: [] for id in ids}
    for source in speaking:
        for node in source.machine.numa_nodes:
            said.get(node.id, []).append((source, node))
    # a source that gives no NUMA node any memory does not know about memory
    weighing = [source.name for source in speaking if any(node.memory for node in source.machine.numa_nodes)]
    nodes = [_combined(id, said[id], names, len(ids), weighing, disagreements) for id in ids]
    assumed = [name for name in ("memory", "hugepages") if all(name in source.machine.assumed for source in speaking)]
    measuring = [source for source in speaking if any(node.distances for node in source.machine.numa_nodes)]
    if measuring and not any(_states(source, "distances") for source in measuring):
        assumed.append("distances")
    # the order of one list stays, that of several is made anew
    return CombinedNodes(
        tuple(nodes) if len(nodes) == len((complete or speaking[0]).machine.numa_nodes) else in_kubelet_order(nodes),
        tuple(disagreements),
        tuple(assumed),
    )


def _missing(complete: Source, known: Set[int], speaking: Sequence[Source]) -> list[Disagreement]:
    found: dict[int, list[str]] = {}
    for source in speaking:
        for node in source.machine.numa_nodes:
            if node.id not in known:
                found.setdefault(node.id, []).append(source.name)
    return [
        Disagreement(
            f"NUMA node {id}",
            ((complete.name, "it is not there"), *((name, "it is there") for name in names)),
            "it is not there",
            reason(complete),
        )
        for id, names in sorted(found.items())
    ]


def _combined(
    id: int,
    said: Sequence[tuple[Source, NumaNode]],
    names: DeviceNames,
    count: int,
    weighing: Sequence[str],
    disagreements: list[Disagreement],
) -> NumaNode:
    memory = [
        (source, node.memory)
        for source, node in said
        if source.name in weighing and _states(source, "memory") and (node.memory or source.kind in _COMPLETE)
    ]
    pages = [(source, node.hugepages) for source, node in said if node.hugepages and _states(source, "hugepages")]
    guessed = [node.distances for _, node in said if node.distances and len(node.distances) == count]
    rows = [
        (source, node.distances)
        for source, node in said
        if node.distances and len(node.distances) == count and _states(source, "distances")
    ]
    owners = [names.get((source.name, node.device), node.device) for source, node in said if node.device]
    if memory:
        disagreements += compared(f"memory of NUMA node {id}", memory, close, amount_text)
    if pages:
        disagreements += compared(f"huge pages of NUMA node {id}", pages, _same_pages, _pages_text)
    if rows:
        what = f"distances of NUMA node {id}"
        disagreements += compared(what, rows, tuple.__eq__, lambda row: " ".join(map(str, row)))
    stand_in = next((node.memory for _, node in said if node.memory), 0)
    return NumaNode(
        id=id,
        memory=memory[0][1] if memory else stand_in,
        hugepages=pages[0][1] if pages else next((node.hugepages for _, node in said if node.hugepages), {}),
        distances=rows[0][1] if rows else next(iter(guessed), None),
        device=owners[0] if owners else "",
    )


def _states(source: Source, name: str) -> bool:
    return name not in source.machine.assumed


def close(one: int, other: int) -> bool:
    return abs(one - other) < ROUNDING


def _same_pages(one: Mapping[int, int], other: Mapping[int, int]) -> bool:
    return all(one[size] == other[size] for size in one.keys() & other.keys())


def _pages_text(pages: Mapping[int, int]) -> str:
    return ", ".join(f"{count} of {amount_text(size)}" for size, count in pages.items())
