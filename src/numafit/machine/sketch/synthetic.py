"""hwloc's synthetic language: `Package:2 [NUMANode(memory=64GB)] L3Cache:2(size=32MB) Core:4 PU:2`.

Each level counts within the one before it. NUMA nodes may be a level of their own or hang at one in brackets, as
`lstopo --of synthetic` writes them. Understood are the attributes `memory`, `size` and `indexes` (a list, or loops
such as `8*2:1*8`); Group and other attributes are skipped. An amount that is not given is 0, where hwloc makes one up.
"""

import re
from collections.abc import Sequence
from math import lcm

import msgspec

from numafit.bits import LARGEST_ID, mask_of, parse_numbers
from numafit.errors import InputError
from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.order import ORDERS, in_kubelet_order
from numafit.machine.uncore import with_uncore_caches

MOST_OBJECTS = 16384
LONGEST = 200_000

_TOKEN = re.compile(r"\s*(\[)?\s*([A-Za-z][A-Za-z0-9]*)(?::([0-9]{1,6}))?(?:\(([^()]*)\))?\s*(\])?\s*")
_TYPES = {
    **dict.fromkeys(("package", "pack", "socket"), "package"),
    **dict.fromkeys(("numanode", "numa", "node"), "numa"),
    "die": "die",
    "core": "core",
    "pu": "pu",
    **dict.fromkeys(("group", "machine"), "group"),
}
_CACHE = re.compile(r"l([1-5])([diu]?)(?:cache)?")
_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BINARY = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_LOOPS = re.compile(r"[0-9]{1,6}\*[0-9]{1,6}(?::[0-9]{1,6}\*[0-9]{1,6})*")


class Level(msgspec.Struct, frozen=True):
    kind: str
    """`package`, `die`, `numa`, `core`, `pu`, `group`, or a cache such as `l3`."""
    count: int
    """Objects of it in the whole machine."""
    amount: int
    """Bytes of memory or cache."""
    ids: tuple[int, ...]
    """The operating system's number of each object."""

    def of(self, position: int, positions: int) -> int:
        """The object that the CPU at this position belongs to."""
        return self.ids[position * self.count // positions]


def is_synthetic(text: str) -> bool:
    """A word with a number or attributes behind it, or in brackets, begins no sketch."""
    return re.match(r"\s*(?:\[|[A-Za-z][A-Za-z0-9]*(?::[0-9]|\())", text[:200]) is not None


def read_synthetic(text: str, source: str = "synthetic") -> Machine:
    if len(text) > LONGEST:
        raise InputError(f"more than {LONGEST} characters", source=source)
    levels = _Parser(text, source).levels()
    cpus = levels[-1]
    if cpus.kind != "pu":
        cure = "end with PU:2, or with PU:1 where there is no SMT"
        raise InputError("the last level must be PU", source=source, line=1, column=len(text) + 1, cure=cure)
    return _machine(levels, cpus)


class _Parser:
    def __init__(self, text: str, source: str) -> None:
        self.text = text.rstrip()
        self.source = source
        self.position = 0

    def error(self, message: str, cure: str = "") -> InputError:
        place = len(self.text) - len(self.text[self.position :].lstrip())
        return InputError(message, source=self.source, line=1, column=place + 1, cure=cure)

    def levels(self) -> list[Level]:
        levels: list[Level] = []
        total = 1
        while self.position < len(self.text):
            match = _TOKEN.match(self.text, self.position)
            if match is None or (match[1] is None) != (match[5] is None):
                raise self.error("this is no level", "write it like Core:4 or [NUMANode(memory=64GiB)]")
            kind = self.kind(match[2])
            if match[1] and kind != "numa":
                raise self.error("only NUMA nodes stand in brackets")
            if match[3] is None and not match[1] and kind != "group":
                raise self.error(f"how many of {match[2]}?", f"write it like {match[2]}:4")
            if kind != "numa" and kind in {level.kind for level in levels} - {"group"}:
                raise self.error(f"{match[2]} stands here a second time")
            count = total * int(match[3] or 1)
            if not 0 < count <= MOST_OBJECTS:
                raise self.error(f"the number of {match[2]} must be from 1 to {MOST_OBJECTS}")
            levels.append(self.level(kind, count, match[4] or ""))
            total = total if match[1] else count
            self.position = match.end()
        if not levels:
            raise self.error("nothing is described", "write it like Package:2 NUMANode:1 Core:8 PU:2")
        return levels

    def kind(self, word: str) -> str:
        cache = _CACHE.fullmatch(word.lower())
        if cache is not None:
            return f"l{cache[1]}{cache[2].replace('u', '')}"
        if word.lower() not in _TYPES:
            raise self.error(f'"{word[:40]}" is no level that hwloc knows', "Package, NUMANode, L3Cache, Core, PU, …")
        return _TYPES[word.lower()]

    def level(self, kind: str, count: int, attributes: str) -> Level:
        amount = 0
        ids: tuple[int, ...] = tuple(range(count))
        for attribute in attributes.split():
            name, _, value = attribute.partition("=")
            if name in ("memory", "size"):
                amount = self.amount(value)
            elif name == "indexes":
                ids = self.indexes(value, count)
        return Level(kind, count, amount, ids)

    def amount(self, text: str) -> int:
        match = re.fullmatch(r"([0-9]{1,18})([A-Za-z]{0,3})", text)
        unit = None if match is None else {**_UNITS, **_BINARY}.get(match[2].lower())
        if match is None or unit is None:
            raise self.error(f'"{text[:40]}" is not an amount', "write it like 64GiB")
        return int(match[1]) * unit

    def indexes(self, text: str, count: int) -> tuple[int, ...]:
        if _LOOPS.fullmatch(text):
            ids = _looped(text, count)
        else:
            try:
                ids = tuple(parse_numbers(text))
            except ValueError as error:
                raise self.error(f"indexes: {error}", "write a list of numbers") from None
        if len(ids) != count or len(set(ids)) != count:
            raise self.error(f"indexes must name {count} different numbers")
        if max(ids) > LARGEST_ID:
            raise self.error(f"{max(ids)} is too large for an id")
        return ids


def _looped(text: str, count: int) -> tuple[int, ...]:
    """`step*number` for each loop, the fastest counting one last in the text but first in weight, as hwloc has it."""
    ids = [0] * count
    weight = 1
    for loop in text.split(":"):
        step, number = (int(part) for part in loop.split("*"))
        if not step or not number or weight > MOST_OBJECTS:
            return ()
        ids = [id + position // step % number * weight for position, id in enumerate(ids)]
        weight *= number
    return tuple(ids)


def _machine(levels: Sequence[Level], pus: Level) -> Machine:
    positions = range(pus.count)
    by_kind = {level.kind: level for level in levels}
    one = Level("", 1, 0, (0,))
    package, core = by_kind.get("package", one), by_kind.get("core", Level("core", pus.count, 0, tuple(positions)))
    numa, *more = _numbered([level for level in levels if level.kind == "numa"] or [one])
    die = by_kind.get("die")
    caches = tuple(cache for level in levels for cache in _caches(level, pus))
    cpus = [
        Cpu(
            id=pus.ids[position],
            core=core.of(position, pus.count),
            socket=package.of(position, pus.count),
            numa=numa.of(position, pus.count),
            die=None if die is None else die.of(position, pus.count),
        )
        for position in positions
    ]
    nodes = in_kubelet_order(_nodes(numa, more))
    ordered = ORDERS["folders"](with_uncore_caches(cpus, caches), nodes)
    return Machine(cpus=tuple(ordered), numa_nodes=nodes, sockets=package.count, caches=caches)


def _numbered(levels: list[Level]) -> list[Level]:
    """Where several brackets hang at the machine, its NUMA nodes count from the first part of it to the last."""
    if len(levels) == 1:
        return levels
    # compared as fractions of the machine: how much of it lies before the node
    whole = lcm(*(level.count for level in levels))
    places = sorted(
        (index * whole // level.count, number, index)
        for number, level in enumerate(levels)
        for index in range(level.count)
    )
    ids: list[list[int]] = [[] for _ in levels]
    for id, (_, number, _) in enumerate(places):
        ids[number].append(id)
    return [msgspec.structs.replace(level, ids=tuple(own)) for level, own in zip(levels, ids, strict=True)]


def _nodes(numa: Level, more: Sequence[Level]) -> list[NumaNode]:
    """Those in further brackets have no CPUs of their own."""
    return [NumaNode(id, memory=level.amount) for level in (numa, *more) for id in level.ids]


def _caches(level: Level, pus: Level) -> list[Cache]:
    if level.kind[0] != "l":
        return []
    size = pus.count // level.count
    kind = {"d": "data", "i": "instruction"}.get(level.kind[2:], "data" if level.kind == "l1" else "unified")
    return [
        Cache(int(level.kind[1]), kind, level.amount, mask_of(pus.ids[index * size : (index + 1) * size]), index)
        for index in range(level.count)
    ]
