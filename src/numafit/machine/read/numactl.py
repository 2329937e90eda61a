"""Reads what `numactl --hardware` prints: NUMA nodes with their CPUs, memory and distances.

It tells nothing of cores, sockets and caches: each CPU stands in as a core of its own and each NUMA node as a socket.
Sizes are whole MiB, rounded down; where one is not available, `memory` is listed under `assumed`.
"""

import re

from numafit.errors import InputError
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.machine.order import cpus_in_kubelet_order, in_kubelet_order
from numafit.machine.read.text import LARGEST_AMOUNT, text_of, whole_number

_NODE_LINE = re.compile(r"node (\d{1,5}) (cpus|size|free):(.*)", re.ASCII)
_DISTANCE_HEAD = re.compile(r"node((?:\s+\d{1,5})+)", re.ASCII)
_DISTANCE_ROW = re.compile(r"(\d{1,5}):((?:\s+\d{1,5})*)", re.ASCII)
_LARGEST_MIB = LARGEST_AMOUNT >> 20

ASSUMED = ("core", "socket", "uncore_cache")


class _Numactl:
    def __init__(self, source: str) -> None:
        self.source = source
        self.cpus: dict[int, int] = {}
        self.nodes: dict[int, int] = {}
        """NUMA node id -> bytes."""
        self.sized: set[int] = set()
        self.columns: list[int] = []
        self.distances: dict[int, dict[int, int]] = {}

    def line(self, text: str, number: int) -> None:
        match = _NODE_LINE.fullmatch(text)
        if match is not None:
            node = int(match[1])
            self.nodes.setdefault(node, 0)
            if match[2] == "cpus":
                self._cpus(node, match[3], number)
            elif match[2] == "size":
                self._size(node, match[3], number)
            return
        match = _DISTANCE_HEAD.fullmatch(text)
        if match is not None:
            self.columns = [int(column) for column in match[1].split()]
            return
        match = _DISTANCE_ROW.fullmatch(text)
        if match is not None and self.columns:
            self._distances(int(match[1]), [int(value) for value in match[2].split()], number)

    def _cpus(self, node: int, text: str, number: int) -> None:
        if text.strip().startswith("<"):
            return  # `<cpumask not available>`
        for word in text.split():
            cpu = whole_number(word)
            if cpu is None:
                raise self._error(f'"{word[:40]}" is not a CPU number', number)
            if self.cpus.setdefault(cpu, node) != node:
                raise self._error(f"CPU {cpu} stands on the NUMA nodes {self.cpus[cpu]} and {node}", number)

    def _size(self, node: int, text: str, number: int) -> None:
        words = text.split()
        if text.strip().startswith("<"):
            return  # `<not available>`
        size = whole_number(words[0], _LARGEST_MIB) if words else None
        if size is None or words[1:] not in ([], ["MB"]):
            raise self._error(f'"{text.strip()[:40]}" is not a size in MB', number)
        self.nodes[node] = size << 20
        self.sized.add(node)

    def _distances(self, node: int, values: list[int], number: int) -> None:
        if len(values) != len(self.columns):
            raise self._error(f"{len(values)} distances for {len(self.columns)} NUMA nodes", number)
        self.distances[node] = dict(zip(self.columns, values, strict=True))

    def _error(self, message: str, number: int) -> InputError:
        cure = "paste the output of numactl --hardware unchanged"
        return InputError(message, source=self.source, line=number, cure=cure)

    def machine(self) -> Machine:
        ascending = sorted(self.nodes)
        known = set(ascending)
        cpus = (Cpu(id=cpu, core=cpu, socket=node, numa=node) for cpu, node in self.cpus.items())
        return Machine(
            cpus=tuple(cpus_in_kubelet_order(cpus)),
            numa_nodes=in_kubelet_order(
                NumaNode(id=node, memory=self.nodes[node], distances=self._row(node, ascending, known))
                for node in ascending
            ),
            assumed=(*(ASSUMED if self.cpus else ()), *(() if self.sized >= known else ("memory",))),
        )

    def _row(self, node: int, ascending: list[int], known: set[int]) -> tuple[int, ...] | None:
        """By ascending node id, as the kernel's own file has it; None unless the row is complete."""
        row = self.distances.get(node, {})
        return tuple(row[other] for other in ascending) if row.keys() == known else None


def read_numactl(data: str | bytes, source: str = "numactl --hardware") -> Machine:
    text = text_of(data, source)
    numactl = _Numactl(source)
    for number, line in enumerate(text.splitlines(), 1):
        numactl.line(line.strip(), number)
    if numactl.nodes:
        return numactl.machine()
    if "No NUMA" in text or "NUMA not available" in text:
        message = "numactl found no NUMA support on that system, so it knows nothing about it"
        raise InputError(message, source=source, cure="give the output of lscpu -p instead")
    message = 'no line such as "node 0 cpus: 0 1 2 3" in it'
    raise InputError(message, source=source, cure="paste the whole output of numactl --hardware")
