"""Reads what `lstopo` prints on a terminal (also with `-p` and `-v`; hwloc 1 and 2): a tree by indentation.

The text tells packages, caches, cores, CPUs and NUMA nodes; distances only with `-v`, and no huge pages. Memory is
rounded except with `-v`, so `memory` is listed under `assumed`. PCI devices are named too briefly to be read. hwloc 2
prints a NUMA node beside the caches of its CPUs, hwloc 1 above them.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from numafit.errors import InputError
from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.order import cpus_in_kubelet_order, in_cache_order, in_kubelet_order
from numafit.machine.read.text import LARGEST_AMOUNT, text_of, whole_number
from numafit.machine.uncore import with_uncore_caches

CURE = "write it with: lstopo --of xml"
_OBJECT = re.compile(
    r"(?P<type>[A-Za-z][\w]*)(?: L#(?P<logical>\d{1,5}))?(?: P#(?P<own>\d{1,5}))?(?: \((?P<about>.*)\))?", re.ASCII
)
_JOIN = re.compile(r" \+ (?=[A-Z]\w* [LP]#\d)", re.ASCII)
_ABOUT_NUMBER = re.compile(r"P#(\d{1,5})\b", re.ASCII)
_ABOUT_SIZE = re.compile(r"(?:^|[ (])(?P<name>local=|size=)?(?P<number>\d{1,12})(?P<unit>[KMGT]?B)\b", re.ASCII)
_MATRIX = re.compile(
    r"Relative latency matrix \(name NUMALatency .*between .* NUMANodes .*by (logical|physical) indexes:"
)
_CACHE = re.compile(r"L([1-5])([di]?)(?:Cache)?", re.ASCII)
_UNITS = {"B": 0, "KB": 10, "MB": 20, "GB": 30, "TB": 40}
_KINDS = {"": "unified", "d": "data", "i": "instruction"}
_PACKAGES = ("Package", "Socket")


class _Size(NamedTuple):
    amount: int
    exact: bool


class _Printed:
    """An object of the tree; `cpus` are those below it."""

    def __init__(self, type: str, logical: int | None, own: int | None, about: str, line: int) -> None:
        self.type = type
        self.logical = logical
        self.own = own
        """The operating system's number."""
        self.about = about
        self.line = line
        self.above: _Printed | None = None
        self.cpus = 0
        self.nodes: list[_Printed] = []
        """NUMA nodes that stand right below it, without CPUs of their own."""

    @property
    def number(self) -> int:
        """hwloc's own where that of the operating system is not told."""
        return next((number for number in (self.own, self.logical) if number is not None), 0)

    def up(self, *types: str) -> "_Printed | None":
        above = self.above
        while above is not None and above.type not in types:
            above = above.above
        return above

    def size(self) -> _Size:
        match = _ABOUT_SIZE.search(self.about)
        if match is None:
            return _Size(0, exact=False)
        amount = int(match["number"]) << _UNITS[match["unit"]]
        return _Size(min(amount, LARGEST_AMOUNT - 1), exact=match["name"] is not None)


def read_console(data: str | bytes, source: str = "lstopo") -> Machine:
    lines = text_of(data, source).splitlines()
    objects = list(_objects(lines))
    cpus = [found for found in objects if found.type == "PU"]
    nodes = [found for found in objects if found.type == "NUMANode"]
    if not cpus:
        raise InputError("no PU in what lstopo printed", source=source, cure=f"{CURE}, and without a filter")
    seen: set[tuple[str, int]] = set()
    for found in (*cpus, *nodes):
        if found.own is None:
            message = f"the {found.type} has only hwloc's number, not that of the operating system"
            raise InputError(message, source=source, line=found.line, cure=f"print it without -l, or {CURE}")
        if (found.type, found.own) in seen:
            raise InputError(f"{found.type} {found.own} stands in it twice", source=source, line=found.line, cure=CURE)
        seen.add((found.type, found.own))
    _place_cpus(cpus)
    for node in nodes:
        if not node.cpus and node.above is not None:
            node.above.nodes.append(node)
    homes, ties = _homes(cpus)
    caches = in_cache_order(_caches(objects))
    packages = [found for found in objects if found.type in _PACKAGES]
    sizes = [node.size() for node in nodes] or [_machine_size(objects)]
    ids = [node.number for node in nodes] or [0]
    rows = _distances(lines, nodes)
    guesses = (
        ("core", any(cpu.up("Core") is None for cpu in cpus)),
        ("memory", not all(size.exact for size in sizes)),
        ("numa", ties),
        ("socket", not packages),
        ("uncore_cache", not caches),
    )
    return Machine(
        cpus=with_uncore_caches(cpus_in_kubelet_order(_cpu(cpu, homes) for cpu in cpus), caches),
        numa_nodes=in_kubelet_order(
            NumaNode(id, size.amount, distances=rows.get(id)) for id, size in zip(ids, sizes, strict=True)
        ),
        sockets=len(packages) or None,
        caches=caches,
        assumed=tuple(name for name, is_guessed in guesses if is_guessed),
    )


def _objects(lines: list[str]) -> Iterator[_Printed]:
    """Line by line; what is joined by ` + ` hangs below each other. It ends where the tree does."""
    open: list[tuple[int, _Printed]] = []
    for number, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip(" "))
        begins = line.startswith("Machine")
        if not line.strip() or not (begins or open):
            continue
        if not indent and not begins:
            return
        while open and open[-1][0] >= indent:
            open.pop()
        above = open[-1][1] if open else None
        for part in _JOIN.split(line.strip()):
            match = _OBJECT.fullmatch(part.strip())
            if match is None:
                break
            about = match["about"] or ""
            told = match["own"] or next(iter(_ABOUT_NUMBER.findall(about)), None)
            logical = None if match["logical"] is None else int(match["logical"])
            found = _Printed(match["type"], logical, None if told is None else int(told), about, number)
            found.above = above
            above = found
            open.append((indent, found))
            yield found


def _place_cpus(cpus: list[_Printed]) -> None:
    for cpu in cpus:
        above: _Printed | None = cpu
        while above is not None:
            above.cpus |= 1 << cpu.number
            above = above.above


def _homes(cpus: list[_Printed]) -> tuple[dict[int, int], bool]:
    """CPU -> NUMA node, and whether one had to be chosen: of several at one place, that with the lowest number."""
    homes: dict[int, int] = {}
    ties = False
    for cpu in cpus:
        above: _Printed | None = cpu.above
        while above is not None and above.type != "NUMANode" and not above.nodes:
            above = above.above
        near = [] if above is None else [above] if above.type == "NUMANode" else above.nodes
        ties = ties or len(near) != 1
        homes[cpu.number] = min((node.number for node in near), default=0)
    return homes, ties


def _cpu(cpu: _Printed, homes: dict[int, int]) -> Cpu:
    core, package, die = cpu.up("Core"), cpu.up(*_PACKAGES), cpu.up("Die")
    return Cpu(
        id=cpu.number,
        # hwloc's numbers of cores are unique in the machine, those of the operating system in a package
        core=cpu.number if core is None else core.number,
        socket=0 if package is None else package.number,
        numa=homes[cpu.number],
        die=None if die is None else die.own,
    )


def _caches(objects: list[_Printed]) -> Iterator[Cache]:
    for found in objects:
        match = _CACHE.fullmatch(found.type)
        if match is not None and found.cpus:
            yield Cache(int(match[1]), _KINDS[match[2]], found.size().amount, found.cpus, found.number)


def _machine_size(objects: list[_Printed]) -> _Size:
    """hwloc 1 prints no NUMA node where there is one only: all memory is the machine's."""
    return _Size(objects[0].size().amount, exact=False)


def _distances(lines: list[str], nodes: list[_Printed]) -> dict[int, tuple[int, ...]]:
    """NUMA node -> its row by ascending id; none unless the matrix has all nodes."""
    heads = [(at, match[1]) for at, line in enumerate(lines) if (match := _MATRIX.match(line)) is not None]
    if not heads:
        return {}
    at, by = heads[0]
    names = {node.logical if by == "logical" else node.own: node.number for node in nodes}
    rows = [[whole_number(word) for word in line.split()] for line in lines[at + 2 : at + 2 + len(nodes)]]
    columns = [names.get(whole_number(word)) for word in (lines[at + 1].split()[1:] if at + 1 < len(lines) else [])]
    if set(columns) != {node.number for node in nodes} or any(len(row) != len(columns) + 1 for row in rows):
        return {}
    found: dict[int, tuple[int, ...]] = {}
    for row in rows:
        node = names.get(row[0])
        values = {column: value for column, value in zip(columns, row[1:], strict=True) if column is not None}
        ascending = [values[id] for id in sorted(values)]
        if node is not None:
            found[node] = tuple(value for value in ascending if value is not None)
    complete = len(found) == len(nodes) and all(len(row) == len(nodes) for row in found.values())
    return found if complete else {}


_DRAWINGS = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8", "a JPEG picture"),
    (b"%PDF", "a PDF document"),
    (b"%!PS", "a PostScript document"),
    (b"#FIG", "a drawing for xfig"),
    (b"\\documentclass", "a drawing for LaTeX"),
    ("┌".encode(), "a drawing made of characters"),
)
_ONE_KIND = re.compile(r"\A\s*(?:Package|Socket|Die|Group\d?|NUMANode|L\d[id]?|Core|PU) [LP]#\d")
_HWLOC_INFO = re.compile(r"^depth 0:\s+1 Machine \(type #0\)", re.M)


def refuse_drawing(data: bytes | str, source: str) -> None:
    """Raises for what lstopo draws or shows a part of, and for hwloc-info, which only counts."""
    start = (data.encode("utf-8", "replace") if isinstance(data, str) else data)[:4096].removeprefix(b"\xef\xbb\xbf")
    for sign, what in _DRAWINGS:
        if start.lstrip().startswith(sign):
            raise InputError(f"this is {what}, and no machine can be read from it", source=source, cure=CURE)
    text = start.decode("utf-8", "replace")
    if _ONE_KIND.match(text):
        raise InputError("this is one kind of object, as lstopo --only prints it", source=source, cure=CURE)
    if _HWLOC_INFO.search(text):
        raise InputError("this is what hwloc-info counts, and not which CPUs are where", source=source, cure=CURE)
