"""A machine for checks that need none: whatever a configuration names is there, and more than enough of it."""

from numafit.errors import KubeletError
from numafit.machine.bits import parse_cpuset
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.quantity import QuantityError, parse_quantity
from numafit.settings.config import KubeletConfig

LARGEST_NODE = 1024
"""Linux numbers no NUMA node higher."""
MOST_CPUS = 4096
_MEMORY = 1 << 45


def stand_in(config: KubeletConfig) -> Machine | None:
    """None for a configuration that reserves more CPUs than any machine has."""
    nodes = {0} | {item.numa_node for item in config.reserved_memory if 0 <= item.numa_node < LARGEST_NODE}
    count = _cpus(config)
    if count > MOST_CPUS:
        return None
    distances = tuple(10 for _ in nodes)
    return Machine(
        cpus=tuple(Cpu(i, i, 0, 0) for i in range(count + 1)),
        numa_nodes=tuple(NumaNode(node, _MEMORY, distances=distances) for node in sorted(nodes)),
    )


def _cpus(config: KubeletConfig) -> int:
    try:
        listed = parse_cpuset(config.reserved_system_cpus).bit_length()
    except KubeletError:
        listed = 0
    amounts = 0
    for reserved in (config.kube_reserved, config.system_reserved):
        try:
            amounts += max(parse_quantity(reserved.get("cpu", "0")).value(), 0)
        except QuantityError:
            continue
    return max(listed, amounts, 1)
