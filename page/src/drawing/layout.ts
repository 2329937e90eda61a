// Where the NUMA nodes and sockets lie: of all arrangements, the one that shows the machine largest in the room given.

import type { Machine, Socket } from "../machine/machine";
import type { Fabric } from "../machine/pcie";
import { type Box, type Cell, chips, type DeviceBox, type GroupBox, movedTile, THREAD, type Tile, tileOf } from "./tile";

export interface Frame extends Box {
  title: string;
  /** What else is known of it, as far as there is room. */
  more?: string[];
}

export interface Layout {
  width: number;
  height: number;
  frames: Frame[];
  tiles: Tile[];
  loose: DeviceBox[];
  looseGroups: GroupBox[];
  /** One strip for each fabric of NVLinks. */
  fabrics: FabricBox[];
}

export interface FabricBox extends Box {
  fabric: Fabric;
}

const STRIP = 24;
const FRAME = { pad: 10, head: 26, gap: 10 };
const COLUMNS = [4, 8, 9, 10, 12, 16, 18, 20, 24, 32];
/** Beyond this size of a CPU a larger picture tells nothing more. */
export const LARGEST_SCALE = 3.2;

export interface Room {
  width: number;
  /** Infinity where the page scrolls: then only the width counts. */
  height: number;
}

export function layoutOf(machine: Machine, room: Room, lines = 0): Layout {
  const tilesOf = (columns: number, cell: Cell) =>
    machine.sockets.map((socket) => socket.nodes.map((node) => tileOf(node, columns, machine, lines, cell)));
  let best: Layout = EMPTY;
  let bestScore = -Infinity;
  let grown: (cell: Cell) => Layout = () => EMPTY;
  for (const columns of columnsOf(machine)) {
    const tiles = tilesOf(columns, THREAD);
    const most = Math.max(1, ...tiles.map((list) => (list[0]?.cores.length ? list.length : 1)));
    for (let beside = 1; beside <= Math.min(most, 16); beside += 1) {
      for (const abreast of choices(machine.sockets.length)) {
        const layout = arranged(machine, tiles, beside, abreast);
        const score = scoreOf(layout, room);
        if (score <= bestScore) continue;
        [best, bestScore] = [layout, score];
        grown = (cell) => arranged(machine, tilesOf(columns, cell), beside, abreast);
      }
    }
  }
  return filling(best, grown, room);
}

/** As many cores in each row as the rows then need: no last row of a few. Cores grouped by cache have rows of their own. */
function columnsOf(machine: Machine): number[] {
  const nodes = machine.sockets.flatMap((socket) => socket.nodes);
  const most = Math.max(1, ...nodes.map((node) => node.bands[0]?.cores.length ?? 0));
  if (nodes.some((node) => node.bands.length > 1)) return COLUMNS;
  return [...new Set(COLUMNS.map((columns) => Math.ceil(most / Math.ceil(most / columns))))];
}

const EMPTY: Layout = { width: 320, height: 80, frames: [], tiles: [], loose: [], looseGroups: [], fabrics: [] };
const LARGEST_CELL = { width: 76, height: 44 };

/** CPUs grow as far as there is room left, without making anything smaller. */
function filling(layout: Layout, grown: (cell: Cell) => Layout, room: Room): Layout {
  const scale = scaleOf(layout, room);
  let best = layout;
  let cell = THREAD;
  // Where the page scrolls, taller ones only make it longer.
  for (const side of room.height === Infinity ? (["width"] as const) : (["width", "height"] as const)) {
    while (cell[side] < LARGEST_CELL[side]) {
      const larger = { ...cell, [side]: cell[side] + 1 };
      const next = grown(larger);
      if (scaleOf(next, room) < scale - 1e-6) break;
      [best, cell] = [next, larger];
    }
  }
  return best;
}

export function scaleOf(layout: Layout, room: Room): number {
  return Math.min(LARGEST_SCALE, room.width / layout.width, room.height / layout.height);
}

/** The larger the better, and the fewer gaps the better: a little smaller is fine where rows are full. */
function scoreOf(layout: Layout, room: Room): number {
  const scale = scaleOf(layout, room);
  const covered = layout.tiles.reduce(
    (sum, tile) => sum + tile.cores.reduce((area, box) => area + box.width * box.height, 0),
    0,
  );
  if (room.height !== Infinity) return scale * (0.5 + covered / (layout.width * layout.height));
  // With room to scroll, CPUs of ordinary size suffice, and then the shorter page wins.
  return Math.min(scale, 0.95) - (layout.height * scale) / 1e5;
}

function choices(count: number): number[] {
  return [...new Set([1, 2, Math.ceil(count / 2), count])].filter((value) => value >= 1 && value <= count);
}

function arranged(machine: Machine, tiles: Tile[][], beside: number, abreast: number): Layout {
  const frames: Frame[] = [];
  const placed: Tile[] = [];
  let [x, y, low, wide] = [0, 0, 0, 0];
  for (const [number, socket] of machine.sockets.entries()) {
    const bare = socket.nodes.every((node) => node.bands.length === 0);
    if (number > 0 && (bare || number % abreast === 0)) [x, y] = [0, low + FRAME.gap];
    // Nodes without CPUs come last and fill the width that the others have.
    const fitting = Math.floor((wide - 2 * FRAME.pad + FRAME.gap) / ((tiles[number]![0]?.width ?? 0) + FRAME.gap));
    const frame = filled(socket, tiles[number]!, bare ? Math.max(beside, fitting) : beside, x, y, placed);
    frames.push(frame);
    x += frame.width + FRAME.gap;
    low = Math.max(low, frame.y + frame.height);
    wide = Math.max(wide, frame.x + frame.width);
  }
  const fabrics: FabricBox[] = [];
  for (const fabric of machine.fabrics) {
    fabrics.push({ fabric, x: 0, y: low + FRAME.gap, width: Math.max(wide, 240), height: STRIP });
    low += FRAME.gap + STRIP;
  }
  const { devices: loose, groups: looseGroups } = chips(
    machine.loose,
    FRAME.pad,
    low + FRAME.gap + FRAME.head,
    Math.max(wide, 240) - 2 * FRAME.pad,
    machine,
  );
  if (loose.length > 0) {
    for (const box of loose) box.note = box.device.numa.length > 1 ? `NUMA ${box.device.numa.join(", ")}` : "";
    const end = Math.max(...[...loose, ...looseGroups].map((box) => box.y + box.height)) + FRAME.pad;
    frames.push({
      title: "Devices without one NUMA node",
      x: 0,
      y: low + FRAME.gap,
      width: Math.max(wide, 240),
      height: end - low - FRAME.gap,
    });
    low = end;
  }
  return { width: Math.max(wide, 240), height: low, frames, tiles: placed, loose, looseGroups, fabrics };
}

function filled(socket: Socket, tiles: Tile[], beside: number, left: number, top: number, into: Tile[]): Frame {
  let [x, y, low, wide] = [left + FRAME.pad, top + FRAME.head, top + FRAME.head, left];
  for (let first = 0; first < tiles.length; first += beside) {
    const row = tiles.slice(first, first + beside);
    const height = Math.max(...row.map((tile) => tile.height));
    for (const tile of row) {
      into.push({ ...movedTile(tile, x, y), height });
      x += tile.width + FRAME.gap;
    }
    wide = Math.max(wide, x - FRAME.gap);
    low = y + height;
    [x, y] = [left + FRAME.pad, low + FRAME.gap];
  }
  return { title: socket.title, more: socket.more, x: left, y: top, width: wide - left + FRAME.pad, height: low - top + FRAME.pad };
}
