"""Where a pod would go among many nodes: a new shape, a shape that is known, why one waits, and what a fleet takes."""

import gc
import multiprocessing
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time

from msgspec.structs import replace

from bench import Row
from bench.shapes import GPU, TWO, guaranteed, started
from numafit.decision.decide import decide
from numafit.decision.life import start_containers
from numafit.fleet.fleet import Fleet
from numafit.fleet.needs import NeedMemory, need_of
from numafit.fleet.places import places
from numafit.fleet.state import NodeState, state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.memory import WaitingMemory
from numafit.fleet.waiting.reserve import Contender, Reservations, Reserver
from numafit.fleet.waiting.why import WhyMemory, why_waiting
from numafit.fleet.waiting.words import waiting_sentence
from numafit.quantity import parse_quantity
from numafit.workload.pod import Pod

SIZES = ((500, 50), (1_000, 100), (5_000, 500))
"""Nodes, and distinct states among them."""
UNEVEN = ((500, 500), (5_000, 50))
"""For memory alone: what is due to the nodes, and what to their states."""
ALLOCATABLE = {"cpu": parse_quantity("126"), "memory": parse_quantity("127Gi"), "pods": parse_quantity("110")}
MOST = 8
NEW_SHAPE, KNOWN_SHAPE, FLEET, NEED = 50e-3, 1e-3, 300.0, 5e-3
WHY, RESERVED = 100e-3, 100e-3


def rows() -> Iterator[Row]:
    for nodes, states in UNEVEN:
        what = f"fleet/{nodes} nodes in {states} states/memory"
        yield Row(what, partial(_memory, nodes, states), unit="MB", measured=True)
    for nodes, states in SIZES:
        made: dict[str, Fleet] = {}
        what = f"fleet/{nodes} nodes in {states} states"
        largest = nodes == SIZES[-1][0]
        memory = partial(_memory, nodes, states)
        yield Row(f"{what}/memory", memory, FLEET if largest else None, unit="MB", measured=True)
        made["fleet"] = _fleet(nodes, states)
        for name, cpus, gpus in (("fits everywhere", 2, 0), ("fits here and there", 24, 2), ("fits nowhere", 64, 4)):
            budget = NEW_SHAPE if largest else None
            yield Row(f"{what}/new shape, {name}", partial(_new, made, cpus, gpus), budget, measured=True)
        yield Row(
            f"{what}/known shape, one node changed",
            partial(_known, made),
            KNOWN_SHAPE if largest else None,
            measured=True,
        )
        yield Row(f"{what}/need of a new shape", partial(_needed, made), NEED if largest else None, measured=True)
        for name, full, cpus, gpus in (("all are busy", True, 40, 4), ("all are too small", False, 70, 1)):
            yield Row(
                f"{what}/why it waits, {name}",
                partial(_why, made, full, cpus, gpus),
                WHY if largest else None,
                measured=True,
            )
        yield Row(
            f"{what}/a node is kept for it", partial(_reserved, made), RESERVED if largest else None, measured=True
        )


def _resident() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def _memory(nodes: int, states: int) -> float:
    """Ten pods on each node, as its report tells them; in a process of its own, which has nothing to use again."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_grown, (nodes, states))


def _grown(nodes: int, states: int) -> float:
    # What each process needs once is there already.
    _fleet(1, 1)
    gc.collect()
    before = _resident()
    fleet = _fleet(nodes, states)
    gc.collect()
    assert len(fleet.nodes) == nodes
    return _resident() - before


def _fleet(nodes: int, states: int, *, full: bool = False) -> Fleet:
    """`full`: each NUMA node has one GPU less than a large pod wants."""
    node, idle = started(TWO, "single-numa-node")
    fleet = Fleet()
    chance = random.Random(7)
    some = (1,) if full else (0, 0, 0, 1)
    kinds = [[(chance.choice((1, 2, 4, 6, 8)), chance.choice(some)) for _ in range(10)] for _ in range(states)]
    for number in range(nodes):
        ledger = idle
        for index, (cpus, gpus) in enumerate(kinds[number % states]):
            pod = guaranteed(f"{number}-{index}", cpus, "2Gi", {GPU: gpus} if gpus else {})
            decision = decide(node, ledger, pod, ALLOCATABLE)
            if decision.admitted:
                ledger = start_containers(node, decision.ledger, pod.uid)[0]
        fleet = fleet.reported(f"node-{number}", state_of("two", node, ledger, ALLOCATABLE))
    return fleet


def _new(made: dict[str, Fleet], cpus: int, gpus: int) -> float:
    pod = guaranteed("new", cpus, "3Gi", {GPU: gpus} if gpus else {})
    best = 1e9
    for _ in range(3):
        memory = VerdictMemory()
        for node in made["fleet"].nodes.values():
            memory.freedom(node.state)
            memory.room(node.state)
        began = process_time()
        places(made["fleet"], pod, memory, MOST)
        best = min(best, process_time() - began)
    return best


def _known(made: dict[str, Fleet]) -> float:
    """A report of one node, and the answer for a pod of a shape that was asked for before."""
    fleet, memory = made["fleet"], VerdictMemory()
    pod = guaranteed("new", 24, "3Gi", {GPU: 2})
    places(fleet, pod, memory, MOST)
    states: list[NodeState] = [own.state for own in list(fleet.nodes.values())[:50]]
    best = 1e9
    for number in range(1, 20):
        began = process_time()
        fleet = fleet.reported("node-0", states[number])
        places(fleet, pod, memory, MOST)
        best = min(best, process_time() - began)
    return best


def _needed(made: dict[str, Fleet]) -> float:
    """Of a pod that no node refuses beyond sums: all kinds are asked."""
    pod = guaranteed("new", 2, "3Gi", {})
    shared = replace(pod, containers=tuple(replace(own, limits={}) for own in pod.containers))
    best = 1e9
    for _ in range(5):
        began = process_time()
        assert need_of(made["fleet"], shared, NeedMemory()) is None
        best = min(best, process_time() - began)
    return best


def _asked(made: dict[str, Fleet], full: bool, cpus: int, gpus: int) -> tuple[Fleet, Pod, VerdictMemory]:
    """The pod was asked about before: that no node takes it is known."""
    if full and "full" not in made:
        made["full"] = _fleet(len(made["fleet"].nodes), len(made["fleet"].groups), full=True)
    fleet, memory = made["full" if full else "fleet"], VerdictMemory()
    pod = guaranteed("new", cpus, "3Gi", {GPU: gpus})
    assert not places(fleet, pod, memory).places
    return fleet, pod, memory


def _why(made: dict[str, Fleet], full: bool, cpus: int, gpus: int) -> float:
    fleet, pod, memory = _asked(made, full, cpus, gpus)
    began = process_time()
    waiting_sentence(why_waiting(fleet, pod, memory, WhyMemory()))
    return process_time() - began


def _reserved(made: dict[str, Fleet]) -> float:
    fleet, pod, memory = _asked(made, True, 40, 4)
    own = Reserver(memory, WaitingMemory())
    began = process_time()
    assert own.renewed(fleet, [Contender("new", (0, "", "", ""), (pod,))], Reservations(), 0.0).held
    return process_time() - began
