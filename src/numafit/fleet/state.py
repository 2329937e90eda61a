"""How one node stands, and what of that tells it from others for a pod that it does not know.

By whom CPUs, memory and devices are held does not matter to a new pod: nodes of one kind that differ in nothing else
have the same `key`, and what is decided for one of them holds for all.
"""

from collections.abc import Mapping
from hashlib import blake2b

import msgspec

from numafit.decision.decide import Load, load_of
from numafit.decision.node import Node
from numafit.decision.verdicts import swept
from numafit.ledger.ledger import Ledger
from numafit.quantity import Quantity
from numafit.settings.facts import Taint


class Standing(msgspec.Struct, frozen=True):
    """What nodes have in common that answer alike to a pod without wishes of its own."""

    key: bytes
    promised: tuple[bytes, ...]
    taints: tuple[Taint, ...]
    schedulable: bool


class NodeState(msgspec.Struct, frozen=True):
    kind: str
    """Equal for nodes with the same machine, release and configuration."""
    node: Node
    """Without facts: labels and taints are looked at apart."""
    ledger: Ledger
    """As the kubelet reported it, with what is promised since; stale state is removed."""
    load: Load
    allocatable: Mapping[str, Quantity] | None
    key: bytes


def state_of(kind: str, node: Node, ledger: Ledger, allocatable: Mapping[str, Quantity] | None) -> NodeState:
    """From a report. Pods that are not active in it have gone: their share is swept away when the next one comes."""
    return state_with(kind, node, ledger, load_of(node.settings, ledger.active.values()), allocatable)


def state_with(
    kind: str, node: Node, ledger: Ledger, load: Load, allocatable: Mapping[str, Quantity] | None
) -> NodeState:
    """Where the load is known already."""
    if ledger.ready:
        ledger = swept(node, ledger)
    return NodeState(kind, node, ledger, load, allocatable, _key(kind, node, ledger, load, allocatable))


def _key(kind: str, node: Node, ledger: Ledger, load: Load, allocatable: Mapping[str, Quantity] | None) -> bytes:
    cpu, memory, device = ledger.cpu, ledger.memory, ledger.device
    ports = sorted(str(pod.demands.ports) for pod in ledger.active.values() if pod.demands.ports)
    told = (
        kind,
        ledger.ready,
        cpu.default,
        sorted((numa, own.assignments, sorted(own.tables.items()), own.cells) for numa, own in memory.nodes.items()),
        # Of whom does not matter: a new pod is not among them (1.22).
        bool(memory.reuse_kept),
        sorted((name, sorted(ids)) for name, ids in device.healthy.items()),
        sorted((name, sorted(ids)) for name, ids in device.allocated.items() if ids),
        sorted(
            (name, sorted((own.id, own.numa) for own in listed.values())) for name, listed in device.devices.items()
        ),
        sorted(device.connected),
        (load.pods, sorted(item for item in load.amounts.items() if item[1])),
        None if allocatable is None else sorted((name, str(amount)) for name, amount in allocatable.items()),
        ports,
        # The runtime tells it, and nodes of one kind may have different ones.
        node.facts.group_policies,
    )
    return blake2b(repr(told).encode(), digest_size=16).digest()
