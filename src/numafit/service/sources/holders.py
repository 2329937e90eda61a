"""Who holds what on a node, by name; and what a person is told when that changes."""

from collections.abc import Iterator, Mapping

from numafit.bits import cpuset_text
from numafit.decision.held import Holding
from numafit.quantity import Quantity
from numafit.service.node import Happening
from numafit.show.records.ledger import Known

Holders = dict[str, tuple[str, Holding]]
"""Pod UID -> its name, and what it holds."""


def holders_of(known: Mapping[str, Known], held: Mapping[str, Holding]) -> Holders:
    """In the order of the names."""
    named = {uid: (known[uid].name if uid in known else uid, holding) for uid, holding in held.items()}
    return dict(sorted(named.items(), key=lambda item: (item[1][0], item[0])))


def gone(before: Holders, after: Holders) -> Iterator[Happening]:
    for uid, (name, _) in before.items():
        if uid not in after:
            yield Happening("release", name, f"{name} holds nothing any more.", uid=uid)


def came(before: Holders, after: Holders) -> Iterator[Happening]:
    for uid, (name, holding) in after.items():
        if uid not in before or before[uid][1] != holding:
            yield Happening("pod", name, _sentence(name, holding), uid=uid)


def _sentence(name: str, holding: Holding) -> str:
    parts = [f"CPUs {cpuset_text(holding.cpus)}"] if holding.cpus else []
    parts += [f"{Quantity(block.size, 0, 'BinarySI')} of {block.type}" for block in holding.memory]
    parts += [device for ids in holding.devices.values() for device in ids]
    nodes = ", ".join(map(str, holding.nodes))
    return f"{name} holds {', '.join(parts) or 'nothing'}" + (f" on NUMA node {nodes}." if nodes else ".")
