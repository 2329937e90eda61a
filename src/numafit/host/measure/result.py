"""What was measured: figures with their spread. Rates are bytes per second, times nanoseconds."""

from collections.abc import Sequence
from statistics import median

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """The median of several rounds, with the lowest and the highest of them."""

    middle: float
    low: float
    high: float
    rounds: int


def figure_of(samples: Sequence[float]) -> Figure | None:
    """None without any."""
    if not samples:
        return None
    return Figure(float(median(samples)), float(min(samples)), float(max(samples)), len(samples))


class NodePair(msgspec.Struct, frozen=True):
    """CPUs of one NUMA node, and memory of the same or another."""

    node: int
    memory: int
    bandwidth: Figure | None = None
    """Bytes read per second by all CPUs of the node that took part."""
    latency: Figure | None = None
    """Of one load that waits for the one before it, by one CPU."""


class CpuPair(msgspec.Struct, frozen=True):
    a: int
    b: int
    kind: str
    """One of CPU_PAIRS."""
    latency: float
    """One way, the shortest of several rounds."""


SIBLINGS, SAME_CACHE, SAME_NODE, SAME_SOCKET, OTHER_SOCKET = (
    "threads of one core",
    "same uncore cache",
    "same NUMA node",
    "same socket",
    "other socket",
)
CPU_PAIRS = (SIBLINGS, SAME_CACHE, SAME_NODE, SAME_SOCKET, OTHER_SOCKET)
"""What two CPUs have in common, the nearest first."""


class GpuCopy(msgspec.Struct, frozen=True):
    """Between pinned memory of a NUMA node and a GPU, by a CPU of that node where it has one."""

    gpu: str
    bus: str
    name: str
    node: int
    to_gpu: Figure | None = None
    from_gpu: Figure | None = None


class MeasuredNode(msgspec.Struct, frozen=True):
    id: int
    cpus: int
    """That took part, as a mask; 0: the node has none that may be used."""
    memory: int
    """Bytes that were read; 0: none could be had."""
    proof: str
    """How it is known that they lie there; empty where it is not, or nothing was read."""


class Measured(msgspec.Struct, frozen=True):
    at: str
    """UTC, RFC 3339."""
    machine: str
    """A digest of it, by which the file is found."""
    nodes: tuple[MeasuredNode, ...]
    pairs: tuple[NodePair, ...]
    cpus: tuple[CpuPair, ...] = ()
    gpus: tuple[GpuCopy, ...] = ()
    notes: tuple[str, ...] = ()
    """What is missing, and why; what may have disturbed it."""
    whole: bool = True
    """No: it was stopped before its end."""

    def pair(self, node: int, memory: int) -> NodePair:
        return next((one for one in self.pairs if (one.node, one.memory) == (node, memory)), NodePair(node, memory))

    @property
    def memories(self) -> list[int]:
        return [node.id for node in self.nodes if node.memory]

    @property
    def comparable(self) -> bool:
        """Whether there is near and far: another memory, or other CPUs."""
        return len(self.memories) > 1 or len(self.callers) > 1

    @property
    def callers(self) -> list[int]:
        """The nodes whose CPUs took part."""
        return [node.id for node in self.nodes if node.cpus]
