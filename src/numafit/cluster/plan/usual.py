"""Changes that are tried where nobody names any: those that a fleet like this could make tomorrow, and a few more nodes
or other machines to compare them with."""

from collections.abc import Iterator, Sequence

from numafit.cluster.plan.change import EACH_NUMA, PER_GPU, FleetChange
from numafit.cluster.plan.planned import PlannedNodes, idle_state
from numafit.fleet.simulation.rules import RULES
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.state import NodeState
from numafit.fleet.what_if.shapes import GUARANTEED, ONE_GPU_FEWER, RESHAPES, WHOLE_CPUS, at_most_per_gpu, gpus_of
from numafit.settings.options import DISTRIBUTE_CPUS_ACROSS_NUMA, FULL_PCPUS_ONLY
from numafit.settings.validation import TOPOLOGY_POLICIES, TOPOLOGY_SCOPES
from numafit.settings.versions import NEWEST_MINOR, parse_version

MORE_NODES = "+10%"


def usual_changes(planned: PlannedNodes, pods: Sequence[TracePod], rule: str) -> Iterator[FleetChange]:
    """In the order in which they are played. What no node and no pod would notice is not among them."""
    states = [idle_state(group) for group, _ in planned.kinds]
    yield from _policies(states)
    yield from _managers(states)
    newest = f"1.{NEWEST_MINOR}"
    if any(state.node.settings.version.minor != parse_version(newest).minor for state in states):
        yield FleetChange("release", newest)
    if any(state.node.cpu.static and len(state.node.cpu.topology.numa_nodes) > 1 for state in states):
        yield FleetChange("reserved-cores", f"1{EACH_NUMA}")
    yield from _machines(states)
    yield FleetChange("nodes", MORE_NODES)
    yield from _pods(states, pods)
    if rule != RULES[0].name:
        yield FleetChange("scheduler", RULES[0].name)


def _policies(states: Sequence[NodeState]) -> Iterator[FleetChange]:
    now = {state.node.settings.topology_policy for state in states}
    for policy in TOPOLOGY_POLICIES:
        if now != {policy}:
            yield FleetChange("policy", policy)
    if now != {"none"}:
        scopes = {state.node.settings.topology_scope for state in states}
        for scope in TOPOLOGY_SCOPES:
            if scopes != {scope}:
                yield FleetChange("scope", scope)


def _managers(states: Sequence[NodeState]) -> Iterator[FleetChange]:
    if all(state.node.cpu.static for state in states):
        for option in (FULL_PCPUS_ONLY, DISTRIBUTE_CPUS_ACROSS_NUMA):
            on = all(state.node.settings.cpu_options.get(option) == "true" for state in states)
            yield FleetChange("cpu-option", f"{option}=false" if on else option)
    else:
        yield FleetChange("cpu-manager", "static")
    static = all(state.node.settings.memory_policy == "Static" for state in states)
    yield FleetChange("memory-manager", "None" if static else "Static")


def _machines(states: Sequence[NodeState]) -> Iterator[FleetChange]:
    """With half as many NUMA nodes, and twice as many, as the machine that has most of them."""
    most = max(len(state.node.machine.numa_nodes) for state in states)
    for wanted in dict.fromkeys((most // 2, most * 2)):
        if wanted:
            yield FleetChange("numa", str(wanted))


def _pods(states: Sequence[NodeState], pods: Sequence[TracePod]) -> Iterator[FleetChange]:
    containers = list({id(own): own for each in pods for own in each.pod.containers}.values())
    for shape in (WHOLE_CPUS, GUARANTEED, ONE_GPU_FEWER):
        if any(RESHAPES[shape](own) is not own for own in containers):
            yield FleetChange("pods", shape)
    per_gpu = _cpus_per_gpu(states)
    if per_gpu and any(at_most_per_gpu(per_gpu)(own) is not own for own in containers):
        yield FleetChange("pods", f"{PER_GPU}{per_gpu}")


def _cpus_per_gpu(states: Sequence[NodeState]) -> int:
    """So many CPUs that each GPU of the node with most of them can have as many, in whole cores."""
    found = []
    for state in states:
        offered = state.allocatable or {}
        gpus = sum(offered[name].value() for name in gpus_of(offered))
        if gpus:
            core = state.node.cpu.topology.cpus_per_core
            found.append((gpus, offered["cpu"].milli() // 1000 // gpus // core * core))
    return max(found, default=(0, 0))[1]


def unlike(before: PlannedNodes, after: PlannedNodes) -> bool:
    """Whether some node would decide otherwise, or there are others."""
    if [names for _, names in before.kinds] != [names for _, names in after.kinds]:
        return True
    return any(
        idle_state(old).node != idle_state(new).node
        for (old, _), (new, _) in zip(before.kinds, after.kinds, strict=True)
    )
