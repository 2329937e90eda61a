"""Nodes as rows of a table: how much each has. Of which NUMA nodes it is made, and its kubelet, are assumed.

Ours has the columns `cpu` and `memory`, `name` and `count` where wanted, and a column for each kind of device by its
resource. That of Alibaba's cluster-trace-gpu-v2023 is known by its columns.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from numafit.cluster.sim.file import STORAGE, SimulatedGroup
from numafit.cluster.sim.group import reconfigured
from numafit.cluster.sim.node_object import NodeMark
from numafit.document import read_document
from numafit.errors import InputError
from numafit.fleet.simulation.rows import CsvRows
from numafit.machine.model import Machine
from numafit.machine.sketch.devices import with_devices
from numafit.machine.sketch.line import read_sketch
from numafit.notes import Note
from numafit.quantity import Quantity, QuantityError, parse_quantity, quantity_of
from numafit.settings.read.loader import ConfigFile
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion
from numafit.workload.api_server import is_extended_name

OWN = ("name", "count", "cpu", "memory")
ALIBABA = ("sn", "cpu_milli", "memory_mib", "gpu")
NVIDIA = "nvidia.com/gpu"
MOST_NODES = 100_000
MOST_DEVICES = 64
MOST_CPUS = 4096
MOST_MEMORY = 1 << 30
"""In MiB: 1 Pi. No machine has more, and more CPUs either."""
NUMA_NODES = 2
NUMA_ASSUMED = "nodes-numa-assumed"
KUBELET_ASSUMED = "nodes-kubelet-assumed"
DEVICES_COUNTED = "nodes-devices-counted"


class TableRow(msgspec.Struct, frozen=True):
    """What nodes that are taken for equal have."""

    cpus: int
    memory: int
    """In MiB."""
    devices: tuple[tuple[str, int], ...] = ()
    """(resource, how many), by resource."""
    version: KubeVersion = DEFAULT_VERSION
    hugepages: tuple[tuple[int, int], ...] = ()
    """(bytes of a page, how many), by size."""
    counted: tuple[tuple[str, int], ...] = ()
    """Resources of which so much is counted, and placed on no NUMA node."""
    storage: int | None = None
    """In GiB."""
    pods: int | None = None
    """So many at most."""


class NodeTable(msgspec.Struct, frozen=True):
    rows: Mapping[TableRow, tuple[str, ...]]
    """With the names of the nodes."""
    skipped: tuple[str, ...] = ()
    """What is wrong with the lines that were left out, with their places."""


class NodeAssumptions(msgspec.Struct, frozen=True):
    """What no table tells."""

    numa: int = NUMA_NODES
    kubelet: ConfigFile | None = None
    """None: a static CPU manager with the first core reserved, and `single-numa-node`."""


def looks_like_table(text: str) -> bool:
    columns = text.removeprefix("\ufeff").partition("\n")[0].strip().split(",")
    return len(columns) > 1 and ("cpu" in columns or "cpu_milli" in columns)


def read_node_table(text: str, source: str) -> NodeTable:
    """Raises InputError where no line can be read."""
    lines = CsvRows(text, source)
    columns = lines.columns
    read = _alibaba_row if all(name in columns for name in ALIBABA) else _own_row
    if read is _own_row:
        _check_columns(columns, source)
    rows: dict[TableRow, list[str]] = {}
    seen: set[str] = set()
    skipped: list[InputError] = []
    for number, line in lines:
        if isinstance(line, InputError):
            skipped.append(line)
            continue
        try:
            named = read(line, f"node-{number}")
            _check(named, seen)
        except InputError as error:
            skipped.append(InputError(error.message, source=source, line=number))
            continue
        seen.update(named.names)
        rows.setdefault(named.row, []).extend(named.names)
    if not rows:
        raise skipped[0] if skipped else InputError("there is no node in it", source=source)
    return NodeTable({row: tuple(names) for row, names in rows.items()}, tuple(map(str, skipped)))


class _NamedRow(NamedTuple):
    names: tuple[str, ...]
    row: TableRow


def _check_columns(columns: Iterable[str], source: str) -> None:
    for name in ("cpu", "memory"):
        if name not in columns:
            cure = "docs/fleet-simulate.md shows the formats"
            raise InputError(f"no column {name}", source=source, line=1, cure=cure)
    unknown = [name for name in columns if name not in OWN and not is_extended_name(name)]
    if unknown:
        cure = f"known are {', '.join(OWN)} and resources like {NVIDIA}"
        raise InputError(f'"{unknown[0][:60]}" is no column of nodes', source=source, line=1, cure=cure)


def _own_row(line: Mapping[str, str], name: str) -> _NamedRow:
    count = _whole(line, "count", 1)
    if not 1 <= count <= MOST_NODES:
        raise InputError(f"{count} is no number of nodes")
    name = line.get("name") or name
    names = (name,) if count == 1 else tuple(f"{name}-{number}" for number in range(count))
    devices = tuple(sorted((own, _whole(line, own, 0)) for own in line if "/" in own))
    row = checked_row(_quantity(line, "cpu").milli(), _quantity(line, "memory").value() >> 20, devices)
    return _NamedRow(names, row)


def _alibaba_row(line: Mapping[str, str], name: str) -> _NamedRow:
    gpus = ((NVIDIA, _whole(line, "gpu", 0)),)
    row = checked_row(_whole(line, "cpu_milli"), _whole(line, "memory_mib"), gpus)
    return _NamedRow((line["sn"] or name,), row)


def _whole(line: Mapping[str, str], column: str, usual: int | None = None) -> int:
    """`usual`: where nothing stands there."""
    text = line.get(column, "")
    if not text and usual is not None:
        return usual
    try:
        return int(text)
    except ValueError:
        raise InputError(f'{column} is "{text[:60]}", and no whole number') from None


def _quantity(line: Mapping[str, str], column: str) -> Quantity:
    try:
        return parse_quantity(line[column])
    except QuantityError:
        raise InputError(f'{column} is "{line[column][:60]}", and no quantity like 16 or 64Gi') from None


def checked_row(milli: int, memory: int, devices: tuple[tuple[str, int], ...]) -> TableRow:
    if milli % 1000 or milli < 2000:
        raise InputError("a node has whole CPUs, and at least two")
    if milli > MOST_CPUS * 1000:
        raise InputError(f"{milli // 1000} CPUs are not believed: at most {MOST_CPUS}")
    if memory < 1024:
        raise InputError("a node has at least 1 GiB of memory")
    if memory > MOST_MEMORY:
        raise InputError(f"{memory >> 10} GiB of memory are not believed: at most {MOST_MEMORY >> 10}")
    for resource, count in devices:
        if not 0 <= count <= MOST_DEVICES:
            raise InputError(f"{count} {resource} are not believed: 0 to {MOST_DEVICES}")
    return TableRow(milli // 1000, memory, tuple(own for own in devices if own[1]))


def _check(named: _NamedRow, seen: set[str]) -> None:
    twice = seen.intersection(named.names)
    if twice:
        raise InputError(f'there are two nodes of the name "{min(twice)}"')
    if len(seen) + len(named.names) > MOST_NODES:
        raise InputError(f"more than {MOST_NODES} nodes")


def groups_of_table(table: NodeTable, assumed: NodeAssumptions) -> Iterator[tuple[SimulatedGroup, tuple[str, ...]]]:
    """With the names of the nodes."""
    seen: dict[str, int] = {}
    for row, names in table.rows.items():
        machine = machine_of_row(row, assumed.numa)
        config = assumed.kubelet or usual_config(machine)
        name = _kind_name(row)
        seen[name] = seen.get(name, 0) + 1
        unlike = f"{name}-{seen[name]}" if seen[name] > 1 else name
        storage = parse_quantity(STORAGE if row.storage is None else f"{row.storage}Gi")
        mark = NodeMark(storage=storage, offers={name: quantity_of(many) for name, many in row.counted})
        group = SimulatedGroup(unlike, len(names), machine, config, row.version, mark)
        yield (group if row.pods is None or _says_pods(config) else reconfigured(group, {"maxPods": row.pods})), names


def _says_pods(config: ConfigFile) -> bool:
    value = read_document(config.text, config.name).value
    return isinstance(value, dict) and "maxPods" in value


def _kind_name(row: TableRow) -> str:
    """What there is most of to tell: `96cpu-384gi-8gpu`."""
    devices = [f"-{many}{resource.rpartition('/')[2]}" for resource, many in row.devices]
    return f"{row.cpus}cpu-{row.memory >> 10}gi{''.join(devices)}"


def machine_of_row(row: TableRow, numa: int) -> Machine:
    """CPUs, memory and devices in equal parts, two threads to a core where that comes out; fewer NUMA nodes where the
    CPUs cannot be split so."""
    while numa > 1 and row.cpus % numa:
        numa -= 1
    threads = 2 if row.cpus // numa % 2 == 0 else 1
    cores = row.cpus // numa // threads
    machine = read_sketch(f"{numa} sockets x {cores} cores x {threads} threads, {row.memory // numa}Mi per numa")
    specs = [
        f"{resource}=" + ",".join(f"{resource.rpartition('/')[2]}{own}@{own * numa // count}" for own in range(count))
        for resource, count in row.devices
    ]
    nodes = tuple(
        replace(node, hugepages={size: many // numa + (place < many % numa) for size, many in row.hugepages})
        for place, node in enumerate(machine.numa_nodes)
    )
    machine = replace(machine, numa_nodes=nodes)
    return with_devices(machine, specs) if specs else machine


def usual_config(machine: Machine) -> ConfigFile:
    first = machine.cpus[0]
    reserved = sorted(cpu.id for cpu in machine.cpus if (cpu.socket, cpu.core) == (first.socket, first.core))
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "single-numa-node",
        "reservedSystemCPUs": ",".join(map(str, reserved)),
    }
    return ConfigFile("the assumed kubelet configuration", json.dumps(config, indent=1))


def assumption_notes(assumed: NodeAssumptions, untold: str = "") -> Iterator[Note]:
    """`untold`: of which nodes that is so, where it is not all of them: `of the 3 nodes without …`."""
    which = f" {untold}" if untold else ""
    fewer = ", or fewer where its CPUs cannot be split so,"
    what = f"{assumed.numa} NUMA nodes{fewer}" if assumed.numa > 1 else "one NUMA node"
    yield Note(
        NUMA_ASSUMED, "nodes", f"each node{which} is taken for one of {what} with equal parts of all that it has"
    )
    if assumed.kubelet is None:
        policy = "single-numa-node where no --policy says otherwise"
        said = f"each kubelet{which} is taken for one with a static CPU manager, the first core reserved, and {policy}"
        yield Note(KUBELET_ASSUMED, "nodes", said)


def counted_notes(rows: Iterable[TableRow]) -> Iterator[Note]:
    names = sorted({name for row in rows for name, _ in row.counted})
    if names:
        said = (
            f"{', '.join(names)}: more than {MOST_DEVICES} on a node are counted, and placed on none of its NUMA nodes"
        )
        yield Note(DEVICES_COUNTED, "nodes", said)
