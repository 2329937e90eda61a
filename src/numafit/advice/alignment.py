"""Whether what a pod was given lies together: on as few NUMA nodes as the empty machine would need for it.

The unit is the container, or in the pod scope the pod. Only what is pinned counts: exclusive CPUs, memory blocks and
devices that name a NUMA node.

GPUs may lie together or apart also within a NUMA node: two on one PCIe switch, or joined by NVLink, are near. A unit's
GPUs are torn when there are fewer near pairs among them than the empty machine could give it on as many NUMA nodes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb

import msgspec
from msgspec.structs import replace

from numafit.bits import mask_of
from numafit.decision.decision import Decision, Placement
from numafit.decision.node import Node
from numafit.machine.gpu_sets import GpuPairs, best_set, pairs_of
from numafit.machine.links import LINK_KINDS, link_score, nvlinks
from numafit.machine.model import Device
from numafit.managers.ask import ask_of
from numafit.managers.device.plugin import NVIDIA_GPU

MOST_MASKS = 100_000
"""Sets of NUMA nodes that are looked at; beyond that a placement counts as good."""

NEAR = LINK_KINDS["PIX"].score
"""Two GPUs whose link scores as much belong together."""


class Given(msgspec.Struct, frozen=True):
    """What one unit holds. The amounts are CPUs, bytes and devices."""

    unit: str
    """The container; empty for the pod as a whole."""
    nodes: int
    """The NUMA nodes it lies on, as a mask."""
    amounts: Mapping[str, int]
    gpus: frozenset[str] = frozenset()
    """The ids of its NVIDIA GPUs, with or without a NUMA node."""


class Torn(msgspec.Struct, frozen=True):
    """A unit whose GPUs are torn. Ids are in device order."""

    unit: str
    gpus: tuple[str, ...]
    partners: tuple[tuple[str, str], ...]
    """Near pairs of which the unit holds one GPU only: for each GPU that is the most alone, its nearest."""
    nvlink: bool
    """NVLink joins these pairs, not only a switch."""


def given_to(node: Node, decision: Decision) -> tuple[Given, ...]:
    """Units that hold nothing pinned are left out."""
    return tuple(unit for unit in _units(node, decision) if unit.nodes)


def crossing(node: Node, decision: Decision) -> tuple[Given, ...]:
    """The units that lie on more NUMA nodes than they need."""
    units = given_to(node, decision)
    return tuple(unit for unit in units if fewest_nodes(node, decision, unit) < unit.nodes.bit_count())


def fewest_nodes(node: Node, decision: Decision, unit: Given) -> int:
    """On so many NUMA nodes of the empty machine there is room for it; at most as many as it lies on."""
    lies = unit.nodes.bit_count()
    return next((mask.bit_count() for mask in _masks_with_room(node, decision, unit, range(1, lies))), lies)


def is_aligned(node: Node, decision: Decision) -> bool:
    return decision.admitted and not crossing(node, decision)


def torn(node: Node, decision: Decision) -> tuple[Torn, ...]:
    """The units whose GPUs are torn. GPUs that the machine does not describe are not judged."""
    if not decision.admitted:
        return ()
    units = [unit for unit in _units(node, decision) if len(unit.gpus) > 1]
    gpus = _healthy_gpus(node, decision) if units else ()
    if not gpus:
        return ()
    pairs = pairs_of(replace(node.machine, devices=gpus))
    places = {gpu.id: place for place, gpu in enumerate(gpus)}
    found = []
    for unit in units:
        held = sorted(places[gpu] for gpu in unit.gpus if gpu in places)
        if len(held) == len(unit.gpus) and _is_torn(node, decision, unit, pairs, held):
            partners = _partners(pairs, held)
            names = tuple((gpus[a].id, gpus[b].id) for a, b in partners)
            nvlink = all(nvlinks(pairs.kinds[a][b]) for a, b in partners)
            found.append(Torn(unit.unit, tuple(gpus[gpu].id for gpu in held), names, nvlink))
    return tuple(found)


def floating(node: Node, decision: Decision) -> tuple[str, ...]:
    """Containers that ask for a whole CPU or more, and yet run in the shared pool of a static CPU manager; `the pod`
    where it is the pod's own resources that ask for it."""
    if not node.cpu.static or not decision.admitted:
        return ()
    found = []
    for container in decision.pod.containers:
        asked = container.requests.get("cpu")
        if asked is not None and asked.milli() >= 1000 and decision.containers[container.name].cpus is None:
            found.append(container.name)
    if not found and _floats_as_whole(node, decision):
        found.append("the pod")
    return tuple(found)


def _floats_as_whole(node: Node, decision: Decision) -> bool:
    """A pod with resources of its own, a whole CPU or more, of which no container has an exclusive one."""
    own = decision.pod.resources
    if own is None or ask_of(decision.pod, node.settings).pod_level == "none":
        return False
    asked = own.requests.get("cpu")
    held = any(placement.cpus is not None for placement in decision.containers.values())
    return asked is not None and asked.milli() >= 1000 and not held


def placements_of(node: Node, decision: Decision) -> dict[str, tuple[Placement, ...]]:
    """What was given to each unit."""
    if node.topology.policy != "none" and node.topology.scope == "pod":
        return {"": tuple(decision.containers.values())}
    return {name: (placement,) for name, placement in decision.containers.items()}


def _units(node: Node, decision: Decision) -> list[Given]:
    return [given_unit(node, decision, name, own) for name, own in placements_of(node, decision).items()]


def given_unit(node: Node, decision: Decision, unit: str, placements: Iterable[Placement]) -> Given:
    cpus = nodes = 0
    amounts: dict[str, int] = {}
    devices: dict[str, set[str]] = {}
    for placement in placements:
        cpus |= placement.cpus or 0
        for block in placement.memory or ():
            nodes |= mask_of(block.numa)
            amounts[block.type] = amounts.get(block.type, 0) + block.size
        for resource, own in placement.devices.items():
            devices.setdefault(resource, set()).update(own)
    if cpus:
        amounts["cpu"] = cpus.bit_count()
    nodes |= mask_of(numa for numa, own in node.cpu.topology.numa_nodes.items() if own & cpus)
    shared = []
    for resource, ids in devices.items():
        places = _places(decision, resource)
        placed = [places[each] for each in ids if places.get(each)]
        if placed:
            amounts[resource] = len(placed)
        nodes |= sum({mask for mask in placed if mask.bit_count() == 1})
        shared += [mask for mask in placed if mask.bit_count() > 1]
    for mask in sorted(shared):
        # A device on several nodes is near to each of them.
        nodes |= 0 if mask & nodes else mask & -mask
    return Given(unit, nodes, amounts, frozenset(devices.get(NVIDIA_GPU, ())))


def _places(decision: Decision, resource: str) -> dict[str, int]:
    listed = decision.ledger.device.devices.get(resource, {})
    return {name: mask_of(device.numa or ()) for name, device in listed.items()}


def _masks_with_room(node: Node, decision: Decision, unit: Given, sizes: Iterable[int]) -> Iterator[int]:
    """The sets of so many NUMA nodes that have room, on the empty machine, for all that the unit holds."""
    room = {resource: _room(node, decision, resource) for resource in unit.amounts}
    ids = sorted(numa.id for numa in node.machine.numa_nodes)
    looked_at = 0
    for size in sizes:
        looked_at += comb(len(ids), size)
        if looked_at > MOST_MASKS:
            return
        for chosen in combinations(ids, size):
            mask = mask_of(chosen)
            if all(_amount_on(room[resource], mask) >= amount for resource, amount in unit.amounts.items()):
                yield mask


def _room(node: Node, decision: Decision, resource: str) -> list[tuple[int, int]]:
    """(nodes, amount) parts of a resource on the empty machine."""
    if resource == "cpu":
        topology = node.cpu.topology
        return [(1 << numa, (own & ~node.cpu.reserved).bit_count()) for numa, own in topology.numa_nodes.items()]
    tables = [(1 << numa, own.tables[resource]) for numa, own in node.idle_memory.items() if resource in own.tables]
    if tables:
        return [(mask, table.allocatable) for mask, table in tables]
    return [(mask, 1) for mask in _places(decision, resource).values() if mask]


def _amount_on(parts: list[tuple[int, int]], mask: int) -> int:
    return sum(amount for nodes, amount in parts if nodes & mask)


def _healthy_gpus(node: Node, decision: Decision) -> tuple[Device, ...]:
    """Whole ones, in device order. The plugin's resource decides what is a GPU where the machine names no kind."""
    healthy = decision.ledger.device.healthy.get(NVIDIA_GPU, frozenset())
    return tuple(
        replace(device, kind="gpu")
        for device in node.machine.devices
        if device.resource == NVIDIA_GPU and device.id in healthy and device.kind in ("", "gpu")
    )


def _is_torn(node: Node, decision: Decision, unit: Given, pairs: GpuPairs, held: Sequence[int]) -> bool:
    """Whether some NUMA nodes, as many as the unit lies on and with room for it, have a set of GPUs nearer together."""
    if not _partners(pairs, held):
        return False
    seen = set()
    for mask in _masks_with_room(node, decision, unit, (unit.nodes.bit_count(),)):
        # A GPU without a NUMA node can go with any.
        there = tuple(i for i, gpu in enumerate(pairs.gpus) if not gpu.numa or mask_of(gpu.numa) & mask)
        if there in seen:
            continue
        seen.add(there)
        best = best_set(_part(pairs, there), len(held))
        if best is not None:
            chosen = [there[gpu] for gpu in best.gpus]
            if _near_pairs(pairs, chosen) > _near_pairs(pairs, held) and pairs.score(chosen) > pairs.score(held):
                return True
    return False


def _part(pairs: GpuPairs, gpus: Sequence[int]) -> GpuPairs:
    return replace(
        pairs,
        gpus=tuple(pairs.gpus[gpu] for gpu in gpus),
        kinds=tuple(tuple(pairs.kinds[a][b] for b in gpus) for a in gpus),
        scores=tuple(tuple(pairs.scores[a][b] for b in gpus) for a in gpus),
    )


def _partners(pairs: GpuPairs, held: Sequence[int]) -> list[tuple[int, int]]:
    """For the GPUs with the fewest near ones in the set, if they have others: the nearest of those."""
    outside = [gpu for gpu in range(len(pairs.gpus)) if gpu not in held]
    near_outside = {gpu: [other for other in outside if _near(pairs, gpu, other)] for gpu in held}
    near_inside = {
        gpu: sum(_near(pairs, gpu, other) for other in held if other != gpu) for gpu in held if near_outside[gpu]
    }
    least = min(near_inside.values(), default=0)
    found = set()
    for gpu, count in near_inside.items():
        if count == least:
            nearest = max(near_outside[gpu], key=lambda other: (pairs.scores[gpu][other], -other))
            found.add((min(gpu, nearest), max(gpu, nearest)))
    return sorted(found)


def _near_pairs(pairs: GpuPairs, chosen: Sequence[int]) -> int:
    return sum(_near(pairs, a, b) for a, b in combinations(chosen, 2))


def _near(pairs: GpuPairs, a: int, b: int) -> bool:
    """The plugin's scores leave out NVLinks that end at an NVSwitch, which joins all GPUs alike."""
    return max(pairs.scores[a][b], link_score(pairs.kinds[a][b])) >= NEAR
