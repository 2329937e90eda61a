"""Small fleets and traces for the tests of the simulation."""

from collections.abc import Iterable

from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.state import NodeState, state_of
from tests.fleet.fleets import ALLOCATABLE, pod, started


def idle(policy: str = "single-numa-node", gpus: int = 2) -> NodeState:
    """Two NUMA nodes with 8 CPUs, one of 16 reserved, and `gpus` devices each."""
    node, ledger = started(policy, gpus=gpus)
    return state_of(f"{policy}-{gpus}", node, ledger, ALLOCATABLE)


def named(count: int, state: NodeState) -> dict[str, NodeState]:
    return {f"n{number}": state for number in range(count)}


def arriving(*pods: tuple[float, float | None, str, int]) -> tuple[TracePod, ...]:
    """(arrival, run, CPUs, GPUs)"""
    return tuple(_traced(f"p{number}", *own) for number, own in enumerate(pods))


def _traced(uid: str, arrival: float, run: float | None, cpus: str, gpus: int) -> TracePod:
    return TracePod(arrival, run, pod(uid, cpus, gpus=gpus))


def total_held(states: Iterable[NodeState]) -> int:
    return sum(len(state.ledger.active) for state in states)
