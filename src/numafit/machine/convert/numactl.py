"""A machine as `numactl --hardware` would print it; how much memory is free is left out, for nobody knows."""

from numafit.bits import cpuset_text, mask_of
from numafit.machine.model import Machine


def numactl_text(machine: Machine) -> str:
    nodes = sorted(machine.numa_nodes, key=lambda node: node.id)
    ids = [node.id for node in nodes]
    cpus: dict[int, list[int]] = {id: [] for id in ids}
    for cpu in sorted(machine.cpus, key=lambda cpu: cpu.id):
        if cpu.online:
            cpus.setdefault(cpu.numa, []).append(cpu.id)
    lines = [f"available: {len(nodes)} nodes ({cpuset_text(mask_of(ids))})"]
    for node in nodes:
        lines.append(" ".join(["node", str(node.id), "cpus:", *map(str, cpus[node.id])]))
        lines.append(f"node {node.id} size: {node.memory >> 20} MB")
    if all(node.distances and len(node.distances) == len(nodes) for node in nodes):
        lines.append("node distances:")
        lines.append("node " + "".join(f"{id:3} " for id in ids))
        lines += [f"{node.id:3}: " + "".join(f"{value:3} " for value in node.distances or ()) for node in nodes]
    else:
        lines.append("No distance information available.")
    return "\n".join(lines) + "\n"
