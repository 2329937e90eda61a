"""How near to each other the CPUs, the memory and the devices are that pods were given."""

from collections.abc import Iterator

from numafit.decision.decision import Decision, Placement
from numafit.decision.node import Node
from numafit.fleet.simulation.outcome import Alignment
from numafit.machine.gpu_sets import GpuPairs, best_set, pairs_of

LOCAL, REMOTE = 10, 20
"""What Linux takes two NUMA nodes for whose distance the firmware does not tell."""


class AlignmentCounter:
    """Of all pods that were admitted; containers are looked at one by one, since each runs by itself."""

    def __init__(self) -> None:
        self._pairs: dict[str, GpuPairs] = {}
        self._best: dict[tuple[str, int], int] = {}
        self.cpus = self.cpus_together = 0
        self.memory = self.memory_near = 0
        self.devices = self.devices_near = 0
        self.distance = 0.0
        self.gpu_sets, self.quality = 0, 0.0

    def admitted(self, kind: str, node: Node, decision: Decision) -> None:
        """`kind`: of the node; what is computed for its machine is remembered by it."""
        for placement in decision.containers.values():
            numa = tuple(_cpu_nodes(node, placement))
            if numa:
                self.cpus += 1
                self.cpus_together += len(numa) == 1
                self._memory(placement, numa)
            self._devices(node, placement, numa)
            self._links(kind, node, placement)

    def _memory(self, placement: Placement, numa: tuple[int, ...]) -> None:
        nodes = {own for block in placement.memory or () for own in block.numa}
        if nodes:
            self.memory += 1
            self.memory_near += nodes <= {*numa}

    def _devices(self, node: Node, placement: Placement, numa: tuple[int, ...]) -> None:
        places = [own for held in placement.devices.values() for own in held.values() if own]
        if not places or not numa:
            return
        self.devices += 1
        self.devices_near += all({*own} & {*numa} for own in places)
        self.distance += sum(_nearest(node, numa, own) for own in places) / len(places)

    def _links(self, kind: str, node: Node, placement: Placement) -> None:
        held = {id for own in placement.devices.values() for id in own}
        if len(held) < 2:
            return
        if kind not in self._pairs:
            self._pairs[kind] = pairs_of(node.machine)
        pairs = self._pairs[kind]
        chosen = [place for place, gpu in enumerate(pairs.gpus) if gpu.id in held]
        if len(chosen) < 2:
            return
        best = self._best.get((kind, len(chosen)))
        if best is None:
            found = best_set(pairs, len(chosen))
            best = self._best[kind, len(chosen)] = found.score if found is not None else 0
        if best > 0:
            self.gpu_sets += 1
            self.quality += min(pairs.score(chosen) / best, 1.0)

    def found(self) -> Alignment:
        return Alignment(
            cpus=self.cpus,
            cpus_together=self.cpus_together,
            memory=self.memory,
            memory_near=self.memory_near,
            devices=self.devices,
            devices_near=self.devices_near,
            device_distance=self.distance / self.devices if self.devices else None,
            gpu_sets=self.gpu_sets,
            link_quality=self.quality / self.gpu_sets if self.gpu_sets else None,
        )


def _cpu_nodes(node: Node, placement: Placement) -> Iterator[int]:
    """NUMA nodes of its exclusive CPUs."""
    if placement.cpus:
        for numa, own in node.cpu.topology.numa_nodes.items():
            if own & placement.cpus:
                yield numa


def _nearest(node: Node, numa: tuple[int, ...], device: tuple[int, ...]) -> float:
    """The distance of the nearest pair; 10 is the same NUMA node."""
    known = {own.id: place for place, own in enumerate(node.machine.numa_nodes)}
    rows = {own.id: own.distances for own in node.machine.numa_nodes}
    found = []
    for a in numa:
        for b in device:
            row = rows.get(a)
            if row is not None and b in known and known[b] < len(row):
                found.append(row[known[b]])
            else:
                found.append(LOCAL if a == b else REMOTE)
    return float(min(found))
