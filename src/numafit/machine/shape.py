"""A regular machine, by its numbers: what a sketch and most machines of the catalogue come down to."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import msgspec

from numafit.bits import mask_of
from numafit.machine.model import GPU_RESOURCE, Cache, Cpu, Device, Link, Machine, NumaNode
from numafit.machine.order import ORDERS, in_kubelet_order
from numafit.machine.uncore import with_uncore_caches

LOCAL, REMOTE = 10, 20
"""What Linux says when the firmware gives no distances."""


class DevicePlace(msgspec.Struct, frozen=True):
    """A device by kind and number; `numa` None when it is not known."""

    kind: str
    number: int
    numa: int | None

    @property
    def label(self) -> str:
        return f"{self.kind.upper()}{self.number}"


class Shape(msgspec.Struct, frozen=True):
    """Each level counts within the one above: sockets, NUMA nodes, cores, threads."""

    sockets: int = 1
    numa: int = 1
    cores: int = 1
    threads: int = 1
    numa_first: bool = False
    """NUMA nodes stand above sockets."""
    near: bool = False
    """Siblings have neighbouring ids; else n and n + the number of cores."""
    memory: tuple[int, ...] = ()
    """Of each NUMA node with CPUs; empty for none."""
    more_nodes: tuple[int, ...] = ()
    """Memory of NUMA nodes without CPUs, which follow the others."""
    hugepages: dict[int, int] = {}
    l3_cores: int = 0
    """How many cores share a last-level cache; 0 when it is not known."""
    l3_size: int = 0
    distances: tuple[int, ...] = (LOCAL, REMOTE, REMOTE)
    """A NUMA node to itself, to another one of its socket, to the rest; empty when they are not known."""
    devices: tuple[DevicePlace, ...] = ()
    links: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Kind and GPU numbers: these GPUs reach each other so. The first that names a pair counts."""

    @property
    def cpu_nodes(self) -> int:
        """NUMA nodes with CPUs."""
        return self.numa if self.numa_first else self.sockets * self.numa

    @property
    def node_cores(self) -> int:
        """Cores of a NUMA node."""
        return self.cores * (self.sockets if self.numa_first else 1)

    @property
    def all_cores(self) -> int:
        return self.sockets * self.numa * self.cores


def machine_of_shape(shape: Shape, *, name: str = "", model: str = "") -> Machine:
    nodes = in_kubelet_order(_nodes(shape))
    caches = _caches(shape)
    return Machine(
        cpus=tuple(ORDERS["folders"](with_uncore_caches(_cpus(shape), caches), nodes)),
        numa_nodes=nodes,
        devices=tuple(_device(place) for place in shape.devices),
        links=_links(shape),
        sockets=_sockets(shape),
        caches=caches,
        name=name,
        model=model,
    )


def _sockets(shape: Shape) -> int:
    return shape.sockets * (shape.numa if shape.numa_first else 1)


def _node_of(shape: Shape, core: int) -> int:
    return core // shape.node_cores if shape.numa_first else core // shape.cores


def _socket_of(shape: Shape, core: int) -> int:
    return core // shape.cores if shape.numa_first else core // (shape.numa * shape.cores)


def _cpu_ids(shape: Shape, core: int) -> Iterable[int]:
    if shape.near:
        return range(core * shape.threads, (core + 1) * shape.threads)
    return range(core, shape.all_cores * shape.threads, shape.all_cores)


def _cpus(shape: Shape) -> list[Cpu]:
    per_socket = shape.all_cores // _sockets(shape)
    return [
        Cpu(
            id=id,
            core=core % per_socket,
            socket=_socket_of(shape, core),
            numa=_node_of(shape, core),
        )
        for core in range(shape.all_cores)
        for id in _cpu_ids(shape, core)
    ]


def _caches(shape: Shape) -> tuple[Cache, ...]:
    if not shape.l3_cores:
        return ()
    return tuple(
        Cache(
            3, "unified", shape.l3_size, _cpus_of(shape, range(first, first + shape.l3_cores)), first // shape.l3_cores
        )
        for first in range(0, shape.all_cores, shape.l3_cores)
    )


def _cpus_of(shape: Shape, cores: Iterable[int]) -> int:
    return mask_of(id for core in cores for id in _cpu_ids(shape, core))


def _nodes(shape: Shape) -> list[NumaNode]:
    count = shape.cpu_nodes
    sockets: list[int | None] = [None if shape.numa_first else node // shape.numa for node in range(count)]
    sockets += [None] * len(shape.more_nodes)
    memory = [*(shape.memory or (0,) * count), *shape.more_nodes]
    return [
        NumaNode(
            id=node,
            memory=memory[node],
            hugepages=shape.hugepages if node < count else {},
            distances=_row(shape, sockets, node) if shape.distances else None,
        )
        for node in range(len(memory))
    ]


def _row(shape: Shape, sockets: Sequence[int | None], node: int) -> tuple[int, ...]:
    own, near, far = shape.distances
    row = [near if socket is not None and socket == sockets[node] else far for socket in sockets]
    row[node] = own
    return tuple(row)


def _device(place: DevicePlace) -> Device:
    return Device(
        resource=GPU_RESOURCE if place.kind == "gpu" else "",
        id=place.label,
        numa=None if place.numa is None else (place.numa,),
        kind=place.kind,
        label=place.label,
    )


def _links(shape: Shape) -> tuple[Link, ...]:
    """Of each pair of GPUs about which something is known."""
    links = []
    for a, b in combinations([place for place in shape.devices if place.kind == "gpu"], 2):
        kind = next((kind for kind, numbers in shape.links if a.number in numbers and b.number in numbers), "")
        if not kind and a.numa is not None and b.numa is not None:
            kind = "NODE" if a.numa == b.numa else "SYS"
        if kind:
            links.append(Link(a.label, b.label, kind))
    return tuple(links)
