"""Reads what `lscpu` prints: the summary (plain or `--json`), or the table of `-p` and `--json -e`.

The summary says how many threads a core and how many cores a socket has, but not which CPUs these are. Where that
leaves a choice, the reader takes the usual numbering and lists the field under `assumed`. The table has one line per
CPU, the columns named in the comment above it. Its core numbers count through the whole machine; they are not the
kernel's. Caches come without a size.
"""

import re
from collections.abc import Iterator

import msgspec

from numafit.bits import cpuset_text, mask_of, members
from numafit.errors import InputError
from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.order import cpus_in_kubelet_order, in_cache_order, in_kubelet_order
from numafit.machine.read.text import UNKNOWN, id_mask, text_of, whole_number
from numafit.machine.uncore import with_uncore_caches

_TableRow = tuple[int | None, dict[str, str]]
"""Line, and lower-case column name -> cell; an empty cell says nothing."""

_CACHE = re.compile(r"l([1-9])([di]?)", re.ASCII)
_KINDS = {"d": "data", "i": "instruction", "": "unified"}
_MOST_CACHES = 30
_CURE = "paste the whole output of lscpu -p, with its comment lines"


def read_table(text: str, source: str) -> Machine:
    columns: list[str] = []
    rows: list[_TableRow] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("#"):
            names = [name.strip().lower() for name in stripped[1:].split(",")]
            columns = names if "cpu" in names else columns
        elif columns and stripped[:1].isdigit():
            cells = [cell.strip() for cell in stripped.split(",")]
            if len(cells) != len(columns):
                message = f"{len(cells)} cells in a table of {len(columns)} columns"
                raise InputError(message, source=source, line=number, cure=_CURE)
            rows.append((number, dict(zip(columns, cells, strict=True))))
    return machine_of_rows(rows, source)


def machine_of_rows(rows: list[_TableRow], source: str) -> Machine:
    cpus: dict[int, Cpu] = {}
    shared: dict[tuple[int, str, int], list[int]] = {}
    given: set[str] = set()
    untold: set[str] = set()
    """Columns with an empty cell for a CPU that is online."""
    for line, row in rows:
        cpu = _id(row, "cpu", source, line)
        if cpu is None:
            raise InputError("a line without a CPU number", source=source, line=line, cure=_CURE)
        if cpu in cpus:
            raise InputError(f"CPU {cpu} stands here a second time", source=source, line=line, cure=_CURE)
        if row.get("online", "Y").lower() in ("n", "no", "0"):
            cpus[cpu] = Cpu(id=cpu, core=UNKNOWN, socket=UNKNOWN, numa=UNKNOWN, online=False)
            continue
        given |= row.keys()
        core, socket, node = (_id(row, name, source, line) for name in ("core", "socket", "node"))
        untold |= {name for name, value in (("core", core), ("socket", socket)) if value is None}
        # Without NUMA nodes the kubelet takes each package for one.
        package = 0 if socket is None else socket
        cpus[cpu] = Cpu(
            id=cpu,
            core=cpu if core is None else core,
            socket=package,
            numa=package if node is None else node,
        )
        for level, kind, cache in _caches(row, source, line):
            shared.setdefault((level, kind, cache), []).append(cpu)
    online = [cpu for cpu in cpus.values() if cpu.online]
    if not online:
        raise InputError("it names no CPU that is online", source=source, cure=_CURE)
    caches = in_cache_order(
        Cache(level=level, kind=kind, size=0, cpus=mask_of(members), id=cache)
        for (level, kind, cache), members in shared.items()
    )
    assumed = sorted(untold)
    if "node" not in given:
        assumed.append("numa")
    if not caches:
        assumed.append("uncore_cache")
    return Machine(
        cpus=with_uncore_caches(cpus_in_kubelet_order(cpus.values()), caches),
        numa_nodes=in_kubelet_order(NumaNode(id=node) for node in {cpu.numa for cpu in online}),
        sockets=len({cpu.socket for cpu in online}) if "socket" not in untold else None,
        caches=caches,
        model=next((row["modelname"] for _, row in rows if row.get("modelname")), ""),
        assumed=tuple(sorted(assumed)),
    )


def _id(row: dict[str, str], name: str, source: str, line: int | None) -> int | None:
    text = row.get(name, "")
    if text in ("", "-"):
        return None
    number = whole_number(text)
    if number is None:
        raise InputError(f'"{text[:40]}" is not an id in column {name}', source=source, line=line, cure=_CURE)
    return number


def _caches(row: dict[str, str], source: str, line: int | None) -> list[tuple[int, str, int]]:
    """Level, kind and id. The caches stand in columns of their own, or together as `L1d:L1i:L2:L3`."""
    found = []
    for column, cells in row.items():
        names, values = column.split(":"), cells.split(":")
        if _CACHE.fullmatch(names[0]) is None or len(names) > _MOST_CACHES or cells in ("", "-"):
            continue
        if len(names) != len(values):
            message = f'"{cells[:40]}" does not fit the column {column[:40]}'
            raise InputError(message, source=source, line=line, cure=_CURE)
        for name, value in zip(names, values, strict=True):
            match = _CACHE.fullmatch(name)
            cache = _id({name: value}, name, source, line)
            if match is not None and cache is not None:
                found.append((int(match[1]), _KINDS[match[2]], cache))
    return found


_ONLINE, _OFFLINE = "On-line CPU(s) list", "Off-line CPU(s) list"
_NODE_CPUS = re.compile(r"NUMA node(\d{1,5}) CPU\(s\)", re.ASCII)

_SummaryField = tuple[int | None, str, str]
"""Line, name without the colon, value."""


def read_lscpu(data: str | bytes, source: str = "lscpu") -> Machine:
    """Any output of lscpu that names CPUs; which one it is shows in the text."""
    text = text_of(data, source)
    start = text.lstrip()[:1]
    if start == "{":
        return _read_json(text, source)
    if re.search(r"(?m)^# *CPU\b", text):
        return read_table(text, source)
    fields: list[_SummaryField] = [
        (number, name.strip(), value.strip())
        for number, line in enumerate(text.splitlines(), 1)
        for name, colon, value in [line.partition(":")]
        if colon
    ]
    return _machine_of_summary(fields, source)


class _Entry(msgspec.Struct):
    field: str = ""
    data: str | None = None
    children: "list[_Entry]" = []


class _Json(msgspec.Struct):
    lscpu: list[_Entry] | None = None
    cpus: list[dict[str, object]] | None = None


def _read_json(text: str, source: str) -> Machine:
    try:
        parsed = msgspec.json.decode(text.encode("utf-8", "replace"), type=_Json)
    except (msgspec.MsgspecError, RecursionError) as error:
        message = f"not the JSON of lscpu: {str(error)[:200]}"
        raise InputError(message, source=source, cure="paste the whole output of lscpu --json") from None
    if parsed.cpus is not None:
        rows = [{name.lower(): _cell(value) for name, value in row.items()} for row in parsed.cpus]
        return machine_of_rows([(None, row) for row in rows], source)
    if parsed.lscpu is None:
        message = 'neither "lscpu" nor "cpus" in it'
        raise InputError(message, source=source, cure="paste the whole output of lscpu --json")
    return _machine_of_summary(list(_flat(parsed.lscpu)), source)


def _cell(value: object) -> str:
    if value is None or value == "-":
        return ""
    if isinstance(value, bool):
        return "Y" if value else "N"
    return str(value) if isinstance(value, str | int) else "?"


def _flat(entries: list[_Entry]) -> Iterator[_SummaryField]:
    waiting = list(reversed(entries))
    while waiting:
        entry = waiting.pop()
        yield None, entry.field.strip().removesuffix(":"), (entry.data or "").strip()
        waiting += reversed(entry.children)


def _machine_of_summary(fields: list[_SummaryField], source: str) -> Machine:
    first: dict[str, str] = {}
    nodes: dict[int, int] = {}
    masks: dict[str, int] = {}
    for line, name, value in fields:
        match = _NODE_CPUS.fullmatch(name)
        if match is not None:
            nodes[int(match[1])] = id_mask(value, source, line)
        elif name in (_ONLINE, _OFFLINE):
            masks[name] = id_mask(value, source, line)
        else:
            first.setdefault(name, value)
    everything = 0
    for cpus in nodes.values():
        if everything & cpus:
            message = f"CPU {cpuset_text(everything & cpus)} stands on two NUMA nodes"
            raise InputError(message, source=source, cure="paste the output of lscpu unchanged")
        everything |= cpus
    online = masks.get(_ONLINE) or everything
    if not online:
        message = "it names neither CPUs nor NUMA nodes"
        raise InputError(message, source=source, cure="paste the output of LC_ALL=C lscpu, or better of lscpu -p")
    return _machine(first, nodes, online, masks.get(_OFFLINE, 0) & ~online)


def _machine(first: dict[str, str], nodes: dict[int, int], online: int, offline_mask: int) -> Machine:
    threads = whole_number(first.get("Thread(s) per core", "")) or 1
    sockets = whole_number(first.get("Socket(s)", first.get("CPU socket(s)", ""))) or None
    assumed = ["uncore_cache"]
    if threads > 1 or "Thread(s) per core" not in first:
        assumed.append("core")
    if sockets != 1:
        assumed.append("socket")
    if not nodes:
        # A kernel without NUMA: the kubelet takes each package for a node.
        nodes = {0: online}
        if sockets != 1:
            assumed.append("numa")
    with_cpus = sorted(node for node, cpus in nodes.items() if cpus & online)
    nodes_per_socket = max(1, -(-len(with_cpus) // (sockets or len(with_cpus) or 1)))
    cpus: list[Cpu] = []
    for index, node in enumerate(with_cpus):
        socket = index // nodes_per_socket
        ids = list(members(nodes[node] & online))
        for cpu, core in zip(ids, _cores(ids, threads, alone=len(with_cpus) == 1), strict=True):
            cpus.append(Cpu(id=cpu, core=core, socket=socket, numa=node))
    offline = [Cpu(id=cpu, core=UNKNOWN, socket=UNKNOWN, numa=UNKNOWN, online=False) for cpu in members(offline_mask)]
    return Machine(
        cpus=tuple(cpus_in_kubelet_order([*cpus, *offline])),
        numa_nodes=in_kubelet_order(NumaNode(id=node) for node in nodes),
        sockets=sockets,
        model=first.get("Model name", ""),
        assumed=tuple(sorted(assumed)),
    )


def _cores(ids: list[int], threads: int, *, alone: bool) -> list[int]:
    """The core of each CPU of a NUMA node, named by its lowest CPU.

    Linux numbers the first threads of all cores, then the second ones; virtual machines number the threads of a core
    one after the other. The second way shows when a node is one run of CPUs although there are other nodes.
    """
    if threads == 1 or len(ids) % threads:
        return ids
    cores = len(ids) // threads
    if not alone and ids[-1] - ids[0] == len(ids) - 1:
        return [ids[position // threads * threads] for position in range(len(ids))]
    return [ids[position % cores] for position in range(len(ids))]
