"""How busy this machine is at a moment, whoever claimed what: CPUs, memory, huge pages and GPUs.

The kernel counts the time of each CPU since it started, so a meter remembers what it read last; its first answer knows
nothing of the CPUs.
"""

import re
from collections.abc import Callable, Mapping

import msgspec

from numafit.errors import InputError
from numafit.host.gpu.busy import GpuBusy, gpus_busy
from numafit.host.usage import read_nodes
from numafit.machine.model import Machine
from numafit.machine.read.sysfs.tree import Tree, live_tree

STAT = "proc/stat"
COUNTED = 8
"""Columns of a CPU's line; those behind them are parts of the first two."""
IDLE, WAITS = 3, 4

_CPU = re.compile(r"^cpu(\d{1,5})((?: \d{1,20}){4,})", re.M)
_TOTAL = re.compile(r"MemTotal: *(\d{1,18}) kB")

Times = tuple[int, int]
"""Ticks that a CPU was busy, and all of them."""


class HugepagesUse(msgspec.Struct, frozen=True):
    """Bytes that are set aside for pages of one size, and those of them that nobody uses."""

    total: int
    free: int


class MemoryUse(msgspec.Struct, frozen=True):
    """Bytes of one NUMA node."""

    total: int
    free: int
    """Nobody uses them."""
    cache: int
    """Files and what the kernel gives up when somebody needs it."""
    hugepages: Mapping[int, HugepagesUse] = {}
    """Page size in bytes -> what is set aside for it: no part of what is free."""

    @property
    def used(self) -> int:
        """By programs and the kernel, in ordinary pages."""
        return max(0, self.total - self.free - self.cache - sum(pages.total for pages in self.hugepages.values()))


class MachineUse(msgspec.Struct, frozen=True):
    cpus: Mapping[int, float] = {}
    """CPU -> part of the time since the reading before in which it ran something, 0 to 1."""
    nodes: Mapping[int, MemoryUse] = {}
    gpus: Mapping[str, GpuBusy] = {}
    """By the id of the device."""


class Meter:
    """`gpus` asks the driver; it is not asked on a machine without its GPUs."""

    def __init__(
        self, machine: Machine, tree: Tree | None = None, gpus: Callable[[], Mapping[str, GpuBusy]] = gpus_busy
    ) -> None:
        self.tree = tree or live_tree()
        self.nodes = [node.id for node in machine.numa_nodes if node.memory]
        self.devices = {name: gpu.id for gpu in machine.devices if gpu.kind == "gpu" for name in (gpu.id, gpu.bus)}
        self.ask_gpus = gpus if any(gpu.resource == "nvidia.com/gpu" for gpu in machine.devices) else dict
        self.before: Mapping[int, Times] = {}

    def read(self) -> MachineUse:
        times = cpu_times(self.tree.text(STAT) or "")
        before, self.before = self.before, times
        return MachineUse(loads(before, times), self._memory(), self._gpus())

    def _memory(self) -> dict[int, MemoryUse]:
        texts: dict[str, str | None] = {}

        def text_of(path: str) -> str | None:
            texts[path] = self.tree.text(path)
            return texts[path]

        found = {}
        for node, usage in read_nodes(self.nodes, text_of).items():
            path = next(path for path in texts if len(self.nodes) == 1 or f"/node{node}/" in path)
            total = _TOTAL.search(texts[path] or "")
            if total:
                huge = self._hugepages(node)
                found[node] = MemoryUse(int(total[1]) << 10, usage.free, usage.cache, huge)
        return found

    def _hugepages(self, node: int) -> dict[int, HugepagesUse]:
        folder = f"sys/devices/system/node/node{node}/hugepages"
        found = {}
        for name in self.tree.names(folder):
            size = re.fullmatch(r"hugepages-(\d{1,12})kB", name)
            total, free = (self._count(f"{folder}/{name}/{which}_hugepages") for which in ("nr", "free"))
            if size and total:
                bytes_each = int(size[1]) << 10
                found[bytes_each] = HugepagesUse(total * bytes_each, min(free, total) * bytes_each)
        return dict(sorted(found.items()))

    def _count(self, path: str) -> int:
        text = (self.tree.text(path) or "").strip()
        return int(text) if re.fullmatch(r"\d{1,15}", text) else 0

    def _gpus(self) -> dict[str, GpuBusy]:
        try:
            found = self.ask_gpus()
        except InputError:
            return {}
        return {self.devices[name]: busy for name, busy in found.items() if name in self.devices}


def cpu_times(text: str) -> dict[int, Times]:
    found = {}
    for number, rest in _CPU.findall(text):
        columns = [int(column) for column in rest.split()[:COUNTED]]
        total = sum(columns)
        found[int(number)] = total - columns[IDLE] - sum(columns[WAITS : WAITS + 1]), total
    return found


def loads(before: Mapping[int, Times], after: Mapping[int, Times]) -> dict[int, float]:
    """Of the CPUs in both. One that slept all the time may have counted nothing; idle time of some goes backwards."""
    found = {}
    for cpu in sorted(before.keys() & after.keys()):
        busy, total = (new - old for new, old in zip(after[cpu], before[cpu], strict=True))
        found[cpu] = min(1.0, max(0.0, busy / total)) if total > 0 else 0.0
    return found
