"""Reads the machine file. What contradicts itself is refused with file, line and field."""

from collections.abc import Sequence

import msgspec

from numafit.amounts import parse_amount
from numafit.bits import LARGEST_ID, numbers_mask
from numafit.document import Document, read_document
from numafit.machine.file.fields import FORMAT, Fields
from numafit.machine.model import Cache, Cpu, Device, Link, Machine, NumaNode
from numafit.machine.order import ORDERS

_DEVICE = (
    *("id", "resource", "numa", "healthy", "kind", "name", "label", "bus", "pciClass", "switch", "rootPort"),
    *("memory", "parent", "cpus", "driverNuma"),
)


def read_devices(root: Fields) -> tuple[Device, ...]:
    devices: dict[tuple[str, str], Device] = {}
    for index in range(len(root.items("devices"))):
        fields = root.within("devices", _DEVICE, index)
        fields.need("id")
        device = Device(
            resource=fields.text("resource"),
            id=fields.text("id"),
            # A plugin may name a node that is not there; the kubelet takes it.
            numa=fields.integers("numa"),
            healthy=fields.flag("healthy", True),
            kind=fields.text("kind"),
            name=fields.text("name"),
            label=fields.text("label"),
            bus=fields.text("bus"),
            pci_class=_pci_class(fields),
            switch=fields.text("switch"),
            root_port=fields.text("rootPort"),
            memory=fields.amount("memory") or 0,
            parent=fields.text("parent"),
            cpus=numbers_mask(fields.numbers("cpus")),
            driver_numa=fields.integer("driverNuma"),
        )
        if (device.resource, device.id) in devices:
            raise fields.error(f'the device "{device.id[:60]}" is listed twice', "id")
        devices[device.resource, device.id] = device
    return tuple(devices.values())


def _pci_class(fields: Fields) -> int | None:
    value = fields.value("pciClass")
    if not isinstance(value, str):
        return fields.integer("pciClass")
    try:
        number = int(value, 16) if len(value) <= 8 else -1
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 24:
        raise fields.error(f'"{value[:40]}" is not a PCI class', "pciClass", cure="write it like 0x030200")
    return number


def read_links(root: Fields, devices: Sequence[Device]) -> tuple[Link, ...]:
    place = {device.id: index for index, device in reversed(list(enumerate(devices)))}
    named = {**{device.label: device.id for device in devices if device.label}, **{id: id for id in place}}
    links: dict[tuple[str, str], Link] = {}
    for name, step, a, b, kind in _pairs(root):
        for end in (a, b):
            if end not in named:
                raise root.error(f'there is no device "{end[:60]}"', "links", name, step)
        a, b = sorted((named[a], named[b]), key=lambda end: place[end])
        if a == b or (a, b) in links:
            fault = "a device is linked with itself" if a == b else "these two devices are linked twice"
            raise root.error(fault, "links", name, step)
        links[a, b] = Link(a, b, kind)
    return tuple(links.values())


def _pairs(root: Fields) -> list[tuple[str | int, str | int, str, str, str]]:
    """(two steps of the path for complaints, one end, the other end, kind) of each link."""
    if not isinstance(root.value("links"), dict):
        found: list[tuple[str | int, str | int, str, str, str]] = []
        for index in range(len(root.items("links"))):
            fields = root.within("links", ("a", "b", "kind"), index)
            for name in ("a", "b", "kind"):
                fields.need(name)
            found.append((index, "a", fields.text("a"), fields.text("b"), fields.text("kind")))
        return found
    fields = root.within("links", ("between", "matrix"))
    ends, rows = fields.items("between"), fields.items("matrix")
    if len(rows) != max(len(ends) - 1, 0):
        raise fields.error(f"{len(rows)} rows for {len(ends)} devices", "matrix", cure="one row less than devices")
    pairs: list[tuple[str | int, str | int, str, str, str]] = []
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(ends) - 1 - i:
            raise fields.error(f"a list of {len(ends) - 1 - i} kinds is needed here", "matrix", i)
        for kind, end in zip(row, ends[i + 1 :], strict=True):
            one = ends[i]
            if not (isinstance(kind, str) and isinstance(one, str) and isinstance(end, str)):
                raise fields.error("devices and kinds must be texts", "matrix", i)
            pairs.append(("matrix", i, one, end, kind))
    return pairs


_MACHINE = (
    *(
        "format",
        "name",
        "model",
        "memory",
        "sockets",
        "assumed",
        "numaNodes",
        "cpus",
        "cpuOrder",
        "offline",
        "isolated",
    ),
    *("caches", "devices", "links"),
)
_NUMA_NODE = ("id", "memory", "memoryBytes", "hugepages", "distances", "device")
_ONE_CPU = ("cpu", "core", "socket", "numa", "uncoreCache")
_GROUP = ("numa", "socket", "die", "uncoreCache", "kind", "cpus", "threads", "cores")
_CACHE = ("level", "kind", "size", "cpus", "threads", "ids")
_CACHE_KINDS = ("data", "instruction", "unified")


def read_machine_file(data: str | bytes, source: str = "") -> Machine:
    return machine_of_document(read_document(data, source))


def machine_of_document(document: Document) -> Machine:
    root = Fields(document, (), document.value, _MACHINE)
    if root.text("format", FORMAT) != FORMAT:
        raise root.error(f'the format "{root.text("format")[:40]}" is not known', "format", cure=f"it must be {FORMAT}")
    nodes = _numa_nodes(root)
    cpus = _cpus(root, nodes)
    devices = read_devices(root)
    return Machine(
        cpus=cpus,
        numa_nodes=nodes,
        devices=devices,
        links=read_links(root, devices),
        memory=root.amount("memory"),
        sockets=root.integer("sockets"),
        name=root.text("name"),
        caches=_caches(root),
        model=root.text("model"),
        assumed=tuple(word for word in root.text("assumed").split(",") if word),
    )


def _numa_nodes(root: Fields) -> tuple[NumaNode, ...]:
    items = root.items("numaNodes")
    nodes: dict[int, NumaNode] = {}
    for index in range(len(items)):
        fields = root.within("numaNodes", _NUMA_NODE, index)
        fields.need("id")
        id = fields.integer("id") or 0
        if id > LARGEST_ID:
            raise fields.error(f"{id} is out of range", "id")
        if id in nodes:
            raise fields.error(f"NUMA node {id} is listed twice", "id")
        if "memory" in fields and "memoryBytes" in fields:
            raise fields.error("memory is given twice", "memoryBytes", cure="leave one of the two out")
        distances = fields.integers("distances")
        if distances is not None and len(distances) != len(items):
            message = f"{len(distances)} distances for {len(items)} NUMA nodes"
            raise fields.error(message, "distances", cure="give one per NUMA node, in the order of numaNodes")
        nodes[id] = NumaNode(
            id=id,
            memory=fields.amount("memory") or fields.integer("memoryBytes") or 0,
            hugepages=_hugepages(fields),
            distances=distances,
            device=fields.text("device"),
        )
    return tuple(nodes.values())


def _hugepages(node: Fields) -> dict[int, int]:
    pages: dict[int, int] = {}
    for size, count in node.mapping("hugepages").items():
        try:
            number = parse_amount(size)
        except ValueError:
            message = f'"{size[:40]}" is not a page size'
            raise node.error(message, "hugepages", size, cure="write it like 2Mi or 1Gi") from None
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise node.error("a number of pages is needed here", "hugepages", size)
        pages[number] = count
    return pages


def _cpus(root: Fields, nodes: Sequence[NumaNode]) -> tuple[Cpu, ...]:
    known = {node.id for node in nodes}
    cpus: dict[int, Cpu] = {}
    as_written = True
    for index, item in enumerate(root.items("cpus")):
        alone = isinstance(item, dict) and "cpu" in item
        as_written = as_written and alone
        fields = root.within("cpus", _ONE_CPU if alone else _GROUP, index)
        found = [_one_cpu(fields)] if alone else _group(fields)
        if nodes and found and found[0].numa >= 0 and found[0].numa not in known:
            message = f"there is no NUMA node {found[0].numa}"
            raise fields.error(message, "numa", cure="list it under numaNodes, or correct the number")
        for cpu in found:
            if cpu.id in cpus:
                raise fields.error(f"CPU {cpu.id} is listed a second time", "cpu" if alone else "cpus")
            cpus[cpu.id] = cpu
    offline, isolated = _listed(root, "offline", cpus), _listed(root, "isolated", cpus)
    for id in offline | isolated:
        cpus[id] = msgspec.structs.replace(cpus[id], online=id not in offline, isolated=id in isolated)
    if as_written and "cpuOrder" not in root:
        return tuple(cpus.values())
    return _ordered(root, cpus, nodes)


def _ordered(root: Fields, cpus: dict[int, Cpu], nodes: Sequence[NumaNode]) -> tuple[Cpu, ...]:
    name = root.value("cpuOrder")
    order = ORDERS.get(name if isinstance(name, str) else "ascending")
    if order is not None and not isinstance(name, int):
        return tuple(order(list(cpus.values()), nodes))
    ids = root.numbers("cpuOrder")
    if sorted(ids) != sorted(cpus):
        raise root.error(
            "the order does not list each CPU once", "cpuOrder", cure=f"list all CPUs or write {', '.join(ORDERS)}"
        )
    return tuple(cpus[id] for id in ids)


def _listed(root: Fields, name: str, cpus: dict[int, Cpu]) -> set[int]:
    listed = set(root.numbers(name))
    missing = listed - cpus.keys()
    if missing:
        raise root.error(f"there is no CPU {min(missing)}", name)
    return listed


def _place(fields: Fields, name: str) -> int:
    """A NUMA node or socket; -1 if its number is not known."""
    fields.need(name)
    return -1 if fields.value(name) == "unknown" else fields.integer(name) or 0


def _one_cpu(fields: Fields) -> Cpu:
    for name in ("cpu", "core"):
        fields.need(name)
    return Cpu(
        id=fields.numbers("cpu")[0],
        core=fields.integer("core") or 0,
        socket=_place(fields, "socket"),
        numa=_place(fields, "numa"),
        uncore_cache=fields.integer("uncoreCache"),
    )


def _group(fields: Fields) -> list[Cpu]:
    if ("cpus" in fields) == ("threads" in fields):
        raise fields.error("a group of CPUs needs either cpus or threads", cure="threads has one list per thread")
    threads = _columns(fields) if "threads" in fields else [fields.numbers("cpus")]
    cores = threads[0]
    if fields.value("cores") == "unknown":
        cores = [-1] * len(threads[0])
    elif "cores" in fields:
        cores = fields.numbers("cores")
    if len(cores) != len(threads[0]):
        raise fields.error(f"{len(cores)} core ids for {len(threads[0])} cores", "cores")
    socket, numa = _place(fields, "socket"), _place(fields, "numa")
    die, uncore_cache, kind = fields.integer("die"), fields.integer("uncoreCache"), fields.text("kind")
    return [
        Cpu(id=cpu, core=core, socket=socket, numa=numa, die=die, uncore_cache=uncore_cache, kind=kind)
        for thread in threads
        for cpu, core in zip(thread, cores, strict=True)
    ]


def _columns(fields: Fields) -> list[list[int]]:
    """The lists under `threads`, which must be equally long."""
    columns = [fields.numbers("threads", step) for step in range(len(fields.items("threads")))]
    for step, column in enumerate(columns):
        if len(column) != len(columns[0]):
            message = f"{len(column)} CPUs here, {len(columns[0])} in the first list"
            raise fields.error(message, "threads", step, cure="each list names one CPU of every core")
    return columns or [[]]


def _caches(root: Fields) -> tuple[Cache, ...]:
    caches: list[Cache] = []
    for index in range(len(root.items("caches"))):
        fields = root.within("caches", _CACHE, index)
        for name in ("level", "kind"):
            fields.need(name)
        if fields.text("kind") not in _CACHE_KINDS:
            raise fields.error("this is no kind of cache", "kind", cure=f"write {', '.join(_CACHE_KINDS)}")
        if ("cpus" in fields) == ("threads" in fields):
            raise fields.error("a list of caches needs either cpus or threads")
        if "threads" in fields:
            sets = [numbers_mask(shared) for shared in zip(*_columns(fields), strict=True)]
        else:
            sets = [numbers_mask(fields.numbers("cpus", step)) for step in range(len(fields.items("cpus")))]
        ids: Sequence[int | None] = fields.numbers("ids") if "ids" in fields else [None] * len(sets)
        if len(ids) != len(sets):
            raise fields.error(f"{len(ids)} ids for {len(sets)} caches", "ids")
        level, kind, size = fields.integer("level") or 0, fields.text("kind"), fields.amount("size") or 0
        caches += [Cache(level, kind, size, cpus, id) for cpus, id in zip(sets, ids, strict=True)]
    return tuple(caches)
