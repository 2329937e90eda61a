"""A recording made here: a simulation as the scenario of a recording, with what numafit itself says to it.

A recording knows the managers only. A pod that they admit and that the check behind them refuses (`OutOfcpu`) is
recorded as one that comes and goes. It knows no pods that were there before it began.
"""

from collections.abc import Mapping
from typing import Any, Literal

from numafit.amounts import amount_text
from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.decision.simulation import Simulation
from numafit.ledger.state_files import CPU_FILE, MEMORY_FILE
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.managers.device.plugin import Plugin
from numafit.replay.cases.scenario import Scenario
from numafit.replay.outcomes import Json, as_recorded, placement_outcome
from numafit.settings.gates import default_gates
from numafit.settings.settings import Settings
from numafit.workload.pod import Container, Pod, Resources

FAMILY = "node"

Stand = Literal["first", "last", "none"]
STANDS: tuple[Stand, ...] = ("first", "last", "none")
"""Preferences that recordings know, tried in this order for a plugin whose own preference they do not know (`near`)."""


def case_of(simulation: Simulation, name: str = "simulated") -> Json:
    """One line of a recording file. Where its plugins must stand in for others, the stand-in that decides alike."""
    first: Json | None = None
    for stand in STANDS:
        content = scenario_of(simulation, stand)
        expect = Scenario(content, simulation.node.settings.version).play()
        version = str(simulation.node.settings.version)
        case = {"id": name, "kubeVersion": version, "family": FAMILY, "input": content, "expect": expect}
        first = first or case
        if not unlike(case, simulation):
            return case
    return first or {}


def unlike(case: Mapping[str, Any], simulation: Simulation) -> tuple[str, ...]:
    """The pods (namespace/name) that the case decides otherwise than the simulation."""
    records = {step["uid"]: step for step in case["expect"]["steps"] or () if step["op"] == "add"}
    decisions = [step.decision for step in simulation.steps]
    return tuple(
        decision.pod.full_name for decision in decisions if not _is_alike(decision, records.get(decision.pod.uid, {}))
    )


def _is_alike(decision: Decision, record: Mapping[str, Any]) -> bool:
    if decision.panic:
        return record.get("panic") == decision.panic
    placements = as_recorded({name: placement_outcome(own) for name, own in decision.containers.items()})
    admitted = decision.admitted or bool(decision.shortage)
    reason = "" if admitted else decision.reason
    return (record.get("admitted"), record.get("reason", ""), record.get("containers")) == (
        admitted,
        reason,
        placements,
    )


def scenario_of(simulation: Simulation, stand: Stand = "first") -> Json:
    """`input` of a recording: machine, settings, devices, plugins, and one step per pod, as after defaulting."""
    node = simulation.node
    steps: list[Json] = []
    for step in simulation.steps:
        pod = step.decision.pod
        steps.append({"op": "add", "pod": pod_record(pod)})
        gone = [victim.pod for victim in step.decision.evicted]
        steps += [{"op": "remove", "uid": each.uid} for each in (gone or ([pod] if step.decision.shortage else []))]
    record: Json = {
        "machine": machine_record(node.machine),
        "config": config_record(node.settings),
        "devices": device_records(node),
        "plugins": plugin_records(node, stand),
        "steps": steps,
    }
    files = _files_before(simulation)
    return record | {"initialFiles": files} if files else record


def _files_before(simulation: Simulation) -> dict[str, str]:
    """Only files that the kubelet took as they were; what it wrote itself at start it will write again."""
    before = simulation.before
    texts = {CPU_FILE: before.cpu.file, MEMORY_FILE: before.memory.file}
    return {name: text for name, text in texts.items() if text is not None}


def machine_record(machine: Machine) -> Json:
    """CPUs that are offline are none to the kubelet."""
    record: Json = {"name": machine.name} if machine.name else {}
    record["numaNodes"] = [_numa_record(node) for node in machine.numa_nodes]
    record["cpus"] = [_cpu_record(cpu) for cpu in machine.cpus if cpu.online]
    return record


def _numa_record(node: NumaNode) -> Json:
    record: Json = {
        "id": node.id,
        "memoryBytes": node.memory,
        "hugepages": {amount_text(size): pages for size, pages in node.hugepages.items()},
    }
    return record if node.distances is None else record | {"distances": list(node.distances)}


def _cpu_record(cpu: Cpu) -> Json:
    record: Json = {"cpu": cpu.id, "core": cpu.core, "socket": cpu.socket, "numa": cpu.numa}
    return record if cpu.uncore_cache is None else record | {"uncoreCache": cpu.uncore_cache}


def config_record(settings: Settings) -> Json:
    """Gates only where they differ from the defaults of the release."""
    defaults = default_gates(settings.version)
    return {
        "cpuManagerPolicy": settings.cpu_policy,
        "cpuManagerPolicyOptions": dict(settings.cpu_options),
        "memoryManagerPolicy": settings.memory_policy,
        "reservedMemory": [
            {"numaNode": item.numa_node, "limits": _amounts(item.limits)} for item in settings.reserved_memory
        ],
        "topologyManagerPolicy": settings.topology_policy,
        "topologyManagerScope": settings.topology_scope,
        "topologyManagerPolicyOptions": dict(settings.topology_options),
        "featureGates": {name: on for name, on in settings.gates.items() if defaults.get(name) != on},
        "reservedSystemCPUs": settings.reserved_cpus,
        "nodeAllocatableReservation": _amounts(settings.reservation),
    }


def device_records(node: Node) -> list[Json]:
    """Those of its plugins."""
    return [_device_record(device) for device in node.machine.devices if device.resource in node.device.plugins]


def plugin_records(node: Node, stand: Stand) -> list[Json]:
    return [_plugin_record(resource, plugin, stand) for resource, plugin in node.device.plugins.items()]


def _device_record(device: Device) -> Json:
    record: Json = {"resource": device.resource, "id": device.id}
    if device.numa is not None:
        record["numa"] = list(device.numa)
    return record if device.healthy else record | {"healthy": False}


def _plugin_record(resource: str, plugin: Plugin, stand: Stand) -> Json:
    preference = stand if plugin.preference == "near" else plugin.preference
    record: Json = {"resource": resource, "preferredAllocation": preference, "response": plugin.response}
    return record | {"failAllocate": plugin.allocate_error} if plugin.allocate_error else record


def pod_record(pod: Pod) -> Json:
    record: Json = {"uid": pod.uid, "name": pod.name, "namespace": pod.namespace}
    if pod.init_containers:
        record["initContainers"] = [_container_record(container) for container in pod.init_containers]
    record["containers"] = [_container_record(container) for container in pod.containers]
    if pod.resources is not None:
        record["resources"] = _resources(pod.resources.requests, pod.resources.limits)
    if pod.overhead:
        record["overhead"] = _amounts(pod.overhead)
    if pod.priority is not None:
        record["priority"] = pod.priority
    return record | {"static": True} if pod.static else record


def _container_record(container: Container) -> Json:
    record: Json = {"name": container.name, **_resources(container.requests, container.limits)}
    return record | {"restartPolicy": "Always"} if container.restartable else record


def _resources(requests: Resources, limits: Resources) -> Json:
    return {"requests": _amounts(requests), "limits": _amounts(limits)}


def _amounts(resources: Resources) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items()}
