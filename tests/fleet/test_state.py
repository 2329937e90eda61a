"""Nodes with one key are one node for a pod that they do not know, whatever happened to them."""

import random

import pytest
from msgspec.structs import replace

from numafit.decision.decide import decide
from numafit.decision.life import start_containers
from numafit.decision.node import Node
from numafit.fleet.fleet import Fleet
from numafit.fleet.places import places
from numafit.fleet.state import NodeState, state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.ledger.ledger import Ledger
from numafit.quantity import Quantity, parse_quantity
from numafit.workload.demands import Demands, HostPort
from numafit.workload.pod import Container, Pod, PodResources
from tests.fleet.fleets import ALLOCATABLE, GPU, admitted_all, pod, pod_by_chance, started


def amounts(cpu: int, memory: str, gpus: int = 0) -> dict[str, Quantity]:
    found = {"cpu": str(cpu), "memory": memory} | ({GPU: str(gpus)} if gpus else {})
    return {name: parse_quantity(text) for name, text in found.items()}


def any_pod(uid: str, chance: random.Random) -> Pod:
    """Of few shapes, so that different histories lead to equal states."""
    own = pod_by_chance(uid, chance) if chance.random() < 0.3 else pod(uid, chance.choice(("2", "4")), "2Gi")
    if chance.random() < 0.3:
        wanted = amounts(2, "2Gi", chance.choice((0, 1)))
        own = replace(own, init_containers=(Container("init", wanted, wanted),))
    if chance.random() < 0.2:
        own = replace(own, demands=Demands(ports=(HostPort(chance.choice((80, 81))),)))
    if chance.random() < 0.2:
        whole = amounts(4, "2Gi")
        own = replace(
            own,
            containers=(Container("app"),),
            init_containers=(),
            resources=PodResources(whole, whole),
        )
    return own


def any_state(kind: str, node: Node, ledger: Ledger, chance: random.Random, prefix: str) -> NodeState:
    """Pods come and go, and so do devices' health and what init containers leave behind."""
    for number in range(chance.randrange(5)):
        decision = decide(node, ledger, any_pod(f"{prefix}-{number}", chance), ALLOCATABLE, evicts=False)
        ledger = decision.ledger
        if decision.admitted:
            ledger, _ = start_containers(node, ledger, decision.pod.uid)
        if chance.random() < 0.4:
            ledger = replace(ledger, active={uid: own for uid, own in ledger.active.items() if chance.random() < 0.5})
    if chance.random() < 0.3:
        device = ledger.device
        sick = {GPU: frozenset(own for own in device.healthy[GPU] if own != "gpu-0-0")}
        ledger = replace(ledger, device=replace(device, healthy=sick))
    return state_of(kind, node, ledger, ALLOCATABLE)


@pytest.mark.parametrize("minor", [22, 27, 36])
@pytest.mark.parametrize("policy", ["single-numa-node", "best-effort"])
def test_what_is_decided_for_one_holds_for_all_with_its_key(policy: str, minor: int) -> None:
    chance = random.Random(f"{policy} {minor}")
    node, ledger = started(policy, minor=minor)
    found: dict[bytes, list[NodeState]] = {}
    for number in range(400):
        state = any_state("kind", node, ledger, chance, f"{number}")
        found.setdefault(state.key, []).append(state)
    alike = [own for own in found.values() if len(own) > 1]
    assert len(alike) > 10
    for states in alike:
        for number in range(6):
            new = any_pod(f"new-{number}", chance)
            told = set()
            for state in states:
                own = decide(node, state.ledger, new, ALLOCATABLE, evicts=False)
                held = (own.ledger.cpu.entries.get(new.uid), own.ledger.memory.entries.get(new.uid))
                told.add((own.admitted, own.reason, own.message, str(held) if own.admitted else ""))
            assert len(told) == 1


def test_bytes_that_init_containers_left_tell_nodes_apart() -> None:
    """A kubelet of 1.22 forgets them for the wrong pod: whoever comes after finds none to use again."""
    node, ledger = started("single-numa-node", minor=22)
    wanted = amounts(2, "2Gi")
    first = replace(pod("a", "2", "2Gi"), init_containers=(Container("init", wanted, wanted),))
    there, other = admitted_all(node, ledger, [first]), admitted_all(node, ledger, [pod("b", "2", "2Gi")])
    assert there is not None
    assert other is not None
    left = there.memory.reuse_kept
    assert left
    cleared = replace(there, memory=replace(there.memory, reuse_kept=frozenset()))
    assert state_of("k", node, there, ALLOCATABLE).key != state_of("k", node, cleared, ALLOCATABLE).key


def test_a_runtime_without_group_policies_is_another_kind_of_node() -> None:
    node, ledger = started("single-numa-node")
    fleet = Fleet()
    for name, knows in (("a", False), ("b", True)):
        own = replace(node, facts=replace(node.facts, group_policies=knows))
        fleet = fleet.reported(name, state_of("kind", own, ledger, ALLOCATABLE))
    strict = replace(pod("p"), demands=Demands(strict_groups=True))
    assert [place.node for place in places(fleet, strict, VerdictMemory()).places] == ["b"]
