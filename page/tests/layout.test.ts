import { describe, expect, test } from "vitest";
import type { MachineFile } from "../src/agent/api_types";
import { layoutOf, scaleOf } from "../src/drawing/layout";
import { machineOf } from "../src/machine/machine";
import type { Box } from "../src/drawing/tile";

/** `nodes` NUMA nodes of `cores` cores with two threads, four nodes to a socket, and two GPUs on each. */
function box(nodes: number, cores: number): MachineFile {
  const all = nodes * cores;
  const range = (first: number) => `${first}-${first + cores - 1}`;
  return {
    numaNodes: Array.from({ length: nodes }, (_, id) => ({ id, memory: "64Gi" })),
    cpus: Array.from({ length: nodes }, (_, id) => ({
      numa: id,
      socket: Math.floor(id / 4),
      threads: [range(id * cores), range(all + id * cores)],
    })),
    devices: Array.from({ length: 2 * nodes }, (_, id) => ({
      id: `GPU${id}`,
      resource: "nvidia.com/gpu",
      numa: [id >> 1],
    })),
  };
}

const apart = (a: Box, b: Box) =>
  a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
const within = (inner: Box, outer: Box) =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width + 0.01 &&
  inner.y + inner.height <= outer.y + outer.height + 0.01;

describe.each([
  [1, 4],
  [2, 32],
  [8, 32],
  [34, 2],
])("%i NUMA nodes of %i cores", (nodes, cores) => {
  const machine = machineOf(box(nodes, cores));
  const layout = layoutOf(machine, { width: 900, height: 640 });

  test("every CPU has one place, inside its node", () => {
    const cpus = layout.tiles.flatMap((tile) => tile.cores.flatMap((core) => core.core.cpus));
    expect(cpus.sort((a, b) => a - b)).toEqual(Array.from({ length: 2 * nodes * cores }, (_, cpu) => cpu));
    expect(
      layout.tiles.every((tile) => [...tile.cores, ...tile.devices, tile.memory!].every((part) => within(part, tile))),
    ).toBe(true);
  });

  test("nothing lies on something else", () => {
    for (const parts of [
      layout.tiles,
      layout.frames,
      ...layout.tiles.map((tile) => [...tile.cores, ...tile.devices, tile.memory!]),
    ]) {
      for (const [number, part] of parts.entries()) {
        expect(parts.slice(number + 1).filter((other) => !apart(part, other))).toEqual([]);
      }
    }
  });

  test("the picture fits the room", () => {
    const scale = scaleOf(layout, { width: 900, height: 640 });
    expect(layout.width * scale).toBeLessThanOrEqual(900.01);
    expect(layout.height * scale).toBeLessThanOrEqual(640.01);
  });
});

test("512 CPUs in a laptop's window keep numbers that can be read", () => {
  const layout = layoutOf(machineOf(box(8, 32)), { width: 920, height: 660 });
  // 9.5 units of text; below about 6 px a digit is a smudge.
  expect(9.5 * scaleOf(layout, { width: 920, height: 660 })).toBeGreaterThan(6.5);
});

test.each([
  [4, 32],
  [8, 16],
  [16, 8],
  [34, 2],
])("on a large screen %i NUMA nodes of %i cores fill the stage, and numbers are large", (nodes, cores) => {
  const room = { width: 2200, height: 1260 };
  const layout = layoutOf(machineOf(box(nodes, cores)), room);
  const scale = scaleOf(layout, room);
  expect((layout.width * scale) / room.width).toBeGreaterThan(0.9);
  expect((layout.height * scale) / room.height).toBeGreaterThan(0.85);
  expect(9.5 * scale).toBeGreaterThan(9);
});

test.each([Infinity, 640, 1300])("no last row of a few cores, in a room %d high", (height) => {
  const [tile] = layoutOf(machineOf(box(2, 32)), { width: height === Infinity ? 370 : 2 * height, height }).tiles;
  const rows = new Map<number, number>();
  for (const core of tile!.cores) rows.set(core.y, (rows.get(core.y) ?? 0) + 1);
  expect(Math.max(...rows.values()) * rows.size - 32).toBeLessThan(rows.size);
});

test.each([430, 900, 1600])("rows of devices, alone and in PCIe switches, hold equally many, in a room %d wide", (width) => {
  const file = box(1, 16);
  file.devices = Array.from({ length: 16 }, (_, id) => ({
    id: `GPU${id}`,
    resource: "nvidia.com/gpu",
    numa: [0],
    ...(id < 12 ? { switch: `switch${id >> 1}` } : {}),
  }));
  const [tile] = layoutOf(machineOf(file), { width, height: 640 }).tiles;
  const rows = new Map<number, number>();
  const add = (part: Box, devices: number) => rows.set(part.y, (rows.get(part.y) ?? 0) + devices);
  for (const frame of tile!.groups) add(frame, 2);
  for (const chip of tile!.devices.filter(({ device }) => !device.switch)) add(chip, 1);
  expect([...rows.values()].reduce((sum, devices) => sum + devices)).toBe(16);
  expect(new Set(rows.values()).size).toBe(1);
});

test.each([430, 900, 1600])("rows of devices alone differ by one at most, in a room %d wide", (width) => {
  const file = box(1, 16);
  file.devices = Array.from({ length: 10 }, (_, id) => ({ id: `GPU${id}`, resource: "nvidia.com/gpu", numa: [0] }));
  const [tile] = layoutOf(machineOf(file), { width, height: 640 }).tiles;
  const rows = new Map<number, number>();
  for (const { y } of tile!.devices) rows.set(y, (rows.get(y) ?? 0) + 1);
  expect(Math.max(...rows.values()) * rows.size - 10).toBeLessThan(rows.size);
});
