"""The definition of a virtual machine: NUMA nodes, processors and PCI devices, and QEMU's words for them."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

LOCAL = 10
REMOTE = 20
"""The kernel's distances where nothing else is said."""

FIRST_BUS = 16
BUSES_PER_NODE = 16
PORTS_PER_BUS = BUSES_PER_NODE - 1


class Node(NamedTuple):
    cpus: int
    """0: a NUMA node with memory only."""
    memory: int
    """MiB."""


class Pci(NamedTuple):
    node: int
    model: str = "edu"
    """QEMU's name of it; `edu` does nothing and stands in for an accelerator."""


class Shape(NamedTuple):
    """CPUs are numbered through: node after node, socket after socket, the threads of a core side by side."""

    nodes: tuple[Node, ...]
    sockets: int = 1
    dies: int = 1
    """Per socket."""
    threads: int = 1
    """Per core."""
    distances: tuple[tuple[int, ...], ...] = ()
    """One row per node; none for 10 and 20."""
    devices: tuple[Pci, ...] = ()
    cgroup: Literal[1, 2] = 2
    init: Literal["jobs", "systemd"] = "jobs"
    """The first process: one that only runs the jobs, or systemd, which takes cgroups of version 2 only."""

    @property
    def cpus(self) -> int:
        return sum(node.cpus for node in self.nodes)

    @property
    def memory(self) -> int:
        return sum(node.memory for node in self.nodes)

    def cpus_of(self, node: int) -> range:
        first = sum(before.cpus for before in self.nodes[:node])
        return range(first, first + self.nodes[node].cpus)

    def socket_of(self, cpu: int) -> int:
        return cpu * self.sockets // self.cpus

    def row(self, node: int) -> tuple[int, ...]:
        """The distances from one node to each."""
        if self.distances:
            return self.distances[node]
        return tuple(LOCAL if other == node else REMOTE for other in range(len(self.nodes)))

    def addresses(self) -> Iterator[tuple[str, int]]:
        """PCI address and NUMA node of each device, in the order of `devices`."""
        for device, (bus, port) in zip(self.devices, self._places(), strict=True):
            yield f"0000:{bus + 1 + port:02x}:00.0", device.node

    def arguments(self) -> list[str]:
        """For QEMU: processors, memory, NUMA nodes and devices."""
        cores, rest = divmod(self.cpus, self.sockets * self.dies * self.threads)
        if rest or not cores:
            raise ValueError(f"{self.cpus} CPUs do not make {self.sockets} x {self.dies} x {self.threads} equal parts")
        parts = f"sockets={self.sockets},dies={self.dies},cores={cores},threads={self.threads}"
        words = ["-m", f"{self.memory}M", "-smp", f"{self.cpus},{parts}"]
        if self.init == "systemd":
            # The guest's first lines read it as the product's family.
            words += ["-smbios", "type=1,family=systemd"]
        for number, node in enumerate(self.nodes):
            cpus = self.cpus_of(number)
            place = f",cpus={cpus[0]}-{cpus[-1]}" if cpus else ""
            words += ["-object", f"memory-backend-ram,size={node.memory}M,id=memory{number}"]
            words += ["-numa", f"node,nodeid={number}{place},memdev=memory{number}"]
        for source in range(len(self.nodes)):
            for target, distance in enumerate(self.row(source)):
                if source != target:
                    words += ["-numa", f"dist,src={source},dst={target},val={distance}"]
        return words + self._device_arguments()

    def _device_arguments(self) -> list[str]:
        """A device has its NUMA node from the host bridge above it, and its address from a port of its own."""
        words: list[str] = []
        for chassis, (device, (bus, port)) in enumerate(zip(self.devices, self._places(), strict=True), 1):
            if port == 0:
                words += ["-device", f"pxb-pcie,id=bridge{bus},bus_nr={bus},numa_node={device.node},bus=pcie.0"]
            place = f"bus=bridge{bus},addr={port},chassis={chassis},slot={chassis}"
            words += ["-device", f"pcie-root-port,id=port{chassis},{place}"]
            words += ["-device", f"{device.model},bus=port{chassis}"]
        return words

    def _places(self) -> Iterator[tuple[int, int]]:
        """The bus of the host bridge and the port below it, per device."""
        used = dict.fromkeys(range(len(self.nodes)), 0)
        for device in self.devices:
            if used[device.node] == PORTS_PER_BUS:
                raise ValueError(f"NUMA node {device.node} has more than {PORTS_PER_BUS} devices")
            yield FIRST_BUS + BUSES_PER_NODE * device.node, used[device.node]
            used[device.node] += 1
