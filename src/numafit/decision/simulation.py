"""Pods on a node, one after the other: what each decision was, and how the node stood after it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from numafit.decision.decide import decide
from numafit.decision.decision import Decision
from numafit.decision.life import reconcile, release, restart, start_containers
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.managers.ask import MEMORY
from numafit.quantity import Quantity
from numafit.workload.pod import Container, Pod


class Event(msgspec.Struct, frozen=True):
    """Something that happens on the node. `pod` is the one that comes or goes."""

    kind: Literal["add", "remove", "reconcile", "restart"]
    pod: Pod | None = None


class Step(msgspec.Struct, frozen=True):
    decision: Decision
    ledger: Ledger
    """After the decision, and after the containers of an admitted pod have started."""


class Simulation(msgspec.Struct, frozen=True):
    node: Node
    before: Ledger
    steps: tuple[Step, ...]
    after: Ledger


def play(node: Node, ledger: Ledger, pods: Sequence[Pod], allocatable: Mapping[str, Quantity]) -> Simulation:
    """Ends early where the kubelet would panic."""
    return play_events(node, ledger, [Event("add", pod) for pod in pods], allocatable)


def play_events(node: Node, ledger: Ledger, events: Iterable[Event], allocatable: Mapping[str, Quantity]) -> Simulation:
    """A restart admits every pod again, each with a decision of its own."""
    before = ledger
    steps: list[Step] = []
    for event in events:
        if event.kind == "reconcile":
            ledger = reconcile(node, ledger)
        elif event.kind == "restart":
            restarted = restart(node, ledger, node.machine.devices, plugins_first=True)
            ledger = restarted.ledger
            steps += [Step(decision, ledger) for decision in restarted.readmitted]
        elif event.pod is not None and event.kind == "remove":
            ledger = release(ledger, event.pod.uid)
        elif event.pod is not None:
            decision = decide(node, ledger, event.pod, allocatable)
            ledger = decision.ledger
            if decision.admitted:
                ledger = start_containers(node, ledger, event.pod.uid)
            steps.append(Step(decision, ledger))
        if steps and steps[-1].decision.panic:
            break
    return Simulation(node, before, tuple(steps), ledger)


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
