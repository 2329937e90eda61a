// Where everything lies inside one NUMA node: cores in rows, grouped by cache, the memory bar, the devices.

import { bytesText } from "../values/amounts";
import type { Band, Core, Device, Machine, MachineNode } from "../machine/machine";
import { cutMiddle } from "../values/names";
import { groupsOf } from "../machine/pcie";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface CoreBox extends Box {
  core: Core;
}

export interface BandBox extends Box {
  title: string;
}

/** Around devices that hang together on PCIe. */
export interface GroupBox extends Box {
  title: string;
}

export interface DeviceBox extends Box {
  device: Device;
  /** The device's own NUMA nodes that hold memory, as bars inside its box. */
  bars: (Box & { node: number })[];
  note: string;
}

export interface Tile extends Box {
  node: MachineNode;
  cores: CoreBox[];
  bands: BandBox[];
  memory: Box | null;
  /** What is really in use of the memory, below it. */
  use: Box | null;
  devices: DeviceBox[];
  groups: GroupBox[];
  /** Room for lines below the devices. */
  lines: Box | null;
}

/** The smallest CPU; where there is room they grow. */
export const THREAD = { width: 27, height: 17 };
export type Cell = typeof THREAD;
export const PAD = 10;
export const HEAD = 28;
const GAP = 3;
const BAND_PAD = 5;
const BAND_HEAD = 13;
const GROUP = { pad: 4, head: 12 };
const CHIP = { width: 51, height: 26, wide: 116, tall: 46, gap: 5 };
/** Eight cores in a row, and room for the headings. */
const NARROWEST = 257;
const MEMORY_ONLY = 180;
/** Width of a letter of small headings. */
const LETTER = 4.9;
const LONGEST_LABEL = 16;

export const LINE = 15;

/** `columns` cores stand in a row; devices and memory take the width that results. `lines` of text stand below. */
export function tileOf(node: MachineNode, columns: number, machine: Machine, lines = 0, cell: Cell = THREAD): Tile {
  const cores: CoreBox[] = [];
  const bands: BandBox[] = [];
  const banded = node.bands.length > 1;
  let bottom = HEAD;
  const bare = node.bands.length === 0;
  let right = (bare ? MEMORY_ONLY : NARROWEST) - PAD;
  if (banded) {
    const widest = Math.max(...node.bands.map((band) => band.cores.length));
    const inside = Math.min(widest, columns);
    const beside = Math.max(1, Math.min(node.bands.length, Math.floor(columns / inside)));
    const width = inside * (cell.width + GAP) - GAP + 2 * BAND_PAD;
    for (let first = 0; first < node.bands.length; first += beside) {
      let lowest = bottom;
      for (const [place, band] of node.bands.slice(first, first + beside).entries()) {
        const x = PAD + place * (width + GAP + 2);
        const height = rows(band.cores, inside, x + BAND_PAD, bottom + BAND_HEAD, cores, cell) + BAND_HEAD + BAND_PAD;
        bands.push({ x, y: bottom, width, height, title: bandTitle(band, width) });
        right = Math.max(right, x + width);
        lowest = Math.max(lowest, bottom + height);
      }
      bottom = lowest + 5;
    }
  } else {
    for (const band of node.bands) {
      bottom += rows(band.cores, columns, PAD, bottom, cores, cell) + 5;
      right = Math.max(right, PAD + Math.min(columns, band.cores.length) * (cell.width + GAP) - GAP);
    }
  }
  const width = right + PAD;
  let memory: Box | null = null;
  let use: Box | null = null;
  if (node.memory > 0) {
    // Without cores the heading itself tells of the memory.
    const heading = bare ? 0 : 19;
    memory = { x: PAD, y: bottom + heading, width: width - 2 * PAD, height: 14 };
    use = { ...memory, y: memory.y + 16, height: 5 };
    bottom += heading + 14 + 12;
  }
  const { devices, groups } = chips(node.devices, PAD, bottom + 2, width - 2 * PAD, machine);
  if (devices.length > 0) bottom = Math.max(...[...devices, ...groups].map((box) => box.y + box.height)) + 6;
  const below = lines > 0 && !bare ? { x: PAD, y: bottom + 2, width: width - 2 * PAD, height: lines * LINE + 4 } : null;
  if (below) bottom += below.height + 4;
  return { node, x: 0, y: 0, width, height: bottom + PAD - 4, cores, bands, memory, use, devices, groups, lines: below };
}

/** With the size of the cache where there is room for it. */
function bandTitle(band: Band, width: number): string {
  const whole = band.size > 0 && band.title ? `${band.title} · ${bytesText(band.size)}` : band.title;
  return whole.length * LETTER <= width - 8 ? whole : band.title;
}

function rows(list: Core[], columns: number, x: number, y: number, into: CoreBox[], cell: Cell): number {
  let top = y;
  for (let first = 0; first < list.length; first += columns) {
    const row = list.slice(first, first + columns);
    const height = Math.max(...row.map((core) => core.cpus.length)) * cell.height + 1;
    for (const [place, core] of row.entries()) {
      into.push({
        core,
        x: x + place * (cell.width + GAP),
        y: top,
        width: cell.width,
        height: core.cpus.length * cell.height + 1,
      });
    }
    top += height + GAP + 1;
  }
  return top - y - GAP - 1;
}

/** Devices from left to right, those with memory of their own taller, those of one PCIe switch in a frame. */
export function chips(
  devices: Device[],
  left: number,
  top: number,
  width: number,
  machine: Machine,
): { devices: DeviceBox[]; groups: GroupBox[] } {
  const parts = groupsOf(devices, machine.links).flatMap(({ title, devices: members }) =>
    title ? [framed(title, members, width, machine)] : members.map((device) => alone(device, width, machine)),
  );
  const corners = inRows(parts, width);
  const groups: GroupBox[] = [];
  const placed = parts.flatMap((part, number) => {
    const [x, y] = [left + corners[number]!.x, top + corners[number]!.y];
    if (part.title) groups.push({ title: part.title, x, y, width: part.width, height: part.height });
    return part.boxes.map(({ device, box }) => chip(device, { ...box, x: x + box.x, y: y + box.y }, machine));
  });
  return { devices: placed, groups };
}

interface Size {
  width: number;
  height: number;
}

/** A device, or those in one frame; their places are from its corner. */
interface Part extends Size {
  title: string;
  boxes: { device: Device; box: Box }[];
}

function alone(device: Device, width: number, machine: Machine): Part {
  const size = chipSize(device, width, machine);
  return { title: "", ...size, boxes: [{ device, box: { x: 0, y: 0, ...size } }] };
}

function framed(title: string, devices: Device[], width: number, machine: Machine): Part {
  const sizes = devices.map((device) => chipSize(device, width - 2 * GROUP.pad, machine));
  const boxes = inRows(sizes, width - 2 * GROUP.pad).map(({ x, y }, number) => ({
    device: devices[number]!,
    box: { x: x + GROUP.pad, y: y + GROUP.head, ...sizes[number]! },
  }));
  return {
    title,
    boxes,
    width: Math.max(...boxes.map(({ box }) => box.x + box.width), GROUP.pad + title.length * LETTER) + GROUP.pad,
    height: Math.max(...boxes.map(({ box }) => box.y + box.height)) + GROUP.pad,
  };
}

/** Corners from left to right, in as few rows as the width allows; these hold equally many where that needs no more. */
function inRows(sizes: Size[], width: number): { x: number; y: number }[] {
  const greedy = wrapped(sizes, width, sizes.length);
  const rows = new Set(greedy.map(({ y }) => y)).size;
  const even = wrapped(sizes, width, Math.ceil(sizes.length / rows));
  return new Set(even.map(({ y }) => y)).size === rows ? even : greedy;
}

function wrapped(sizes: Size[], width: number, most: number): { x: number; y: number }[] {
  let [x, y, low, inRow] = [0, 0, 0, 0];
  return sizes.map((size) => {
    if (inRow > 0 && (inRow === most || x + size.width > width + 0.5)) [x, y, inRow] = [0, low + CHIP.gap, 0];
    const corner = { x, y };
    [x, low, inRow] = [x + size.width + CHIP.gap, Math.max(low, y + size.height), inRow + 1];
    return corner;
  });
}

function filledNodes(device: Device, machine: Machine): number[] {
  return device.memoryNodes.filter((node) => (machine.memory.get(node) ?? 0) > 0);
}

function chipSize(device: Device, width: number, machine: Machine): Size {
  const own = filledNodes(device, machine).length;
  if (own > 0) return { width: CHIP.wide, height: CHIP.tall + 24 * (own - 1) };
  const longest = Math.max(CHIP.width, chipLabel(device).length * 7 + 16);
  return { width: Math.min(longest, width), height: CHIP.height };
}

function chip(device: Device, box: Box, machine: Machine): DeviceBox {
  const bars = filledNodes(device, machine).map((node, number) => ({
    node,
    x: box.x + 8,
    y: box.y + 31 + number * 24,
    width: box.width - 16,
    height: 9,
  }));
  return { device, ...box, bars, note: "" };
}

/** An id in place of a label is long. */
export function chipLabel(device: Device): string {
  return cutMiddle(device.label, LONGEST_LABEL);
}

/** The same tile with its corner at (x, y). */
export function movedTile(tile: Tile, x: number, y: number): Tile {
  const by = <T extends Box>(box: T): T => ({ ...box, x: box.x + x, y: box.y + y });
  return {
    ...by(tile),
    cores: tile.cores.map(by),
    bands: tile.bands.map(by),
    memory: tile.memory && by(tile.memory),
    use: tile.use && by(tile.use),
    groups: tile.groups.map(by),
    lines: tile.lines && by(tile.lines),
    devices: tile.devices.map((box) => ({ ...by(box), bars: box.bars.map(by) })),
  };
}
