"""Writes the machine file: equal things grouped, everything at its default left out, one line per thing."""

from collections.abc import Mapping, Sequence
from typing import Literal

from numafit.amounts import amount_text
from numafit.bits import cpuset_text, mask_of, members, numbers_text
from numafit.machine.file.fields import FORMAT
from numafit.machine.file.plain import json_text, yaml_text
from numafit.machine.model import Cache, Cpu, Device, Link, Machine, NumaNode
from numafit.machine.order import ORDERS

MOST_THREADS = 4
"""CPUs of a core on most processors; caches that serve more are listed by their CPUs."""

_FileMapping = Mapping[str, object]


def machine_text(machine: Machine, form: Literal["yaml", "json"] = "yaml") -> str:
    value = machine_value(machine)
    return yaml_text(value) if form == "yaml" else json_text(value)


def machine_value(machine: Machine) -> dict[str, object]:
    """What the file holds, as plain values."""
    order = _order(machine)
    fields: dict[str, object] = {
        "format": FORMAT,
        "name": machine.name,
        "model": machine.model,
        "memory": None if machine.memory is None else _amount(machine.memory),
        "sockets": machine.sockets,
        "assumed": ",".join(machine.assumed),
        "numaNodes": [_numa_node(node) for node in machine.numa_nodes],
        "cpus": _groups(machine.cpus),
        "cpuOrder": "" if order == "ascending" else order,
        "offline": _bare(cpuset_text(mask_of(cpu.id for cpu in machine.cpus if not cpu.online))),
        "isolated": _bare(cpuset_text(mask_of(cpu.id for cpu in machine.cpus if cpu.isolated))),
        "caches": _caches(machine.caches),
        "devices": [_device(device) for device in machine.devices],
    }
    if machine.links:
        fields["links"] = _matrix(machine) or [_link(link) for link in machine.links]
    return {name: value for name, value in fields.items() if value not in ("", None, [])}


def _amount(amount: int) -> str | int:
    return _bare(amount_text(amount))


def _bare(text: str) -> str | int:
    """A number where the text is one: it needs no quotes."""
    return int(text) if text.isdigit() else text


def _order(machine: Machine) -> str:
    for name, order in ORDERS.items():
        if tuple(order(machine.cpus, machine.numa_nodes)) == machine.cpus:
            return name
    return numbers_text([cpu.id for cpu in machine.cpus])


def _numa_node(node: NumaNode) -> _FileMapping:
    fields: dict[str, object] = {"id": node.id}
    if node.memory:
        fields["memory"] = _amount(node.memory)
    if node.hugepages:
        fields["hugepages"] = {amount_text(size): count for size, count in node.hugepages.items()}
    if node.distances is not None:
        fields["distances"] = list(node.distances)
    if node.device:
        fields["device"] = node.device
    return fields


def _groups(cpus: Sequence[Cpu]) -> list[_FileMapping]:
    """CPUs that differ in id and core only, in cores of equally many threads; groups by their lowest CPU."""
    cores: dict[tuple[object, ...], list[Cpu]] = {}
    for cpu in sorted(cpus, key=lambda cpu: cpu.id):
        cores.setdefault((*_common(cpu), cpu.core), []).append(cpu)
    groups: dict[tuple[object, ...], list[list[Cpu]]] = {}
    for core, threads in cores.items():
        # a core that is not known is no core: its CPUs have nothing in common
        parts = [[cpu] for cpu in threads] if threads[0].core < 0 else [threads]
        groups.setdefault((*core[:-1], threads[0].core < 0, len(parts[0])), []).extend(parts)
    return [_group(cores) for cores in groups.values()]


def _common(cpu: Cpu) -> tuple[object, ...]:
    return (cpu.numa, cpu.socket, cpu.die, cpu.uncore_cache, cpu.kind)


def _group(cores: Sequence[Sequence[Cpu]]) -> _FileMapping:
    first = cores[0][0]
    fields: dict[str, object] = {
        "numa": "unknown" if first.numa < 0 else first.numa,
        "socket": "unknown" if first.socket < 0 else first.socket,
    }
    if first.die is not None:
        fields["die"] = first.die
    if first.uncore_cache is not None:
        fields["uncoreCache"] = first.uncore_cache
    if first.kind:
        fields["kind"] = first.kind
    threads = [_bare(numbers_text([core[i].id for core in cores])) for i in range(len(cores[0]))]
    if len(threads) == 1:
        fields["cpus"] = threads[0]
    else:
        fields["threads"] = threads
    core_ids = "unknown" if first.core < 0 else _bare(numbers_text([core[0].core for core in cores]))
    if core_ids != threads[0]:
        fields["cores"] = core_ids
    return fields


def _caches(caches: Sequence[Cache]) -> list[_FileMapping]:
    """Neighbours that differ in CPUs and id only make one entry."""
    runs: list[list[Cache]] = []
    for cache in caches:
        if not runs or _alike(runs[-1][0]) != _alike(cache):
            runs.append([])
        runs[-1].append(cache)
    return [_cache_run(run) for run in runs]


def _alike(cache: Cache) -> tuple[object, ...]:
    return (cache.level, cache.kind, cache.size, cache.cpus.bit_count(), cache.id is None)


def _cache_run(run: Sequence[Cache]) -> _FileMapping:
    first = run[0]
    fields: dict[str, object] = {"level": first.level, "kind": first.kind, "size": _amount(first.size)}
    sets = [list(members(cache.cpus)) for cache in run]
    columns = [numbers_text(column) for column in zip(*sets, strict=True)]
    rows = [cpuset_text(cache.cpus) for cache in run]
    if len(rows) > 1 and 0 < len(columns) <= MOST_THREADS and sum(map(len, columns)) < sum(map(len, rows)):
        fields["threads"] = [_bare(column) for column in columns]
    else:
        fields["cpus"] = [_bare(row) for row in rows]
    if first.id is not None:
        fields["ids"] = _bare(numbers_text([cache.id or 0 for cache in run]))
    return fields


def _device(device: Device) -> _FileMapping:
    fields: dict[str, object] = {
        "id": device.id,
        "resource": device.resource,
        "numa": None if device.numa is None else list(device.numa),
        "healthy": None if device.healthy else False,
        "kind": device.kind,
        "name": device.name,
        "label": device.label,
        "bus": device.bus,
        "pciClass": None if device.pci_class is None else f"0x{device.pci_class:06x}",
        "switch": device.switch,
        "rootPort": device.root_port,
        "memory": _amount(device.memory) if device.memory else None,
        "parent": device.parent,
        "cpus": _bare(cpuset_text(device.cpus)),
        "driverNuma": device.driver_numa,
    }
    return {name: value for name, value in fields.items() if name == "id" or value not in ("", None)}


def _link(link: Link) -> _FileMapping:
    return {"a": link.a, "b": link.b, "kind": link.kind}


def _matrix(machine: Machine) -> _FileMapping | None:
    """Links of each pair of some devices, in the order of the device list, as the upper half of a matrix."""
    linked = {end for link in machine.links for end in (link.a, link.b)}
    ids = [device.id for device in machine.devices if device.id in linked]
    pairs = [(a, b) for i, a in enumerate(ids) for b in ids[i + 1 :]]
    if [(link.a, link.b) for link in machine.links] != pairs:
        return None
    kinds = iter(link.kind for link in machine.links)
    rows = [[next(kinds) for _ in ids[i + 1 :]] for i in range(len(ids) - 1)]
    names = _short_names(machine)
    return {"between": [names[id] for id in ids], "matrix": rows}


def _short_names(machine: Machine) -> dict[str, str]:
    """Device id -> label, if labels tell all devices apart; else the id."""
    labels = [device.label for device in machine.devices if device.label]
    ids = {device.id for device in machine.devices}
    distinct = len(set(labels)) == len(labels) and not ids & set(labels)
    return {device.id: device.label if distinct and device.label else device.id for device in machine.devices}
