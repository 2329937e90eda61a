"""Small fleets for tests: nodes of few kinds, and pods by chance."""

import random
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from numafit.decision.decide import decide
from numafit.decision.life import start_containers
from numafit.decision.node import Node
from numafit.decision.start import Start, start
from numafit.fleet.state import NodeState, state_of
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.gates import default_gates
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.versions import KubeVersion
from numafit.workload.pod import Container, Pod

GI = 1 << 30
GPU = "example.com/gpu"
ALLOCATABLE = {
    "cpu": parse_quantity("15"),
    "memory": parse_quantity("31Gi"),
    "pods": parse_quantity("12"),
}


def started(policy: str, scope: str = "container", gpus: int = 2, minor: int = 36) -> tuple[Node, Ledger]:
    """Two NUMA nodes with 8 CPUs, 16 GiB and `gpus` devices each."""
    cpus = tuple(Cpu(id=own, core=own // 2, socket=own // 8, numa=own // 8) for own in range(16))
    nodes = tuple(NumaNode(id=own, memory=16 * GI, distances=(10, 20) if own == 0 else (20, 10)) for own in (0, 1))
    devices = tuple(Device(GPU, f"gpu-{numa}-{own}", (numa,)) for numa in (0, 1) for own in range(gpus))
    version = KubeVersion(1, minor, 0)
    reserved = parse_quantity("1Gi")
    settings = Settings(
        version=version,
        cpu_policy="static",
        memory_policy="Static",
        reserved_memory=(ReservedMemory(0, {"memory": reserved}),),
        topology_policy=policy,
        topology_scope=scope,
        gates=default_gates(version),
        reservation={"cpu": parse_quantity("1"), "memory": reserved},
    )
    known = start(Start(machine=Machine(cpus=cpus, numa_nodes=nodes, devices=devices), settings=settings))
    return known.node, known.ledger


def pod(uid: str, cpus: str = "2", memory: str = "1Gi", gpus: int = 0, *, limits: bool = True) -> Pod:
    amounts = {"cpu": parse_quantity(cpus), "memory": parse_quantity(memory)}
    if gpus:
        amounts[GPU] = parse_quantity(str(gpus))
    return Pod(uid, f"pod-{uid}", (Container("app", amounts, amounts if limits else {}),))


def pod_by_chance(uid: str, chance: random.Random) -> Pod:
    kind = chance.random()
    if kind < 0.2:
        return pod(uid, "500m", "256Mi", limits=False)
    return pod(
        uid, str(chance.choice((1, 2, 3, 4, 6, 8, 9))), f"{chance.choice((1, 2, 6, 12))}Gi", chance.choice((0, 0, 1, 2))
    )


def admitted_all(
    node: Node, ledger: Ledger, pods: Sequence[Pod], allocatable: Mapping[str, Quantity] = ALLOCATABLE
) -> Ledger | None:
    """How the ledger stands after all of them, one after the other; None where one is refused."""
    for own in pods:
        decision = decide(node, ledger, own, allocatable, evicts=False)
        if not decision.admitted:
            return None
        ledger, _ = start_containers(node, decision.ledger, own.uid)
    return ledger


def state_by_chance(kind: str, node: Node, ledger: Ledger, chance: random.Random, prefix: str) -> NodeState:
    """After some pods that came, and some that went again."""
    for number in range(chance.randrange(8)):
        decision = decide(node, ledger, pod_by_chance(f"{prefix}-{number}", chance), ALLOCATABLE)
        ledger = decision.ledger
        if decision.admitted:
            ledger, _ = start_containers(node, ledger, decision.pod.uid)
    gone = [uid for uid in ledger.active if chance.random() < 0.3]
    active = {uid: own for uid, own in ledger.active.items() if uid not in gone}
    return state_of(kind, node, replace(ledger, active=active), ALLOCATABLE)
