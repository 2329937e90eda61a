"""Which devices a container should get of those that the kubelet could give it.

Whole devices: the set that belongs together by links and NUMA nodes, as `machine/gpu_sets.py` ranks them. Shares of
devices: spread, so that each next one is of the device with the fewest shares in use.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.cluster.device.offer import ResourceOffer
from numafit.errors import InputError
from numafit.machine.gpu_sets import best_set, pairs_of
from numafit.machine.model import Machine


def preferred_units(offer: ResourceOffer, available: Sequence[str], required: Sequence[str], size: int) -> list[str]:
    """Ids in the order of the offer. Raises InputError for what cannot be: an unknown id, more than there are."""
    units = offer.units()
    for unit in (*available, *required):
        if unit not in units:
            raise InputError(f"{offer.resource} has no device {unit[:80]}")
    given = set(available) | set(required)
    if not len(set(required)) <= size <= len(given):
        raise InputError(f"{size} devices of {offer.resource} cannot be chosen from {len(given)}")
    offered = [unit for unit in units if unit in given]
    needed = [unit for unit in offered if unit in required]
    if size == 0:
        return []
    chosen = _spread(offer, offered, needed, size) if offer.shared else _together(offer, offered, needed, size)
    return [unit for unit in offered if unit in chosen]


def _together(offer: ResourceOffer, offered: Sequence[str], needed: Sequence[str], size: int) -> set[str]:
    units = offer.units()
    # The rules for sets of GPUs hold for whatever has links and NUMA nodes.
    devices = tuple(replace(units[unit].device, kind="gpu") for unit in offered)
    pairs = replace(pairs_of(Machine(devices=devices, links=offer.links)), sockets=offer.sockets)
    best = best_set(pairs, size, [offered.index(unit) for unit in needed])
    assert best is not None
    return {offered[place] for place in best.gpus}


def _spread(offer: ResourceOffer, offered: Sequence[str], needed: Sequence[str], size: int) -> set[str]:
    units = offer.units()
    free: dict[str, list[str]] = {}
    for unit in offered:
        free.setdefault(units[unit].device.id, []).append(unit)
    chosen = list(needed)
    taken = dict.fromkeys(free, 0)
    for unit in needed:
        taken[units[unit].device.id] += 1
        free[units[unit].device.id].remove(unit)
    while len(chosen) < size:
        # First a device of which this container has nothing, then the emptiest one; `min` keeps the order of the offer.
        device = min((device for device in free if free[device]), key=lambda one: (taken[one], -len(free[one])))
        chosen.append(free[device].pop(0))
        taken[device] += 1
    return set(chosen)
