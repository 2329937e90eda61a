"""How busy the machine was in the last ten minutes: a point every few seconds."""

from collections import deque
from collections.abc import Iterable, Mapping

import msgspec

from numafit.amounts import amount_text
from numafit.host.gpu.busy import GpuBusy
from numafit.host.meter import MachineUse, MemoryUse
from numafit.machine.model import Machine
from numafit.show.records.node import NodeKind
from numafit.show.records.use import ByteLine, DeviceUse, HugepagesUsed, NodeUse, UseAnswer

USE_SECONDS = 5.0
"""Between two points."""
MOST_USES = 120
NOT_HERE: Mapping[NodeKind, str] = {
    "live": "Only claims are known.",
    "demo": "This is a simulation: nothing runs on it.",
    "kubelet": "Only claims are known: state files do not tell how busy the machine is.",
    "cluster": "Only claims are known: the cluster does not tell how busy the machine is.",
}
WAITING = "The agent has just started: the first numbers come in a few seconds."


class UsePoint(msgspec.Struct, frozen=True):
    time: str
    use: MachineUse


class LastMinutes:
    """`why` nothing is known; empty for a machine whose use is read."""

    def __init__(self, machine: Machine, why: str = "") -> None:
        self.why = why
        self.points: deque[UsePoint] = deque(maxlen=MOST_USES)
        self.cpus = {cpu.id: cpu.numa for cpu in machine.cpus}

    def add(self, use: MachineUse, time: str) -> None:
        """The first reading knows nothing of the CPUs: it is the start of what the next one tells."""
        if use.cpus:
            self.points.append(UsePoint(time, use))

    def answer(self) -> UseAnswer:
        if not self.points:
            return UseAnswer(False, self.why or WAITING, 0.0 if self.why else USE_SECONDS, (), {}, (), ())
        last = self.points[-1].use
        return UseAnswer(
            True,
            "",
            USE_SECONDS,
            tuple(point.time for point in self.points),
            {cpu: round(load, 3) for cpu, load in last.cpus.items() if cpu in self.cpus},
            tuple(self._node(node, last) for node in sorted({*last.nodes, *self.cpus.values()})),
            tuple(self._device(device) for device in sorted(last.gpus)),
        )

    def _node(self, node: int, last: MachineUse) -> NodeUse:
        memory = last.nodes.get(node)
        uses = [point.use for point in self.points]
        past = [use.nodes.get(node) for use in uses]
        return NodeUse(
            node,
            tuple(self._busy(use, node) for use in uses),
            tuple(each.used if each else None for each in past),
            tuple(each.cache if each else None for each in past),
            tuple(each.free if each else None for each in past),
            *((memory.total, memory.used, memory.cache, memory.free) if memory else (0, 0, 0, 0)),
            {
                amount_text(size): HugepagesUsed(pages.total, pages.free, _pages_used(past, size))
                for size, pages in (memory.hugepages if memory else {}).items()
            },
        )

    def _busy(self, use: MachineUse, node: int) -> float | None:
        loads = [load for cpu, load in use.cpus.items() if self.cpus.get(cpu) == node]
        return round(sum(loads), 2) if loads else None

    def _device(self, device: str) -> DeviceUse:
        found = [point.use.gpus.get(device, GpuBusy()) for point in self.points]
        return DeviceUse(device, tuple(one.busy for one in found), tuple(one.memory for one in found), found[-1].total)


def _pages_used(past: Iterable[MemoryUse | None], size: int) -> ByteLine:
    pools = [each.hugepages.get(size) if each else None for each in past]
    return tuple(pool.total - pool.free if pool else None for pool in pools)
