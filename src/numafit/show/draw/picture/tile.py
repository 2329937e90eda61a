"""One NUMA node of a picture: its cores as cells under their caches, and the devices that hang at it in rows."""

from collections.abc import Sequence

import msgspec

from numafit.amounts import count_text, size_text
from numafit.machine.model import Device, NumaNode
from numafit.show.draw.overlay import Overlay
from numafit.show.draw.picture.shapes import (
    DrawnShape,
    Label,
    Piece,
    Rect,
    Wire,
    fitted,
    flowed,
    grid,
    row,
    rows_within,
    text_width,
)
from numafit.show.draw.plan import Bundle, Core, DrawnMachine, DrawnNode, Group
from numafit.show.words import device_label, ids_text

PAD = 10.0
GAP = 4.0
THREAD_HEIGHT = 15.0
BAND_HEAD = 15.0
HEAD = 40.0
"""Height of the two lines above the cells."""
NARROWEST = 150.0
CHIP_HEIGHT = 34.0
WIDEST_CHIP = 132.0
RACK_INDENT = 22.0
"""From the left edge of a node to the chips below it; the stem runs in between."""
RACK_GAP = 12.0


class OwnerRoles(msgspec.Struct, frozen=True):
    """Which colour role each owner has; those without one have the colour of their kind."""

    overlay: Overlay
    numbers: dict[str, int]

    def cpu(self, cpu: int, usual: str) -> str:
        return self._role(self.overlay.cpus.get(cpu), usual)

    def device(self, device: Device, usual: str) -> str:
        return self._role(self.overlay.devices.get(device.id), usual)

    def _role(self, owner: str | None, usual: str) -> str:
        return usual if owner is None else f"owner{self.numbers[owner]}"


class Rack(msgspec.Struct, frozen=True):
    """A row of devices, and where on its lower edge the GPUs have their ports: (device id, x)."""

    piece: Piece
    ports: tuple[tuple[str, float], ...]
    reach: float = 1
    """How far the stem's tap must go to touch the last one."""


class Tile(msgspec.Struct, frozen=True):
    """Both parts of a node apart: tiles of a row are made equally high before they are put together."""

    body: Piece
    gpu_racks: tuple[Rack, ...]
    other_racks: tuple[Rack, ...]
    width: float


def tile_of(node: DrawnNode, plan: DrawnMachine, palette: OwnerRoles, digits: int, least: float = NARROWEST) -> Tile:
    """At least `least` wide."""
    body = _body(node, palette, digits)
    width = max(body.width, least)
    room = max(width - RACK_INDENT, 2 * 74 + 30)
    with_gpus = [bundle for bundle in node.bundles if any(device.kind == "gpu" for device in bundle.devices)]
    others = [bundle for bundle in node.bundles if bundle not in with_gpus]
    gpu_racks = _racks(with_gpus, plan, palette, room)
    other_racks = _racks(others, plan, palette, room)
    racks = (*gpu_racks, *other_racks)
    width = max([width, *(RACK_INDENT + rack.piece.width for rack in racks)])
    return Tile(_framed_body(node, body, width), gpu_racks, other_racks, width)


def _body(node: DrawnNode, palette: OwnerRoles, digits: int) -> Piece:
    """The cells alone, without frame and head."""
    cell = max(22.0, text_width("0" * digits, "cpu") + 8)
    groups = [_group(group, palette, cell) for group in node.groups]
    cells = grid(groups, 8, 1.5)
    shapes: list[DrawnShape] = []
    y = HEAD
    for cache in node.caches:
        shapes += [
            Rect(PAD, y, max(cells.width, NARROWEST - 2 * PAD), BAND_HEAD, "band"),
            Label(PAD + 5, y + 11, cache, "band"),
        ]
        y += BAND_HEAD + GAP
    shapes += cells.moved(PAD, y)
    wanted = [2 * PAD + cells.width, NARROWEST, *(2 * PAD + text_width(text, "fact") for text in _facts(node, 60))]
    return Piece(max(wanted), y + cells.height + PAD, tuple(shapes))


def _facts(node: DrawnNode, most: int) -> list[str]:
    text = f"CPUs {ids_text(node.cpus)}"
    pages = ", ".join(f"{count} x {size_text(size)}" for size, count in sorted(node.numa.hugepages.items()) if count)
    facts = [text] if len(text) <= most else [count_text(len(node.cpus), "CPU")]
    return [f"{facts[0]}, pages {pages}"[:most] if pages else facts[0]]


def _framed_body(node: DrawnNode, body: Piece, width: float) -> Piece:
    memory = size_text(node.numa.memory) if node.numa.memory else "no memory"
    head = f"NUMA {node.numa.id}"
    room = width - 2 * PAD - text_width(head, "head") - 8
    shapes: list[DrawnShape] = [
        Label(PAD, 18, head, "head"),
        Label(width - PAD, 18, fitted(memory, "fact", room), "fact", "end"),
        *(Label(PAD, 33, fitted(fact, "fact", width - 2 * PAD), "fact") for fact in _facts(node, 60)),
    ]
    # A band over all cores is as wide as the node has become.
    bands = [
        Rect(shape.x, shape.y, width - 2 * PAD, shape.height, shape.role)
        if isinstance(shape, Rect) and shape.role == "band" and shape.height == BAND_HEAD
        else shape
        for shape in body.shapes
    ]
    return Piece(width, body.height, (*shapes, *bands))


def _group(group: Group, palette: OwnerRoles, cell: float) -> Piece:
    cores = grid([_core(core, palette, cell) for core in group.cores], 3, 2.2)
    if not group.label:
        return cores
    width = max(cores.width, text_width(group.label, "band")) + 10
    return Piece(
        width,
        cores.height + BAND_HEAD + 5,
        (
            Rect(0, 0, width, cores.height + BAND_HEAD + 5, "band"),
            Label(5, 11, group.label, "band"),
            *cores.moved(5, BAND_HEAD),
        ),
    )


def _core(core: Core, palette: OwnerRoles, cell: float) -> Piece:
    """The threads of a core one below the other, without a gap."""
    usual = "isolated" if core.isolated else "efficiency" if core.kind == "efficiency" else "core"
    height = THREAD_HEIGHT * len(core.cpus)
    roles = [palette.cpu(cpu, usual) for cpu in core.cpus]
    shapes: list[DrawnShape] = []
    if len(set(roles)) == 1:
        shapes.append(Rect(0, 0, cell, height, roles[0]))
    else:
        shapes += [Rect(0, THREAD_HEIGHT * place, cell, THREAD_HEIGHT, role) for place, role in enumerate(roles)]
    shapes += [
        Label(cell / 2, THREAD_HEIGHT * place + 11.5, str(cpu), "cpu", "middle") for place, cpu in enumerate(core.cpus)
    ]
    return Piece(cell, height, tuple(shapes))


def chip(device: Device, plan: DrawnMachine, palette: OwnerRoles, note: str = "") -> Piece:
    """Label above, below it what tells it from its like."""
    label = device_label(device)
    parts = [note] if note else []
    if device.id in plan.slices:
        parts.append(f"{plan.slices[device.id]} MIG")
    memory = next((node.numa for node in plan.memory_nodes if node.numa.device == device.id), None)
    if memory is not None:
        parts.append(f"NUMA {memory.id}")
    if not device.healthy:
        parts.append("unhealthy")
    if not parts:
        name = "" if device.name in plan.common_names else device.name
        memory_text = size_text(device.memory) if device.memory else ""
        parts = [text for text in (device.bus.removeprefix("0000:"), memory_text, name) if text and text != label][:1]
    below = ", ".join(parts)
    width = min(max(64.0, text_width(label, "name") + 16, text_width(below, "note") + 12), WIDEST_CHIP)
    usual = device.kind if device.kind in ("gpu", "mig", "nic", "nvme") else "other"
    tip = ", ".join(dict.fromkeys(text for text in (label, device.name, device.bus, device.id) if text))
    shapes: list[DrawnShape] = [Rect(0, 0, width, CHIP_HEIGHT, palette.device(device, usual), tip)]
    shapes.append(Label(width / 2, 15 if below else 21, fitted(label, "name", width - 6), "name", "middle"))
    if below:
        shapes.append(Label(width / 2, 28, fitted(below, "note", width - 6), "note", "middle"))
    return Piece(width, CHIP_HEIGHT, tuple(shapes))


def _racks(bundles: Sequence[Bundle], plan: DrawnMachine, palette: OwnerRoles, room: float) -> tuple[Rack, ...]:
    made = [_bundle(bundle, plan, palette, room) for bundle in bundles]
    by_piece = {id(rack.piece): rack for rack in made}
    racks = []
    for pieces in rows_within([rack.piece for rack in made], room, RACK_GAP):
        ports: list[tuple[str, float]] = []
        x = 0.0
        height = max(piece.height for piece in pieces)
        # All stand on one line, so that the ports do.
        standing = [Piece(piece.width, height, piece.moved(0, height - piece.height)) for piece in pieces]
        for piece in pieces:
            ports += [(device, x + at) for device, at in by_piece[id(piece)].ports]
            x += piece.width + RACK_GAP
        racks.append(Rack(row(standing, RACK_GAP), tuple(ports), x - RACK_GAP - pieces[-1].width + 1))
    return tuple(racks)


def _bundle(bundle: Bundle, plan: DrawnMachine, palette: OwnerRoles, room: float) -> Rack:
    """Devices of one switch stand in a frame, the GPUs in its lowest row."""
    gpus = [device for device in bundle.devices if device.kind == "gpu"]
    chips = [chip(device, plan, palette) for device in gpus]
    others = [chip(device, plan, palette) for device in bundle.devices if device.kind != "gpu"]
    if len(bundle.devices) == 1:
        single = (chips + others)[0]
        return Rack(single, ((gpus[0].id, single.width / 2),) if gpus else ())
    upper = flowed(others, max(room - 16, sum(piece.width + 6 for piece in chips)), 6)
    lower = row(chips, 6)
    width = max(upper.width, lower.width, text_width("PCIe switch", "band")) + 16
    between = 6.0 if upper.shapes and lower.shapes else 0.0
    height = BAND_HEAD + upper.height + between + lower.height + 8
    shapes: list[DrawnShape] = [
        Rect(0, 0, width, height, "switch"),
        Label(8, 11, "PCIe switch", "band"),
        *upper.moved(8, BAND_HEAD),
        *lower.moved(8, BAND_HEAD + upper.height + between),
    ]
    ports = []
    x = 8.0
    for device, piece in zip(gpus, chips, strict=True):
        ports.append((device.id, x + piece.width / 2))
        x += piece.width + 6
    return Rack(Piece(width, height, tuple(shapes)), tuple(ports))


def stem(top: float, taps: Sequence[tuple[float, float]], left: float) -> tuple[DrawnShape, ...]:
    """From the foot of a node at (`left`, `top`) down along its rows of devices; (y, length) of each tap."""
    if not taps:
        return ()
    x = left + RACK_INDENT / 2
    lines: list[DrawnShape] = [Wire(((x, top), (x, taps[-1][0])), "wire")]
    lines += [Wire(((x, y), (left + RACK_INDENT + length, y)), "wire") for y, length in taps]
    return tuple(lines)


def memory_chips(alike: Sequence[tuple[Sequence[NumaNode], str]]) -> list[Piece]:
    """NUMA nodes without CPUs, each list of equal ones with the name of the device that they belong to."""
    texts = []
    for nodes, owner in alike:
        below = size_text(nodes[0].memory) if nodes[0].memory else "no memory"
        if owner:
            below += f", {'memory of' if nodes[0].memory else 'belongs to'} {owner}"
        texts.append((f"NUMA {ids_text(node.id for node in nodes)}", below))
    width = max([90.0, *(max(text_width(head, "name"), text_width(below, "note")) + 16 for head, below in texts)])
    return [_memory_chip(head, below, width) for head, below in texts]


def _memory_chip(head: str, below: str, width: float) -> Piece:
    return Piece(
        width,
        CHIP_HEIGHT,
        (
            Rect(0, 0, width, CHIP_HEIGHT, "memory"),
            Label(width / 2, 15, head, "name", "middle"),
            Label(width / 2, 28, below, "note", "middle"),
        ),
    )
