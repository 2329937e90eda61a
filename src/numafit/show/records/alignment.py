"""How a holder lies: the word, why, and the parts that make it so."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from numafit.advice.verdict import CPU, HeldPart, HolderVerdict, Lying, UnitLying, counted
from numafit.bits import cpuset_text, members

DeviceLabels = Mapping[str, str]
"""Device id -> what people call it."""


class PartRecord(msgspec.Struct, frozen=True, rename="camel"):
    """Exclusive CPUs, memory of one type, or one device, and the NUMA nodes it lies on."""

    container: str
    """Empty for what is judged as a whole."""
    resource: str
    device: str
    nodes: tuple[int, ...]
    remote_from: tuple[str, ...]
    """What of the container is on none of these nodes: `cpu`, `memory`."""


class AlignmentRecord(msgspec.Struct, frozen=True):
    verdict: Lying
    why: str
    parts: tuple[PartRecord, ...] = ()


def alignment_record(found: HolderVerdict, labels: DeviceLabels) -> AlignmentRecord:
    """The parts are those of the containers, or of the whole, that make it so."""
    units = _telling(found)
    parts = tuple(
        PartRecord(unit.unit, part.resource, part.device, tuple(members(part.nodes)), part.remote_from)
        for unit in units
        for part in unit.parts
    )
    return AlignmentRecord(found.lying, why_text(found, labels), parts)


def alignment_records(found: Mapping[str, HolderVerdict], labels: DeviceLabels) -> dict[str, AlignmentRecord]:
    return {name: alignment_record(own, labels) for name, own in found.items()}


def counts_text(found: Iterable[HolderVerdict]) -> str:
    """`3 aligned · 1 split · 1 remote GPU`."""
    return " · ".join(f"{count} {word}" for word, count in counted(found).items())


def why_text(found: HolderVerdict, labels: DeviceLabels) -> str:
    units = _telling(found)
    if not units:
        return "no exclusive CPUs, and nothing that is pinned to a NUMA node"
    # What is judged as a whole needs no name, nor does the only one.
    named = len(found.units) > 1
    told = [f"{unit.unit}: {_why(unit, labels)}" if named and unit.unit else _why(unit, labels) for unit in units]
    return "; ".join(told)


def _telling(found: HolderVerdict) -> list[UnitLying]:
    """The units that make it so."""
    return [unit for unit in found.units if unit.lying == found.lying]


def _why(unit: UnitLying, labels: DeviceLabels) -> str:
    if unit.lying in ("aligned", "shared"):
        return "no exclusive CPUs" + _behind(_places(unit, labels)) if unit.lying == "shared" else _together(unit)
    if unit.lying == "split":
        room = "one NUMA node has" if unit.fewest == 1 else f"{unit.fewest} NUMA nodes have"
        return f"{_places(unit, labels)}; {room} room for all of it when nobody else is there"
    groups: dict[tuple[int, tuple[str, ...]], list[HeldPart]] = {}
    for part in unit.parts:
        if part.remote_from:
            groups.setdefault((part.nodes, part.remote_from), []).append(part)
    return "; ".join(_remote(unit, parts, labels) for parts in groups.values())


def _together(unit: UnitLying) -> str:
    if unit.nodes.bit_count() > 1:
        return f"on NUMA nodes {cpuset_text(unit.nodes)}, and no fewer could hold it"
    return f"all on NUMA node {cpuset_text(unit.nodes)}"


def _behind(text: str) -> str:
    return f"; {text}" if text else ""


def _places(unit: UnitLying, labels: DeviceLabels) -> str:
    """`CPUs on NUMA nodes 0-1, memory on NUMA node 0, GPU0 and GPU1 on NUMA node 1`."""
    names: dict[tuple[str, int], list[str]] = {}
    for part in unit.parts:
        if part.nodes:
            group = "device" if part.device else part.resource
            names.setdefault((group, part.nodes), []).append(_name(part, labels))
    return ", ".join(f"{' and '.join(own)} on {_nodes(nodes)}" for (_, nodes), own in names.items())


def _remote(unit: UnitLying, parts: Sequence[HeldPart], labels: DeviceLabels) -> str:
    """`GPU1 hangs on NUMA node 1, its CPUs are on NUMA node 0`; `parts` are devices that lie alike."""
    held = {
        "cpu": _union(other.nodes for other in unit.parts if other.resource == CPU),
        "memory": _union(other.nodes for other in unit.parts if other.resource != CPU and not other.device),
    }
    words = {"cpu": "CPUs are", "memory": "memory is"}
    where: dict[int, list[str]] = {}
    for name in parts[0].remote_from:
        where.setdefault(held[name], []).append(words[name])
    told = [f"{own[0] if len(own) == 1 else 'CPUs and memory are'} on {_nodes(at)}" for at, own in where.items()]
    names = " and ".join(_name(part, labels) for part in parts)
    verb, whose = ("hangs", "its") if len(parts) == 1 else ("hang", "the")
    return f"{names} {verb} on {_nodes(parts[0].nodes)}, {', '.join(f'{whose} {each}' for each in told)}"


def _union(masks: Iterable[int]) -> int:
    whole = 0
    for mask in masks:
        whole |= mask
    return whole


def _name(part: HeldPart, labels: DeviceLabels) -> str:
    return labels.get(part.device) or part.device or ("CPUs" if part.resource == CPU else part.resource)


def _nodes(mask: int) -> str:
    return f"NUMA node{'s' * (mask.bit_count() > 1)} {cpuset_text(mask)}"
