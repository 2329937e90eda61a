"""Each node of a fleet as a row: what of it is held, free and stranded, and who is split; sorted, and summed up."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.look.seats import split_pods
from numafit.fleet.look.usage import KindUsage, NodeUsage, usage_of


class FleetRow(msgspec.Struct, frozen=True):
    name: str
    usage: NodeUsage
    policy: str
    """Of the Topology Manager."""
    scope: str
    split: tuple[str, ...]
    """Pods that lie on more NUMA nodes than they need, by name."""
    promised: int
    """Pods that are bound or offered to it, and not in its report yet."""
    schedulable: bool = True

    @property
    def stranded(self) -> float:
        """The sum, over CPUs, GPUs and memory, of the part that is stranded."""
        usage = self.usage
        return sum(own.stranded / own.total for own in (usage.cpus, usage.gpus, usage.memory) if own.total)


def rows_of(fleet: Fleet) -> tuple[FleetRow, ...]:
    """By name. What is counted is the same for nodes that stand alike."""
    usages: dict[bytes, NodeUsage] = {}
    rows = []
    for _, node in sorted(fleet.nodes.items()):
        usage = usages.get(node.state.key)
        if usage is None:
            usage = usages[node.state.key] = usage_of(node.state)
        rows.append(row_of(node, usage))
    return tuple(rows)


def row_of(node: FleetNode, usage: NodeUsage | None = None) -> FleetRow:
    state, topology = node.state, node.state.node.topology
    return FleetRow(
        node.name,
        usage or usage_of(state),
        topology.policy,
        topology.scope,
        split_pods(state),
        len(node.promised),
        node.schedulable,
    )


ORDERS: dict[str, Callable[[FleetRow], tuple[float, ...]]] = {
    "stranded": lambda row: (-row.stranded, -len(row.split)),
    "split": lambda row: (-len(row.split), -row.stranded),
    "free": lambda row: (-row.usage.cpus.free, -row.usage.gpus.free),
    "gpus": lambda row: (-row.usage.gpus.free, -row.usage.cpus.free),
    "largest": lambda row: (-row.usage.largest,),
    "pods": lambda row: (-row.usage.pods,),
    "name": lambda _: (),
}
"""What comes first: the most of it. Equals by name."""


def in_order(rows: Iterable[FleetRow], order: str) -> list[FleetRow]:
    return sorted(rows, key=lambda row: (ORDERS[order](row), row.name))


def total_of(rows: Sequence[FleetRow]) -> NodeUsage:
    """`largest` is that of the node with most."""
    cpus = gpus = memory = KindUsage()
    for row in rows:
        cpus, gpus, memory = cpus.plus(row.usage.cpus), gpus.plus(row.usage.gpus), memory.plus(row.usage.memory)
    largest = max((row.usage.largest for row in rows), default=0)
    return NodeUsage(cpus, gpus, memory, largest, sum(row.usage.pods for row in rows))
