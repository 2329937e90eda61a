"""The topology manager as it is made at start: its policy, its scope and the NUMA nodes it knows."""

import msgspec

from numafit.bits import mask_of
from numafit.errors import KubeletError, StartError
from numafit.machine.model import Machine
from numafit.managers.topology.hint_order import DistanceRows
from numafit.settings.options import (
    MAX_ALLOWABLE_NUMA_NODES,
    PREFER_CLOSEST_NUMA_NODES,
    TOPOLOGY_OPTIONS,
    topology_options,
)
from numafit.settings.settings import Settings

STAGE = "topologymanager.NewManager"
CONTAINER_SCOPE = "container"
POD_SCOPE = "pod"


class TopologyPolicy(msgspec.Struct, frozen=True):
    policy: str
    scope: str
    numa_nodes: int
    """All nodes of the machine as a mask, those without CPUs too."""
    distances: DistanceRows | None = None
    """Only with prefer-closest-numa-nodes: NUMA id -> the row as the machine gives it."""


def topology_policy(settings: Settings, machine: Machine) -> TopologyPolicy:
    """Make the topology manager, with the kubelet's checks in the kubelet's order; StartError if one fails."""
    # With the gate off, up to 1.26, everything is allocated without hints.
    policy = settings.topology_policy if settings.gates.get("TopologyManager", True) else NONE
    scope = settings.topology_scope
    numa_nodes = mask_of(node.id for node in machine.numa_nodes)
    if policy == NONE and settings.behaviour.none_checks_nothing:
        return TopologyPolicy(policy, scope, numa_nodes)
    try:
        options = topology_options(settings)
    except KubeletError as error:
        raise StartError(STAGE, str(error), cause=error) from None
    distances = _distances(machine) if options.prefer_closest else None
    if policy != NONE and len(machine.numa_nodes) > options.max_nodes:
        text = f"unsupported on machines with more than {options.max_nodes} NUMA Nodes"
        option = MAX_ALLOWABLE_NUMA_NODES if settings.behaviour.max_numa_nodes_option else ""
        facts = {"nodes": str(len(machine.numa_nodes)), "option": option}
        raise StartError(STAGE, text, code="numa-nodes", field=("topologyManagerPolicy",), facts=facts)
    if policy not in (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE):
        raise StartError(
            STAGE, f'unknown policy: "{policy}"', code="topology-policy-name", field=("topologyManagerPolicy",)
        )
    if scope not in (CONTAINER_SCOPE, POD_SCOPE):
        raise StartError(
            STAGE, f'unknown scope: "{scope}"', code="topology-scope-name", field=("topologyManagerScope",)
        )
    return TopologyPolicy(policy, scope, numa_nodes, distances)


def _distances(machine: Machine) -> DistanceRows:
    rows: dict[int, tuple[int, ...]] = {}
    for node in machine.numa_nodes:
        if node.distances is None:
            raise StartError(
                STAGE,
                "cannot discover NUMA topology: error getting NUMA distances from cadvisor",
                code="distances",
                field=(TOPOLOGY_OPTIONS, PREFER_CLOSEST_NUMA_NODES),
            )
        rows[node.id] = node.distances
    return rows


NONE = "none"
BEST_EFFORT = "best-effort"
RESTRICTED = "restricted"
SINGLE_NUMA_NODE = "single-numa-node"
