"""Kinds of nodes with the names of those of each kind, and how they stand with nobody on them."""

from collections.abc import Iterator

import msgspec

from numafit.cluster.sim.file import SimulatedGroup
from numafit.cluster.sim.group import idle_situation, reconfigured
from numafit.fleet.state import NodeState, state_of
from numafit.notes import Note


class PlannedNodes(msgspec.Struct, frozen=True):
    kinds: tuple[tuple[SimulatedGroup, tuple[str, ...]], ...]
    notes: tuple[Note, ...] = ()
    """What is assumed."""
    skipped: tuple[str, ...] = ()
    """What is wrong with the rows that were left out."""

    @property
    def count(self) -> int:
        return sum(len(names) for _, names in self.kinds)


def idle_state(group: SimulatedGroup) -> NodeState:
    """Of a node with nobody on it and without labels and taints. Raises InputError where its kubelet would not
    start."""
    idle = idle_situation(group)
    return state_of(group.name, idle.node, idle.ledger, idle.allocatable)


def idle_states(planned: PlannedNodes, policy: str = "") -> dict[str, NodeState]:
    """By name. Those of a kind are one value. `policy`: of the Topology Manager, with its scope after a slash where
    wanted; empty: as each node has it."""
    found: dict[str, NodeState] = {}
    for group, names in planned.kinds:
        own = reconfigured(group, dict(policy_fields(policy))) if policy else group
        found.update(dict.fromkeys(names, idle_state(own)))
    return found


def policy_fields(policy: str) -> Iterator[tuple[str, str]]:
    name, _, scope = policy.partition("/")
    yield "topologyManagerPolicy", name
    if scope:
        yield "topologyManagerScope", scope
