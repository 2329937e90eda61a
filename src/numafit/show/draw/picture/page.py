"""The whole picture: title, the arranged machine, and below it what has no place in it: other nodes, links, key."""

from collections.abc import Iterator, Sequence

from numafit.machine.gpu_sets import GpuPairs, pairs_of
from numafit.machine.model import Machine, NumaNode
from numafit.machine.notes import memory_gap_text, untold_words
from numafit.show.draw.blocks import wrap
from numafit.show.draw.overlay import Overlay
from numafit.show.draw.picture.arrangement import Arrangement, arranged
from numafit.show.draw.picture.nvlink import bars, fabrics_of, matrix_panel, needs_matrix
from numafit.show.draw.picture.palette import LIGHT_OWNERS
from numafit.show.draw.picture.shapes import DrawnShape, Label, Piece, Rect, column, fitted, flowed, text_width
from numafit.show.draw.picture.tile import PAD, OwnerRoles, chip, memory_chips, tile_of
from numafit.show.draw.plan import DrawnMachine, distances_text, plan_of
from numafit.show.words import (
    caches_text,
    device_label,
    ids_text,
    links_text,
    machine_title,
    product_names,
    summary_text,
)

MARGIN = 24.0
NARROWEST = 640.0
LINE = 18.0
ALMOST_EQUAL = 1.3
"""Nodes whose widths differ by less are made equally wide."""


def page_of(machine: Machine, overlay: Overlay) -> Piece:
    plan = plan_of(machine)
    owners = overlay.owners()
    palette = OwnerRoles(overlay, {owner: number % len(LIGHT_OWNERS) for number, owner in enumerate(owners)})
    pairs = pairs_of(machine)
    inside = _machine(machine, plan, palette, pairs)
    width = max(inside.width, NARROWEST)
    parts = [_head(machine, width), inside]
    parts += [panel for panel in _panels(machine, plan, palette, pairs, width) if panel.shapes]
    parts.append(_notes(machine, plan, width))
    parts.append(flowed(list(_key(machine, plan, palette)), width, 18))
    whole = column([part for part in parts if part.shapes], 16)
    full = (max(whole.width, width) + 2 * MARGIN, whole.height + 2 * MARGIN)
    return Piece(*full, (Rect(0, 0, *full, "page"), *whole.moved(MARGIN, MARGIN)))


def _lines(texts: Sequence[str], role: str, width: float) -> Piece:
    characters = int(width / text_width("0", role))
    shown = [line for text in texts if text for line in wrap(text, characters, "")]
    return Piece(width, LINE * len(shown), tuple(Label(0, LINE * i + 13, line, role) for i, line in enumerate(shown)))


def _head(machine: Machine, width: float) -> Piece:
    title = Piece(width, 26, (Label(0, 19, fitted(machine_title(machine), "title", width), "title"),))
    facts = [machine.model, *product_names([device for device in machine.devices if device.kind != "mig"])]
    caches = caches_text(machine)
    texts = [summary_text(machine), ", ".join(fact for fact in facts if fact), f"Caches: {caches}" if caches else ""]
    return column([title, _lines(texts, "subtitle", width)], 2)


def _machine(machine: Machine, plan: DrawnMachine, palette: OwnerRoles, pairs: GpuPairs) -> Piece:
    digits = len(str(max((cpu.id for cpu in machine.cpus), default=0)))
    tiles = [[tile_of(node, plan, palette, digits) for node in package.nodes] for package in plan.packages]
    widths = {tile.width for own in tiles for tile in own}
    if len(widths) > 1 and max(widths) < ALMOST_EQUAL * min(widths):
        least = max(widths)
        tiles = [[tile_of(node, plan, palette, digits, least) for node in package.nodes] for package in plan.packages]
    fabrics = fabrics_of(pairs)
    arrangement = arranged(tiles, fabrics)
    wiring, beyond = bars(fabrics, arrangement.ports, arrangement.lanes, arrangement.width)
    frames = _frames(arrangement, plan)
    width = arrangement.width + (beyond + 4 if beyond else 0)
    return Piece(width, arrangement.height, (*frames, *arrangement.shapes, *wiring))


def _frames(arrangement: Arrangement, plan: DrawnMachine) -> Iterator[DrawnShape]:
    for frame, package in zip(arrangement.frames, plan.packages, strict=True):
        yield frame
        yield Label(frame.x + PAD, frame.y + 19, package.title, "head")
        if package.caches:
            room = frame.width - 3 * PAD - text_width(package.title, "head")
            text = fitted(", ".join(package.caches), "fact", room)
            yield Label(frame.x + frame.width - PAD, frame.y + 19, text, "fact", "end")


def _panels(
    machine: Machine, plan: DrawnMachine, palette: OwnerRoles, pairs: GpuPairs, width: float
) -> Iterator[Piece]:
    if plan.memory_nodes:
        labels = {device.id: device_label(device) for device in machine.devices}
        alike: dict[tuple[int, str], list[NumaNode]] = {}
        for node in plan.memory_nodes:
            alike.setdefault((node.numa.memory, node.numa.device), []).append(node.numa)
        chips = memory_chips([(nodes, labels.get(device, device)) for (_, device), nodes in alike.items()])
        chips += [
            chip(device, plan, palette, f"at NUMA {node.numa.id}")
            for node in plan.memory_nodes
            for bundle in node.bundles
            for device in bundle.devices
        ]
        yield _panel("NUMA nodes without CPUs", flowed(chips, width - 2 * PAD, 8), width)
    if plan.unplaced:
        chips = []
        for bundle in plan.unplaced:
            for device in bundle.devices:
                note = f"NUMA {ids_text(device.numa)}" if device.numa else ""
                if not note and device.driver_numa is not None:
                    note = f"driver: NUMA {device.driver_numa}"
                chips.append(chip(device, plan, palette, note))
        yield _panel("Devices without one NUMA node", flowed(chips, width - 2 * PAD, 8), width)
    if needs_matrix(pairs):
        yield _panel("Links between GPUs", matrix_panel(pairs), width)


def _panel(title: str, content: Piece, width: float) -> Piece:
    height = content.height + 38
    full = max(width, content.width + 2 * PAD)
    return Piece(
        full,
        height,
        (Rect(0, 0, full, height, "package"), Label(PAD, 19, title, "head"), *content.moved(PAD, 28)),
    )


def _notes(machine: Machine, plan: DrawnMachine, width: float) -> Piece:
    distances, links = distances_text(machine, plan), links_text(machine)
    texts = [
        f"NUMA distances: {distances}" if distances else "",
        f"GPU links: {links}" if links else "",
        f"Offline CPUs: {ids_text(plan.offline)}" if plan.offline else "",
        f"Not told by the source: {', '.join(untold_words(machine))}" if machine.assumed else "",
        memory_gap_text(machine),
    ]
    return _lines(texts, "fact", width)


def _key(machine: Machine, plan: DrawnMachine, palette: OwnerRoles) -> Iterator[Piece]:
    """What the colours mean; only those that occur."""
    cores = [core for package in plan.packages for node in package.nodes for core in node.cores]
    hybrid = any(core.kind == "efficiency" for core in cores)
    if any(not core.isolated and core.kind != "efficiency" for core in cores):
        threads = max(len(core.cpus) for core in cores) > 1
        what = "performance core" if hybrid else "core"
        yield _swatch("core", f"{what} with its CPUs" if threads else f"{what} (one CPU)")
    if hybrid:
        yield _swatch("efficiency", "efficiency core")
    if any(core.isolated for core in cores):
        yield _swatch("isolated", "isolated core")
    for owner, number in palette.numbers.items():
        yield _swatch(f"owner{number}", owner[:60])


def _swatch(role: str, text: str) -> Piece:
    return Piece(22 + text_width(text, "fact"), 14, (Rect(0, 0, 16, 14, role), Label(22, 11, text, "fact")))
