"""Made-up machines, kubelets and pods for the benchmarks; the first three machines are those of the kubelet's rows."""

from collections.abc import Mapping
from typing import NamedTuple

from numafit.decision.node import Node
from numafit.decision.start import Start, start
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.quantity import parse_quantity
from numafit.settings.gates import default_gates
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.versions import KubeVersion
from numafit.workload.pod import Container, Pod

VERSION = KubeVersion(1, 36, 4)
GI = 1 << 30
GPU = "example.com/gpu"
NIC = "example.com/nic"
FPGA = "example.com/fpga"


class Shape(NamedTuple):
    nodes: int
    cpus: int
    sockets: int = 2
    threads: int = 2
    cpu_nodes: int = 0
    """NUMA nodes with CPUs, the first ones; 0: all."""
    devices: Mapping[str, int] = {GPU: 4}
    """Resource -> devices per NUMA node with CPUs."""
    memory: int = 64 * GI
    """Bytes per NUMA node with CPUs; other nodes have none."""


TWO = Shape(2, 128)
FOUR = Shape(4, 128)
EIGHT = Shape(8, 256)
FIVE_RESOURCES = {GPU: 4, NIC: 4, FPGA: 4}
GB200 = Shape(34, 144, threads=1, cpu_nodes=2, devices={GPU: 2, NIC: 2, FPGA: 2}, memory=480 * GI)
"""Two processors with memory, and 32 nodes that the memory of accelerators may take."""


def machine_of(shape: Shape) -> Machine:
    """CPU numbers go over all first threads, then over all second ones, as Linux gives them on most servers."""
    with_cpus = shape.cpu_nodes or shape.nodes
    cores = shape.cpus // shape.threads
    per_node = cores // with_cpus
    cpus = tuple(
        Cpu(
            id=thread * cores + core,
            core=core,
            socket=core // per_node * shape.sockets // with_cpus,
            numa=core // per_node,
        )
        for thread in range(shape.threads)
        for core in range(cores)
    )
    nodes = tuple(
        NumaNode(
            id=node,
            memory=shape.memory if node < with_cpus else 0,
            hugepages={2 << 20: 0, GI: 0},
            distances=tuple(_distance(shape, node, other) for other in range(shape.nodes)),
        )
        for node in range(shape.nodes)
    )
    devices = tuple(
        Device(resource, f"{resource.partition('/')[2]}-{node:02}-{i}", (node,))
        for resource, number in shape.devices.items()
        for node in range(with_cpus)
        for i in range(number)
    )
    return Machine(cpus=cpus, numa_nodes=nodes, devices=devices)


def _distance(shape: Shape, one: int, other: int) -> int:
    if one == other:
        return 10
    same_socket = one * shape.sockets // shape.nodes == other * shape.sockets // shape.nodes
    return 12 if same_socket else 32


def settings_of(shape: Shape, policy: str, **given: Mapping[str, str]) -> Settings:
    topology_options = dict(given.get("topology_options", {}))
    if shape.nodes > 8:
        topology_options["max-allowable-numa-nodes"] = str(shape.nodes)
    reserved = parse_quantity("1Gi")
    return Settings(
        version=VERSION,
        cpu_policy="static",
        cpu_options=given.get("cpu_options", {}),
        memory_policy="Static",
        reserved_memory=(ReservedMemory(0, {"memory": reserved}),),
        topology_policy=policy,
        topology_options=topology_options,
        gates={**default_gates(VERSION), "CPUManagerPolicyAlphaOptions": True},
        reservation={"cpu": parse_quantity("2"), "memory": reserved},
    )


def started(shape: Shape, policy: str, **given: Mapping[str, str]) -> tuple[Node, Ledger]:
    """A node with nobody on it and all its devices registered."""
    known = start(Start(machine=machine_of(shape), settings=settings_of(shape, policy, **given)))
    return known.node, known.ledger


def guaranteed(uid: str, cpus: int, memory: str, devices: Mapping[str, int] | None = None) -> Pod:
    amounts = {"cpu": parse_quantity(str(cpus)), "memory": parse_quantity(memory)}
    amounts |= {name: parse_quantity(str(number)) for name, number in (devices or {}).items()}
    return Pod(uid, f"pod-{uid}", (Container("app", amounts, amounts),))


def burstable(uid: str) -> Pod:
    return Pod(uid, f"pod-{uid}", (Container("app", {"cpu": parse_quantity("500m")}, {}),))
