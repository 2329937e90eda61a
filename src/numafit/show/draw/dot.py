"""The machine as a Graphviz graph: sockets and NUMA nodes are clusters, groups of cores and devices nodes of it."""

from collections.abc import Iterator, Sequence

from numafit.amounts import count_text, size_text
from numafit.machine.gpu_sets import pairs_of
from numafit.machine.model import Device, Machine
from numafit.show.draw.picture.nvlink import fabrics_of
from numafit.show.draw.plan import Bundle, DrawnNode, Package, plan_of
from numafit.show.words import device_label, ids_text, machine_title, printable, summary_text

FILLS = {"gpu": "#e0f2cf", "mig": "#e0f2cf", "nic": "#fdebcb", "nvme": "#eae4f6"}
IMPLIED = ("SYS", "NODE", "PHB", "PIX")
"""Links that follow from where two devices stand, and would hide the rest."""


def draw_dot(machine: Machine) -> str:
    plan = plan_of(machine)
    lines = [
        f"graph {_quoted(machine_title(machine))} {{",
        f"  label={_quoted(f'{machine_title(machine)}: {summary_text(machine)}')};",
        "  labelloc=t; compound=true; rankdir=TB;",
        '  fontname="sans-serif"; node [fontname="sans-serif" shape=box style="filled,rounded" fillcolor="#d7e4f5"];',
        '  edge [fontname="sans-serif" fontsize=10];',
    ]
    for number, package in enumerate(plan.packages):
        lines += _package(number, package)
    for node in plan.memory_nodes:
        memory = size_text(node.numa.memory) if node.numa.memory else "no memory"
        lines.append(f"  {_numa(node)} [label={_quoted(f'NUMA {node.numa.id}', memory)} fillcolor=white];")
        lines += _devices(node.bundles, "  ", _numa(node))
        if node.numa.device:
            lines.append(f"  {_quoted(node.numa.device)} -- {_numa(node)} [style=dashed label=memory];")
    lines += _devices(plan.unplaced, "  ", "")
    lines += _links(machine)
    return "\n".join([*lines, "}"]) + "\n"


def _links(machine: Machine) -> Iterator[str]:
    """GPUs that all have the same bond are joined over one point, as in the picture."""
    fabrics = fabrics_of(pairs_of(machine))
    bonded = {gpu: number for number, fabric in enumerate(fabrics) for gpu in fabric.gpus}
    for number, fabric in enumerate(fabrics):
        yield f'  nvlink{number} [label={_quoted(fabric.kind)} shape=ellipse fillcolor="#c6e6a6"];'
        for gpu in sorted(fabric.gpus):
            yield f'  {_quoted(gpu)} -- nvlink{number} [color="#5c8f22" penwidth=3];'
    known = {device.id for device in machine.devices}
    for link in machine.links:
        shown = link.a in bonded and bonded[link.a] == bonded.get(link.b)
        if not shown and link.kind not in IMPLIED and link.a in known and link.b in known:
            yield f"  {_quoted(link.a)} -- {_quoted(link.b)} [label={_quoted(link.kind)}];"


def _package(number: int, package: Package) -> Iterator[str]:
    yield f"  subgraph cluster_package{number} {{"
    yield f"    label={_quoted(', '.join([package.title, *package.caches]))}; style=rounded;"
    for node in package.nodes:
        yield f"    subgraph {_quoted(f'cluster_numa{node.numa.id}')} {{"
        memory = [size_text(node.numa.memory)] if node.numa.memory else []
        yield f"      label={_quoted(', '.join([f'NUMA {node.numa.id}', *memory, *node.caches]))};"
        for place, group in enumerate(node.groups):
            cpus = ids_text(cpu for core in group.cores for cpu in core.cpus)
            head = [group.label] if group.label else []
            label = _quoted(*head, count_text(len(group.cores), "core"), f"CPUs {cpus}")
            yield f"      {_cores(node, place)} [label={label}];"
        yield "    }"
        yield from _devices(node.bundles, "    ", _cores(node, 0))
    yield "  }"


def _devices(bundles: Sequence[Bundle], indent: str, at: str) -> Iterator[str]:
    """Each device, joined to `at` if there is such a place; devices of one switch over a point that stands for it."""
    for bundle in bundles:
        hook = at
        if len(bundle.devices) > 1:
            hook = _quoted(f"switch of {bundle.devices[0].id}")
            yield f'{indent}{hook} [label="PCIe switch" shape=ellipse fillcolor="#f9f5ea"];'
            if at:
                yield f"{indent}{at} -- {hook};"
        for device in bundle.devices:
            yield f"{indent}{_quoted(device.id)} [label={_device_label(device)} fillcolor={_fill(device)}];"
            if hook:
                yield f"{indent}{hook} -- {_quoted(device.id)};"


def _device_label(device: Device) -> str:
    return _quoted(*dict.fromkeys(text for text in (device_label(device), device.name, device.bus) if text))


def _fill(device: Device) -> str:
    return _quoted(FILLS.get(device.kind, "#e9ecef"))


def _cores(node: DrawnNode, place: int) -> str:
    return _quoted(f"cores{node.numa.id}_{place}")


def _numa(node: DrawnNode) -> str:
    return _quoted(f"numa{node.numa.id}")


def _quoted(*lines: str) -> str:
    """A quoted name of one or more lines."""
    safe = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(safe) + '"'
