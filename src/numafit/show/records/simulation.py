"""A simulation as JSON: every hint, merge and state file, and what is left on each NUMA node."""

from typing import Any

from numafit.bits import cpuset_text
from numafit.decision.decision import Decision
from numafit.decision.simulation import Simulation
from numafit.ledger.ledger import Block
from numafit.replay.outcomes import FileLog, Json, block_record, decision_record


def simulation_record(simulation: Simulation, *, with_files: bool = True) -> Json:
    """Field names as in a step of a recording; `files` holds what changed by the decision.

    To write the state files takes most of the time; where nobody reads them they can be left out.
    """
    files = FileLog() if with_files else None
    if files is not None:
        files.changed(simulation.node, simulation.before)
    decisions = []
    for step in simulation.steps:
        decision = step.decision
        record: Json = {"pod": pod_name(decision), "qos": decision.qos, **decision_record(decision)}
        record["defaultCPUSet"] = cpuset_text(decision.ledger.cpu.default)
        if files is not None:
            record["files"] = files.changed(simulation.node, decision.ledger)
            after = files.changed(simulation.node, step.ledger)
            if after:
                record["filesAfterStart"] = after
        decisions.append(record)
    settings = simulation.node.settings
    return {
        "kubeVersion": str(settings.version),
        "reservedCPUs": cpuset_text(simulation.node.cpu.reserved),
        "decisions": decisions,
        "left": left_records(simulation),
    }


def left_records(simulation: Simulation) -> list[Json]:
    node, ledger = simulation.node, simulation.after
    free = node.cpu.available(ledger.cpu) if node.cpu.static else 0
    return [
        {
            "numaNode": numa.id,
            "cpus": cpuset_text(free & node.cpu.topology.numa_nodes.get(numa.id, 0)),
            "memory": [
                block_record(Block((numa.id,), memory_type, table.free))
                for memory_type, table in sorted(_tables(simulation, numa.id).items())
            ],
            "devices": _free_devices(simulation, numa.id),
        }
        for numa in sorted(node.machine.numa_nodes, key=lambda numa: numa.id)
    ]


def _tables(simulation: Simulation, numa: int) -> dict[str, Any]:
    nodes = simulation.after.memory.nodes
    return dict(nodes[numa].tables) if numa in nodes else {}


def _free_devices(simulation: Simulation, numa: int) -> dict[str, list[str]]:
    device = simulation.after.device
    free = {}
    for resource, devices in sorted(device.devices.items()):
        ids = device.healthy.get(resource, frozenset()) - device.allocated.get(resource, frozenset())
        own = sorted(device_id for device_id in ids if numa in (devices[device_id].numa or ()))
        if own:
            free[resource] = own
    return free


def pod_name(decision: Decision) -> str:
    return decision.pod.full_name
