"""Machines with devices and links, for the tests of the drawings."""

from hypothesis import settings

from numafit.bits import mask_of
from numafit.machine.model import Cache, Cpu, Device, Link, Machine, NumaNode

few = settings(max_examples=max(settings().max_examples // 5, 1))
"""Random machines with every field take a while to make."""


def gpu(number: int, node: int, *, name: str = "", switch: str = "") -> Device:
    return Device(
        "nvidia.com/gpu", f"gpu-{number}", (node,), kind="gpu", label=f"GPU{number}", name=name, switch=switch
    )


def pairs_box(per_node: int = 4, nodes: int = 2) -> Machine:
    """GPUs in pairs on switches: PIX in a pair, NODE in a NUMA node, SYS across."""
    number = per_node * nodes
    gpus = tuple(gpu(i, i // per_node) for i in range(number))
    links = tuple(
        Link(gpus[a].id, gpus[b].id, _kind(a, b, per_node)) for a in range(number) for b in range(a + 1, number)
    )
    cpus = tuple(Cpu(i, i, i, i) for i in range(nodes))
    return Machine(cpus, tuple(NumaNode(i, 1 << 30) for i in range(nodes)), gpus, links, name="pairs")


def _kind(a: int, b: int, per_node: int) -> str:
    if a // per_node != b // per_node:
        return "SYS"
    return "PIX" if a % per_node // 2 == b % per_node // 2 else "NODE"


def linked(gpus: list[Device], kinds: dict[tuple[int, int], str], default: str = "SYS") -> Machine:
    links = tuple(
        Link(gpus[a].id, gpus[b].id, kinds.get((a, b), default))
        for a in range(len(gpus))
        for b in range(a + 1, len(gpus))
    )
    return Machine(devices=tuple(gpus), links=links)


def large(sockets: int = 4, cores: int = 512, group: int = 8) -> Machine:
    """One NUMA node per socket, two threads per core, an uncore cache for each `group` of cores."""
    per_socket = cores // sockets
    cpus = tuple(
        Cpu(core + thread * cores, core % per_socket, core // per_socket, core // per_socket, core // group)
        for thread in range(2)
        for core in range(cores)
    )
    caches = tuple(
        Cache(3, "unified", 32 << 20, mask_of(c + t * cores for c in range(i, i + group) for t in range(2)), i // group)
        for i in range(0, cores, group)
    )
    nodes = tuple(NumaNode(i, 2 << 40) for i in range(sockets))
    return Machine(cpus, nodes, caches=caches, name="large")
