"""The drawing for a terminal: packages as frames, NUMA nodes as frames in them, equal cores written as one run."""

from collections.abc import Iterator, Sequence
from functools import partial

from numafit.amounts import count_text, size_text
from numafit.machine.model import Device, Machine, NumaNode
from numafit.machine.notes import machine_notes, memory_gap_text
from numafit.show.draw.blocks import ASCII, NO_BREAK, UNICODE, Glyphs, TextBlock, framed, tiled, wrap
from numafit.show.draw.overlay import Overlay
from numafit.show.draw.plan import Bundle, Core, DrawnMachine, DrawnNode, Group, Package, distances_text, plan_of
from numafit.show.words import (
    caches_text,
    device_label,
    ids_text,
    links_text,
    machine_title,
    printable,
    product_names,
    summary_text,
)

NARROWEST = 40
"""Columns below which frames within frames cannot be read."""
CELLS = 8
"""A NUMA node with at most so many cores shows each of them as `[0 64]`, unless the machine is a large one."""
CELLS_IN_ALL = 32
GROUPS = 12
"""A NUMA node with more groups of cores than this shows how many there are, not each."""
NODE_WIDTH = 26
PACKAGE_WIDTH = 60
"""Columns below which frames are not set side by side."""


def draw_text(machine: Machine, width: int = 80, *, ascii_only: bool = False, overlay: Overlay | None = None) -> str:
    """Lines of at most `width` columns (but at least 40), each ended by a newline."""
    glyphs = ASCII if ascii_only else UNICODE
    drawing = _Drawing(machine, max(width, NARROWEST), glyphs, overlay or Overlay())
    return "".join(glyphs.plain(line).rstrip() + "\n" for line in drawing.lines())


class _Drawing:
    def __init__(self, machine: Machine, width: int, glyphs: Glyphs, overlay: Overlay) -> None:
        self.machine = machine
        self.plan: DrawnMachine = plan_of(machine)
        self.width = width
        self.glyphs = glyphs
        self.overlay = overlay
        cores = [core for package in self.plan.packages for node in package.nodes for core in node.cores]
        patterns = {_offsets(core) for core in cores}
        self.offsets = patterns.pop() if len(patterns) == 1 else ()
        """How the threads of a core are numbered, if it is so all over the machine."""
        self.cells = len(cores) <= CELLS_IN_ALL
        # What the key below the drawing has to explain.
        self.keys: dict[str, None] = {}

    def lines(self) -> Iterator[str]:
        yield from self._head()
        yield ""
        makers = [partial(self._package, package) for package in self.plan.packages]
        yield from tiled(makers, self.width, PACKAGE_WIDTH)
        yield from self._memory_nodes()
        yield from self._unplaced()
        notes = list(self._notes())
        if notes:
            yield ""
            for note in notes:
                yield from wrap(note, self.width)

    def _head(self) -> Iterator[str]:
        yield from wrap(f"{machine_title(self.machine)}: {summary_text(self.machine)}", self.width)
        facts = [printable(self.machine.model), *product_names([d for d in self.machine.devices if d.kind != "mig"])]
        if any(facts):
            yield from wrap(", ".join(fact for fact in facts if fact), self.width)
        caches = caches_text(self.machine)
        if caches:
            yield from wrap(f"caches: {caches}", self.width)

    def _package(self, package: Package, width: int) -> TextBlock:
        lines = tiled([partial(self._node, node) for node in package.nodes], width - 4, NODE_WIDTH)
        title = f" {self.glyphs.dot} ".join([package.title, *package.caches])
        return framed(title, lines, width, self.glyphs)

    def _node(self, node: DrawnNode, width: int) -> TextBlock:
        title = f" {self.glyphs.dot} ".join([f"NUMA {node.numa.id}", *_memory_words(node.numa), *node.caches])
        room = width - 4
        lines = [line for text in self._core_texts(node) for line in wrap(text, room)]
        devices = self._devices(node.bundles)
        if devices:
            lines += wrap(devices, room)
        for owner in self._owners(node):
            lines += wrap(f"{self.glyphs.bullet} {owner}", room)
        return framed(title, lines, width, self.glyphs)

    def _core_texts(self, node: DrawnNode) -> Iterator[str]:
        groups = node.groups
        labels = {group.label for group in groups}
        if len(groups) > 1 and len(labels) == 1:
            number = f"{len(groups)} x {labels.pop()}"
            sizes = {len(group.cores) for group in groups}
            if len(groups) > GROUPS and len(sizes) == 1:
                yield f"{number} of {count_text(sizes.pop(), 'core')}"
                groups = (Group("", tuple(node.cores)),)
            else:
                yield f"{number}:"
                groups = tuple(Group("", group.cores) for group in groups)
        cells = self.cells and len(node.cores) <= CELLS
        for group in groups:
            label = f"{group.label}: " if group.label else ""
            for kind, cores in _by_kind(group.cores):
                name = f"{label}{printable(kind)} " if kind else label
                if cells:
                    self.keys["[0 1] a core with its CPUs"] = None
                    yield name + " ".join(f"[{NO_BREAK.join(map(str, core.cpus))}]" for core in cores)
                else:
                    yield from (name + run for run in self._runs(cores))
        isolated = [cpu for core in node.cores if core.isolated for cpu in core.cpus]
        if isolated:
            yield f"isolated CPUs{NO_BREAK}{ids_text(isolated)}"

    def _runs(self, cores: Sequence[Core]) -> Iterator[str]:
        """Cores whose threads are numbered alike go into one run."""
        alike: dict[tuple[int, ...], list[Core]] = {}
        for core in cores:
            alike.setdefault(_offsets(core), []).append(core)
        for offsets, run in alike.items():
            noun = "cores" if len(run) > 1 else "core"
            names = ids_text(core.id for core in run)
            cpus = ids_text(cpu for core in run for cpu in core.cpus)
            if ":" in names + cpus:
                self.keys["0-6:2 every second from 0 to 6"] = None
            text = f"{noun}{NO_BREAK}{names} = CPUs{NO_BREAK}{cpus}"
            if len(offsets) > 1:
                if self.offsets == offsets:
                    self.keys[f"the CPUs of a core are {_offsets_text(offsets)}"] = None
                else:
                    self.keys["(n, n+1) the CPUs of a core"] = None
                    text += f" ({_offsets_text(offsets).replace(' ', NO_BREAK)})"
            yield text

    def _devices(self, bundles: Sequence[Bundle]) -> str:
        texts = []
        for bundle in bundles:
            names = NO_BREAK.join(self._device(device) for device in bundle.devices)
            if len(bundle.devices) > 1:
                self.keys["[GPU0 GPU1] devices behind one PCIe switch"] = None
                names = f"[{names}]"
            texts.append(names)
        return " ".join(texts)

    def _device(self, device: Device) -> str:
        text = device_label(device)
        if device.id in self.plan.slices:
            text += f"({self.plan.slices[device.id]}{NO_BREAK}MIG)"
        return text if device.healthy else f"{text}(unhealthy)"

    def _owners(self, node: DrawnNode) -> Iterator[str]:
        held: dict[str, tuple[list[int], list[str]]] = {}
        for cpu in node.cpus:
            if cpu in self.overlay.cpus:
                held.setdefault(self.overlay.cpus[cpu], ([], []))[0].append(cpu)
        for bundle in node.bundles:
            for device in bundle.devices:
                if device.id in self.overlay.devices:
                    owner = self.overlay.devices[device.id]
                    held.setdefault(owner, ([], []))[1].append(device_label(device))
        for owner, (cpus, devices) in held.items():
            parts = [f"CPUs {ids_text(cpus)}"] if cpus else []
            yield f"{printable(owner)}: {', '.join(parts + devices)}"

    def _memory_nodes(self) -> Iterator[str]:
        nodes = self.plan.memory_nodes
        if not nodes:
            return
        labels = {device.id: device_label(device) for device in self.machine.devices}
        runs: dict[str, list[int]] = {}
        for node in nodes:
            words = " ".join(_memory_words(node.numa)) or "no memory"
            if node.numa.device:
                relation = "memory of" if node.numa.memory else "belongs to"
                words += f", {relation} {labels.get(node.numa.device, printable(node.numa.device))}"
            devices = self._devices(node.bundles)
            runs.setdefault(words + (f", {devices}" if devices else ""), []).append(node.numa.id)
        lines = [f"NUMA {ids_text(ids)}: {words}" for words, ids in runs.items()]
        body = [line for text in lines for line in wrap(text, self.width - 4)]
        yield from framed("NUMA nodes without CPUs", body, self.width, self.glyphs)

    def _unplaced(self) -> Iterator[str]:
        if not self.plan.unplaced:
            return
        body: list[str] = []
        for bundle in self.plan.unplaced:
            for device in bundle.devices:
                words = self._device(device)
                if device.numa:
                    words += f" (NUMA {ids_text(device.numa)})"
                elif device.driver_numa is not None:
                    words += f" (the driver says NUMA {device.driver_numa})"
                body += wrap(words, self.width - 4)
        several = any(device.numa for bundle in self.plan.unplaced for device in bundle.devices)
        title = "Devices without one NUMA node" if several else "Devices without a NUMA node"
        yield from framed(title, body, self.width, self.glyphs)

    def _notes(self) -> Iterator[str]:
        distances = distances_text(self.machine, self.plan)
        if distances:
            yield f"distances: {distances}"
        if self.plan.offline:
            yield f"offline: CPUs {ids_text(self.plan.offline)}"
        for note in machine_notes(self.machine):
            yield f"not sure: {printable(note.text)}"
        gap = memory_gap_text(self.machine)
        if gap:
            yield f"not sure: {gap}"
        links = links_text(self.machine)
        if links:
            yield f"links: {links}"
        if self.keys:
            yield f"key: {'; '.join(self.keys)}"


def _offsets(core: Core) -> tuple[int, ...]:
    return tuple(cpu - core.cpus[0] for cpu in core.cpus)


def _offsets_text(offsets: Sequence[int]) -> str:
    return ", ".join(f"n+{offset}" if offset else "n" for offset in offsets)


def _by_kind(cores: Sequence[Core]) -> list[tuple[str, list[Core]]]:
    kinds: dict[str, list[Core]] = {}
    for core in cores:
        kinds.setdefault(core.kind, []).append(core)
    return list(kinds.items())


def _memory_words(node: NumaNode) -> list[str]:
    words = [size_text(node.memory)] if node.memory else []
    pages = [f"{count} x {size_text(size)} pages" for size, count in sorted(node.hugepages.items()) if count]
    return words + pages
