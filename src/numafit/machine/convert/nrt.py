"""A machine as the zones of a NodeResourceTopology object (`topology.node.k8s.io/v1alpha2`).

The machine is empty and nothing is reserved: capacity, allocatable and available are the same. Which topology manager
policy a node has is not a fact about its machine, so no such attribute is written.
"""

from numafit.amounts import amount_text
from numafit.machine.file.plain import flow_text
from numafit.machine.model import Machine, NumaNode


def nrt_text(machine: Machine, name: str = "") -> str:
    """YAML. Devices whose NUMA node is not known, or is more than one, belong to no zone."""
    nodes = sorted(machine.numa_nodes, key=lambda node: node.id)
    lines = [
        "apiVersion: topology.node.k8s.io/v1alpha2",
        "kind: NodeResourceTopology",
        f"metadata: {{name: {flow_text(name or machine.name or 'node')}}}",
        "zones:" if nodes else "zones: []",
    ]
    for node in nodes:
        lines += [f"- name: node-{node.id}", "  type: Node"]
        if node.distances and len(node.distances) == len(nodes):
            costs = zip(nodes, node.distances, strict=True)
            lines += ["  costs:", *(f"  - {{name: node-{other.id}, value: {cost}}}" for other, cost in costs)]
        lines.append("  resources:")
        for resource, amount in _resources(machine, node).items():
            value = flow_text(str(amount))
            fields = {"name": flow_text(resource), "capacity": value, "allocatable": value, "available": value}
            lines.append(f"  - {{{', '.join(f'{key}: {text}' for key, text in fields.items())}}}")
    return "\n".join(lines) + "\n"


def _resources(machine: Machine, node: NumaNode) -> dict[str, int]:
    resources = {"cpu": sum(cpu.online and cpu.numa == node.id for cpu in machine.cpus), "memory": node.memory}
    for size, pages in sorted(node.hugepages.items()):
        resources[f"hugepages-{amount_text(size)}"] = size * pages
    for device in machine.devices:
        if device.resource and device.numa == (node.id,) and device.healthy:
            resources[device.resource] = resources.get(device.resource, 0) + 1
    return resources
