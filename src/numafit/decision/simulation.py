"""Pods on a node, one after the other: what each decision was, and how the node stood after it."""

from collections.abc import Mapping, Sequence

import msgspec

from numafit.decision.decision import Decision
from numafit.decision.fit import decide
from numafit.decision.life import start_containers
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.managers.ask import MEMORY
from numafit.quantity import Quantity
from numafit.workload.pod import Container, Pod


class Step(msgspec.Struct, frozen=True):
    decision: Decision
    ledger: Ledger
    """After the decision, and after the containers of an admitted pod have started."""


class Simulation(msgspec.Struct, frozen=True):
    node: Node
    before: Ledger
    steps: tuple[Step, ...]

    @property
    def after(self) -> Ledger:
        return self.steps[-1].ledger if self.steps else self.before


def play(node: Node, ledger: Ledger, pods: Sequence[Pod], allocatable: Mapping[str, Quantity]) -> Simulation:
    """Ends early where the kubelet would crash."""
    before = ledger
    steps = []
    for pod in pods:
        decision = decide(node, ledger, pod, allocatable)
        ledger = decision.ledger
        if decision.admitted:
            ledger = start_containers(node, ledger, pod.uid)
        steps.append(Step(decision, ledger))
        if decision.panic:
            break
    return Simulation(node, before, tuple(steps))


def restored_pods(ledger: Ledger) -> dict[str, Pod]:
    """The pods that state files tell of, as far as they do: what a container holds stands for what it asked for."""
    holders: dict[str, dict[str, dict[str, int]]] = {}

    def holds(uid: str, container: str, resource: str, amount: int) -> None:
        own = holders.setdefault(uid, {}).setdefault(container, {})
        own[resource] = own.get(resource, 0) + amount

    for uid, containers in ledger.cpu.entries.items():
        for container, cpus in containers.items():
            holds(uid, container, "cpu", cpus.bit_count())
    for uid, blocks_of in ledger.memory.entries.items():
        for container, blocks in blocks_of.items():
            holds(uid, container, MEMORY, 0)
            for block in blocks:
                holds(uid, container, block.type, block.size)
    for uid, devices_of in ledger.device.held.items():
        for container, resources in devices_of.items():
            for resource, held in resources.items():
                holds(uid, container, resource, len(held.ids))
    return {uid: _holder(uid, containers) for uid, containers in sorted(holders.items())}


def _holder(uid: str, containers: Mapping[str, Mapping[str, int]]) -> Pod:
    made = []
    for name, held in sorted(containers.items()):
        amounts = {resource: Quantity(amount) for resource, amount in held.items()}
        made.append(Container(name, amounts, amounts))
    return Pod(uid, uid, tuple(made))
