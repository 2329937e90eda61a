// Where everything lies inside one NUMA node: cores in rows, grouped by cache, the memory bar, the devices.

import type { Core, Device, Machine, MachineNode } from "./machine";

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
  devices: DeviceBox[];
  /** Room for lines below the devices. */
  lines: Box | null;
}

export const THREAD = { width: 27, height: 17 };
export const PAD = 10;
export const HEAD = 28;
const GAP = 3;
const BAND_PAD = 5;
const BAND_HEAD = 13;
const CHIP = { width: 54, height: 26, wide: 116, tall: 46, gap: 5 };
/** Eight cores in a row, and room for the headings. */
const NARROWEST = 257;
const MEMORY_ONLY = 180;

export const LINE = 15;

/** `columns` cores stand in a row; devices and memory take the width that results. `lines` of text stand below. */
export function tileOf(node: MachineNode, columns: number, machine: Machine, lines = 0): Tile {
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
    const width = inside * (THREAD.width + GAP) - GAP + 2 * BAND_PAD;
    for (let first = 0; first < node.bands.length; first += beside) {
      let lowest = bottom;
      for (const [place, band] of node.bands.slice(first, first + beside).entries()) {
        const x = PAD + place * (width + GAP + 2);
        const height = rows(band.cores, inside, x + BAND_PAD, bottom + BAND_HEAD, cores) + BAND_HEAD + BAND_PAD;
        bands.push({ x, y: bottom, width, height, title: band.title });
        right = Math.max(right, x + width);
        lowest = Math.max(lowest, bottom + height);
      }
      bottom = lowest + 5;
    }
  } else {
    for (const band of node.bands) {
      bottom += rows(band.cores, columns, PAD, bottom, cores) + 5;
      right = Math.max(right, PAD + Math.min(columns, band.cores.length) * (THREAD.width + GAP) - GAP);
    }
  }
  const width = right + PAD;
  let memory: Box | null = null;
  if (node.memory > 0) {
    // Without cores the heading itself tells of the memory.
    const heading = bare ? 0 : 19;
    memory = { x: PAD, y: bottom + heading, width: width - 2 * PAD, height: 14 };
    bottom += heading + 14 + 8;
  }
  const devices = chips(node.devices, PAD, bottom + 2, width - 2 * PAD, machine);
  if (devices.length > 0) bottom = Math.max(...devices.map((box) => box.y + box.height)) + 6;
  const below = lines > 0 && !bare ? { x: PAD, y: bottom + 2, width: width - 2 * PAD, height: lines * LINE + 4 } : null;
  if (below) bottom += below.height + 4;
  return { node, x: 0, y: 0, width, height: bottom + PAD - 4, cores, bands, memory, devices, lines: below };
}

function rows(list: Core[], columns: number, x: number, y: number, into: CoreBox[]): number {
  let top = y;
  for (let first = 0; first < list.length; first += columns) {
    const row = list.slice(first, first + columns);
    const height = Math.max(...row.map((core) => core.cpus.length)) * THREAD.height + 1;
    for (const [place, core] of row.entries()) {
      into.push({
        core,
        x: x + place * (THREAD.width + GAP),
        y: top,
        width: THREAD.width,
        height: core.cpus.length * THREAD.height + 1,
      });
    }
    top += height + GAP + 1;
  }
  return top - y - GAP - 1;
}

/** Devices from left to right, those with memory of their own taller. */
export function chips(devices: Device[], left: number, top: number, width: number, machine: Machine): DeviceBox[] {
  const placed: DeviceBox[] = [];
  let [x, y] = [left, top];
  for (const device of devices) {
    const filled = device.memoryNodes.filter((node) => (machine.memory.get(node) ?? 0) > 0);
    const own = filled.length > 0;
    const longest = Math.max(CHIP.width, device.label.length * 7 + 16);
    const size = {
      width: own ? CHIP.wide : Math.min(longest, width),
      height: own ? CHIP.tall + 24 * (filled.length - 1) : CHIP.height,
    };
    if (x > left && x + size.width > left + width + 0.5)
      [x, y] = [left, placed[placed.length - 1]!.y + placed[placed.length - 1]!.height + CHIP.gap];
    const bars = filled.map((node, row) => ({
      node,
      x: x + 8,
      y: y + 31 + row * 24,
      width: size.width - 16,
      height: 9,
    }));
    placed.push({ device, x, y, ...size, bars, note: "" });
    x += size.width + CHIP.gap;
  }
  return placed;
}

/** The same tile with its corner at (x, y). */
export function movedTile(tile: Tile, x: number, y: number): Tile {
  const by = <T extends Box>(box: T): T => ({ ...box, x: box.x + x, y: box.y + y });
  return {
    ...by(tile),
    cores: tile.cores.map(by),
    bands: tile.bands.map(by),
    memory: tile.memory && by(tile.memory),
    lines: tile.lines && by(tile.lines),
    devices: tile.devices.map((box) => ({ ...by(box), bars: box.bars.map(by) })),
  };
}
