"""Reads the table of `lscpu -p`: one line per CPU, the columns named in the comment above it.

Its core numbers count through the whole machine; they are not the kernel's. Caches come without a size.
"""

import re

from numafit.errors import InputError
from numafit.machine.bits import mask_of
from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.reading import UNKNOWN, cpus_in_kubelet_order, in_cache_order, in_kubelet_order, whole_number
from numafit.machine.uncore import with_uncore_caches

Row = tuple[int | None, dict[str, str]]
"""Line, and lower-case column name -> cell; an empty cell says nothing."""

_CACHE = re.compile(r"l([1-9])([di]?)", re.ASCII)
_KINDS = {"d": "data", "i": "instruction", "": "unified"}
_MOST_CACHES = 30
_CURE = "paste the whole output of lscpu -p, with its comment lines"


def read_table(text: str, source: str) -> Machine:
    columns: list[str] = []
    rows: list[Row] = []
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


def machine_of_rows(rows: list[Row], source: str) -> Machine:
    cpus: dict[int, Cpu] = {}
    shared: dict[tuple[int, str, int], list[int]] = {}
    given: set[str] = set()
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
    assumed = [name for name in ("core", "socket") if name not in given]
    if "node" not in given:
        assumed.append("numa")
    if not caches:
        assumed.append("uncore_cache")
    return Machine(
        cpus=with_uncore_caches(cpus_in_kubelet_order(cpus.values()), caches),
        numa_nodes=in_kubelet_order(NumaNode(id=node) for node in {cpu.numa for cpu in online}),
        sockets=len({cpu.socket for cpu in online}) if "socket" in given else None,
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
