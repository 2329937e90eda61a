"""Puts the CPUs of several sources together: each attribute from the first source that states it.

Core, socket and cache numbers differ from tool to tool without meaning anything, so what is compared is which CPUs
share one.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from numafit.bits import cpuset_text, mask_of, members
from numafit.machine.model import CPU_IDS, Cpu
from numafit.machine.source import Disagreement, Source, compared, reason

_ATTRIBUTES: dict[str, tuple[str, Callable[[Cpu], object]]] = {
    "core": ("a core", lambda cpu: (cpu.numa, cpu.socket, cpu.core) if cpu.core >= 0 else None),
    "socket": ("a socket", lambda cpu: cpu.socket if cpu.socket >= 0 else None),
    "numa": ("a NUMA node", lambda cpu: cpu.numa if cpu.numa >= 0 else None),
    "uncore_cache": ("an uncore cache", lambda cpu: cpu.uncore_cache),
}


class Voice:
    """What one source says about CPUs."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.cpus = {cpu.id: cpu for cpu in source.machine.cpus}
        self.online = mask_of(cpu.id for cpu in source.machine.cpus if cpu.online)
        self.made_up = CPU_IDS in source.machine.assumed
        """It counts the CPUs of each NUMA node; which number is which CPU it cannot say."""
        self.assumed = ("cpus", *_ATTRIBUTES) if self.made_up else source.machine.assumed

    def sharers(self, attribute: str) -> dict[int, int]:
        """CPU id -> the CPUs online that share this attribute with it; 0 where there is nothing to share."""
        key = _ATTRIBUTES[attribute][1]
        groups: dict[object, int] = {}
        for id in members(self.online):
            groups[key(self.cpus[id])] = groups.get(key(self.cpus[id]), 0) | 1 << id
        groups[None] = 0
        return {id: groups[key(self.cpus[id])] for id in members(self.online)}


class CombinedCpus(msgspec.Struct, frozen=True):
    cpus: tuple[Cpu, ...]
    disagreements: tuple[Disagreement, ...]
    assumed: tuple[str, ...]
    """What no source states."""


def combine_cpus(sources: Sequence[Source]) -> CombinedCpus:
    """`sources` in the order in which they are believed."""
    voices = [Voice(source) for source in sources if source.machine.cpus]
    if not voices:
        return CombinedCpus((), (), ())
    whole = [voice for voice in voices if "cpus" not in voice.assumed]
    disagreements = _which_cpus(whole, voices)
    order = [cpu for voice in whole[:1] or voices for cpu in voice.source.machine.cpus]
    cpus = tuple(_combined(id, voices) for id in dict.fromkeys(cpu.id for cpu in order))
    assumed = [] if whole else _of_numbers(voices)
    for attribute in _ATTRIBUTES:
        stating = [voice for voice in voices if attribute not in voice.assumed]
        if not stating and not (attribute == "numa" and CPU_IDS in assumed):
            assumed.append(attribute)
        disagreements += _differences(attribute, stating)
    return CombinedCpus(cpus, tuple(disagreements), tuple(assumed))


def _of_numbers(voices: Sequence[Voice]) -> list[str]:
    """Where nobody lists all CPUs: of made-up numbers, how many each NUMA node has is told."""
    if not all(voice.made_up for voice in voices):
        return ["cpus"]
    return [CPU_IDS, *(["cpus"] if any("cpus" in voice.source.machine.assumed for voice in voices) else [])]


def _which_cpus(whole: Sequence[Voice], voices: Sequence[Voice]) -> list[Disagreement]:
    said = [(voice.source, voice.online) for voice in whole]
    found = compared("which CPUs are online", said, int.__eq__, cpuset_text) if said else []
    for voice in voices:
        extra = voice.online & ~whole[0].online if whole else 0
        if "cpus" in voice.assumed and extra:
            values = ((whole[0].source.name, "they are not there"), (voice.source.name, "they are there"))
            found.append(Disagreement(f"CPUs {cpuset_text(extra)}", values, values[0][1], reason(whole[0].source)))
    return found


def _combined(id: int, voices: Sequence[Voice]) -> Cpu:
    """The first source that knows the CPU is the base; others fill what it does not state."""
    knowing = [voice for voice in voices if id in voice.cpus]
    stated = {name: _stated(name, id, knowing) for name in _ATTRIBUTES}
    base = knowing[0].cpus[id]
    return msgspec.structs.replace(
        base,
        core=stated["core"].core,
        socket=stated["socket"].socket,
        numa=stated["numa"].numa,
        uncore_cache=stated["uncore_cache"].uncore_cache,
        die=next((voice.cpus[id].die for voice in knowing if voice.cpus[id].die is not None), None),
        kind=next((voice.cpus[id].kind for voice in knowing if voice.cpus[id].kind), ""),
        isolated=any(voice.cpus[id].isolated for voice in knowing),
    )


def _stated(attribute: str, id: int, knowing: Sequence[Voice]) -> Cpu:
    """The CPU as the first source describes it that states this attribute; as the first of all, if none does."""
    stating = [voice.cpus[id] for voice in knowing if attribute not in voice.assumed]
    known = [cpu for cpu in stating if attribute == "uncore_cache" or _ATTRIBUTES[attribute][1](cpu) is not None]
    return next(iter(known), knowing[0].cpus[id])


def _differences(attribute: str, voices: Sequence[Voice]) -> list[Disagreement]:
    """At most one: about the lowest CPU whose company differs, with the number of further ones."""
    tables = [voice.sharers(attribute) for voice in voices]
    if all(one == other for one, other in pairwise(tables)):
        return []
    first = tables[0]
    differing = 0
    for table, voice in zip(tables[1:], voices[1:], strict=True):
        common = voices[0].online & voice.online
        for id in members(common):
            if first[id] & common != table[id] & common:
                differing |= 1 << id
    if not differing:
        return []
    lowest = next(members(differing))
    more = differing.bit_count() - 1
    what = f"which CPUs share {_ATTRIBUTES[attribute][0]} with CPU {lowest}" + (f" (and {more} more)" if more else "")
    said = [(voice.source, table[lowest]) for voice, table in zip(voices, tables, strict=True) if lowest in table]
    return compared(what, said, int.__eq__, lambda cpus: cpuset_text(cpus) or "none")
