"""How each holder lies, in one word: who has CPUs, memory and devices together, and who has not, with what makes it so.

A holder is a pod or a lease. It is judged by its units (see `alignment`), and has the worst word among them:

    remote GPU, remote NIC, remote device
                a device hangs on a NUMA node where the unit has none of its exclusive CPUs, or none of its memory,
                though that node has some
    split       it lies on more NUMA nodes than the empty machine would need for it
    aligned     none of these: together, or on as few NUMA nodes as could ever hold it
    shared      the same, without exclusive CPUs
"""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import msgspec

from numafit.advice.alignment import Given, fewest_nodes, given_unit, placements_of
from numafit.bits import mask_of
from numafit.decision.decision import Decision, Placement
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Device
from numafit.workload.pod import Pod

Lying = Literal["remote GPU", "remote NIC", "remote device", "split", "aligned", "shared"]
"""The worst first."""
LYING: tuple[Lying, ...] = get_args(Lying)
IN_WORDS: tuple[Lying, ...] = ("aligned", "split", "remote GPU", "remote NIC", "remote device", "shared")
"""The order in which counts are told."""

WHOLE_POD = ""
"""In the place of a container: what the pod holds as a whole."""
CPU = "cpu"

_REMOTE: Mapping[str, Lying] = {"gpu": "remote GPU", "mig": "remote GPU", "nic": "remote NIC"}
_NAMES = (("gpu", "gpu"), ("mig-", "mig"), ("nic", "nic"), ("rdma", "nic"), ("hca", "nic"), ("sriov", "nic"))
"""What the name of a resource says by its first or last letters, where the machine does not tell what the device is."""


class HeldPart(msgspec.Struct, frozen=True):
    """Exclusive CPUs, memory of one type, or one device of a unit, and where it lies."""

    resource: str
    nodes: int
    """A mask of NUMA nodes; 0: not known."""
    device: str = ""
    """Its id."""
    remote_from: tuple[str, ...] = ()
    """`cpu`, `memory` or both: what of the unit is on none of its NUMA nodes."""


class UnitLying(msgspec.Struct, frozen=True):
    unit: str
    """The container; empty for the holder as a whole."""
    lying: Lying
    nodes: int
    """All NUMA nodes that it lies on, as a mask."""
    fewest: int
    """So many NUMA nodes of the empty machine have room for it."""
    parts: tuple[HeldPart, ...]
    """CPUs first, then memory by type, then devices by resource and id."""


class HolderVerdict(msgspec.Struct, frozen=True):
    lying: Lying
    units: tuple[UnitLying, ...] = ()
    """All of them. Those whose word is that of the holder make it so."""


def alignments(node: Node, ledger: Ledger) -> dict[str, HolderVerdict]:
    """By UID, of all who are there; what the gone have left behind is not judged."""
    return {uid: _alignment(node, as_decided(pod, ledger)) for uid, pod in ledger.active.items()}


def alignment_of(node: Node, ledger: Ledger, uid: str) -> HolderVerdict | None:
    """None for who is not there."""
    pod = ledger.active.get(uid)
    return None if pod is None else _alignment(node, as_decided(pod, ledger))


def counted(found: Iterable[HolderVerdict]) -> dict[Lying, int]:
    """How many holders have each word, in the order of `IN_WORDS`. Only `aligned` may be 0."""
    words = [each.lying for each in found]
    return {word: words.count(word) for word in IN_WORDS if word == "aligned" or word in words}


def as_decided(pod: Pod, ledger: Ledger) -> Decision:
    """As if the kubelet had just decided what it holds for the pod."""
    uid = pod.uid
    cpus, memory = ledger.cpu.entries.get(uid, {}), ledger.memory.entries.get(uid, {})
    devices = ledger.device.held.get(uid, {})
    names = dict.fromkeys((*cpus, *memory, *devices))
    known = ledger.device.devices
    placed: dict[str, Placement] = {
        name: Placement(
            ledger.affinity_of(uid, name),
            cpus.get(name),
            memory.get(name),
            {
                resource: {each: _numa(known, resource, each) for each in sorted(held.ids)}
                for resource, held in devices.get(name, {}).items()
            },
        )
        for name in names
    }
    if uid in ledger.cpu.pod_entries or uid in ledger.memory.pod_entries:
        whole = Placement((None, False), ledger.cpu.pod_entries.get(uid), ledger.memory.pod_entries.get(uid))
        placed = {**_without_memory(placed, uid, ledger), WHOLE_POD: whole}
    return Decision(pod, "", True, ledger, containers=placed)


def _numa(known: Mapping[str, Mapping[str, Device]], resource: str, device: str) -> tuple[int, ...]:
    found = known.get(resource, {}).get(device)
    return () if found is None else found.numa or ()


def _without_memory(placed: Mapping[str, Placement], uid: str, ledger: Ledger) -> dict[str, Placement]:
    """Where the pod holds memory as a whole, that of its containers is a part of it."""
    if uid not in ledger.memory.pod_entries:
        return dict(placed)
    return {name: Placement(own.affinity, own.cpus, None, own.devices) for name, own in placed.items()}


def _alignment(node: Node, decision: Decision) -> HolderVerdict:
    units = []
    for name, placements in placements_of(node, decision).items():
        unit, parts = given_unit(node, decision, name, placements), tuple(_parts(node, placements))
        fewest = fewest_nodes(node, decision, unit)
        units.append(UnitLying(name, _lying(node, unit, parts, fewest), unit.nodes, fewest, parts))
    return HolderVerdict(min((unit.lying for unit in units), key=LYING.index, default="shared"), tuple(units))


def _lying(node: Node, unit: Given, parts: Iterable[HeldPart], fewest: int) -> Lying:
    kinds = {device.id: device.kind for device in node.machine.devices}
    remote = [_remote_word(kinds.get(part.device, ""), part.resource) for part in parts if part.remote_from]
    if remote:
        return min(remote, key=LYING.index)
    if unit.nodes.bit_count() > fewest:
        return "split"
    return "aligned" if CPU in unit.amounts else "shared"


def _remote_word(kind: str, resource: str) -> Lying:
    name = resource.rpartition("/")[2].lower()
    said = next((kind for word, kind in _NAMES if name.startswith(word) or name.endswith(word)), "")
    return _REMOTE.get(kind or said, "remote device")


def _parts(node: Node, placements: Iterable[Placement]) -> list[HeldPart]:
    cpus, memory, devices = 0, dict[str, int](), dict[tuple[str, str], int]()
    for placement in placements:
        cpus |= placement.cpus or 0
        for block in placement.memory or ():
            memory[block.type] = memory.get(block.type, 0) | mask_of(block.numa)
        for resource, own in placement.devices.items():
            devices |= {(resource, each): mask_of(numa) for each, numa in own.items()}
    topology = node.cpu.topology.numa_nodes
    cpu_nodes = mask_of(numa for numa, own in topology.items() if own & cpus)
    parts = [HeldPart(CPU, cpu_nodes)] if cpus else []
    parts += [HeldPart(kind, nodes) for kind, nodes in sorted(memory.items())]
    # A node without CPUs, or without memory, is no farther from them than it must be.
    with_cpus = mask_of(numa for numa, own in topology.items() if own & ~node.cpu.reserved)
    with_memory = mask_of(numa.id for numa in node.machine.numa_nodes if numa.memory and not numa.device)
    memory_nodes = 0
    for nodes in memory.values():
        memory_nodes |= nodes
    for (resource, device), nodes in sorted(devices.items()):
        far = [
            name
            for name, held, there in (("cpu", cpu_nodes, with_cpus), ("memory", memory_nodes, with_memory))
            if held and nodes & there and not nodes & held
        ]
        parts.append(HeldPart(resource, nodes, device, tuple(far)))
    return parts
