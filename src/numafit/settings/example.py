"""A kubelet configuration to start with, for those who have none at hand."""

from numafit.bits import cpuset_text
from numafit.machine.model import Machine

EXAMPLE_NAME = "example kubelet"


def example_kubelet(machine: Machine, reserved_cpus: int = 0) -> str:
    """All managers on: these CPUs reserved (one where none is named: a static policy starts only with some), and 256Mi
    of every NUMA node that has so much to give.

    More than 8 NUMA nodes must be allowed by an option, which came with 1.31.
    """
    reserved = [node.id for node in machine.numa_nodes if node.memory >= 1 << 30]
    if not reserved:
        reserved = [max(machine.numa_nodes, key=lambda node: node.memory).id]
    total = 256 * len(reserved)
    nodes = len(machine.numa_nodes)
    option = f"topologyManagerPolicyOptions: {{max-allowable-numa-nodes: '{nodes}'}}\n" if nodes > 8 else ""
    cpus = f"reservedSystemCPUs: '{cpuset_text(reserved_cpus)}'\n" if reserved_cpus else ""
    items = "".join(f"- {{numaNode: {node}, limits: {{memory: 256Mi}}}}\n" for node in reserved)
    return (
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "cpuManagerPolicy: static\nmemoryManagerPolicy: Static\n"
        f"topologyManagerPolicy: restricted\ntopologyManagerScope: pod\n{option}{cpus}"
        f"kubeReserved: {{cpu: '1', memory: {total - 100}Mi}}\nevictionHard: {{memory.available: 100Mi}}\n"
        f"reservedMemory:\n{items}"
    )
