"""The machine as plain tables: one row per CPU, NUMA node, device or link. Columns that would be empty are left out."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from numafit.amounts import amount_text
from numafit.machine.gpu_sets import pairs_of
from numafit.machine.links import generation_of, link_meaning, rate_text
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.show.table import PLAIN, Screen, aligned
from numafit.show.words import device_label, ids_text, printable

TextRow = Sequence[str]


def cpu_table(machine: Machine, screen: Screen = PLAIN) -> str:
    """By CPU id."""
    cpus = sorted(machine.cpus, key=lambda cpu: cpu.id)
    heads = ("CPU", "core", "socket", "die", "NUMA", "uncore cache", "kind", "state")
    return columns(heads, [_cpu_row(cpu) for cpu in cpus], left=("kind", "state"), screen=screen)


def _cpu_row(cpu: Cpu) -> TextRow:
    state = "isolated" if cpu.isolated else ""
    uncore = "" if cpu.uncore_cache is None else str(cpu.uncore_cache)
    die = "" if cpu.die is None else str(cpu.die)
    return (
        str(cpu.id),
        str(cpu.core),
        str(cpu.socket),
        die,
        str(cpu.numa),
        uncore,
        cpu.kind,
        state if cpu.online else "offline",
    )


def numa_table(machine: Machine, screen: Screen = PLAIN) -> str:
    """By NUMA node id; distances in the order of the rows, equal neighbours written once with their number."""
    nodes = sorted(machine.numa_nodes, key=lambda node: node.id)
    labels = {device.id: device_label(device) for device in machine.devices}
    sockets: dict[int, set[int]] = {}
    cpus: dict[int, list[int]] = {}
    for cpu in machine.cpus:
        if cpu.online:
            sockets.setdefault(cpu.numa, set()).add(cpu.socket)
            cpus.setdefault(cpu.numa, []).append(cpu.id)
    at: dict[int, list[str]] = {}
    for device in machine.devices:
        for number in device.numa or ():
            at.setdefault(number, []).append(device_label(device))
    rows = [
        (
            str(node.id),
            ids_text(sockets.get(node.id, ())),
            amount_text(node.memory) if node.memory else "",
            ", ".join(f"{count} x {amount_text(size)}" for size, count in sorted(node.hugepages.items())),
            ids_text(cpus.get(node.id, ())),
            " ".join(at.get(node.id, ()))
            or (f"memory of {labels.get(node.device, node.device)}" if node.device else ""),
            _distances(node),
        )
        for node in nodes
    ]
    heads = ("NUMA", "socket", "memory", "huge pages", "CPUs", "devices", "distances")
    return columns(heads, rows, left=("huge pages", "CPUs", "devices", "distances"), screen=screen)


def _distances(node: NumaNode) -> str:
    runs = [(value, len(list(run))) for value, run in groupby(node.distances or ())]
    return " ".join(" ".join([str(value)] * count) if count < 4 else f"{count}x{value}" for value, count in runs)


def device_table(machine: Machine, screen: Screen = PLAIN) -> str:
    """In device order. `driver` is the NUMA node that the vendor's tool names, where it differs."""
    rows = [
        (
            device.label,
            device.kind,
            "none" if device.numa == () else "" if device.numa is None else ids_text(device.numa),
            str(device.driver_numa) if device.driver_numa is not None and device.numa != (device.driver_numa,) else "",
            device.bus,
            device.switch,
            device.name,
            amount_text(device.memory) if device.memory else "",
            device.resource,
            device.id if device.id not in (device.bus, device.label) else "",
            "" if device.healthy else "unhealthy",
        )
        for device in machine.devices
    ]
    heads = ("device", "kind", "NUMA", "driver", "bus", "switch", "name", "memory", "resource", "id", "state")
    return columns(heads, rows, left=tuple(head for head in heads if head != "memory"), screen=screen)


def link_table(machine: Machine, screen: Screen = PLAIN) -> str:
    """In the order of the machine's links."""
    labels = {device.id: device_label(device) for device in machine.devices}
    gpus = {gpu.id: gpu for gpu in pairs_of(machine).gpus}
    rows = []
    for link in machine.links:
        gpu = gpus.get(link.a) if link.b in gpus else None
        rate = rate_text(link.kind, generation_of(gpu.name)) if gpu else ""
        rows.append((labels.get(link.a, link.a), labels.get(link.b, link.b), link.kind, rate, link_meaning(link.kind)))
    heads = ("from", "to", "kind", "typical, one way", "meaning")
    return columns(heads, rows, left=heads, screen=screen)


TABLES: Mapping[str, Callable[[Machine, Screen], str]] = {
    "cpus": cpu_table,
    "numa": numa_table,
    "devices": device_table,
    "links": link_table,
}


def columns(heads: TextRow, rows: Sequence[TextRow], left: Sequence[str] = (), screen: Screen = PLAIN) -> str:
    """Columns two blanks apart, numbers to the right. Without rows only the heads are shown."""
    rows = [tuple(map(printable, row)) for row in rows]
    kept = [i for i in range(len(heads)) if not rows or any(row[i] for row in rows)]
    right = [place for place, i in enumerate(kept) if heads[i] not in left]
    return aligned([[row[i] for i in kept] for row in (heads, *rows)], right, screen) + "\n"
