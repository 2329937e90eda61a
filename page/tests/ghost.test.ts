import { expect, test } from "vitest";
import type { GridRow } from "../src/agent/api_types";
import { demandLines, ghostOf } from "../src/drawing/ghost";
import { layoutOf } from "../src/drawing/layout";
import { machineOf } from "../src/machine/machine";
import { LINE } from "../src/drawing/tile";

const GPU = "nvidia.com/gpu";
const MACHINE = machineOf({
  numaNodes: [0, 1].map((id) => ({ id, memory: "64Gi" })),
  cpus: [0, 1].map((id) => ({ numa: id, socket: id, cpus: `${8 * id}-${8 * id + 7}` })),
  devices: [0, 1, 2].map((id) => ({ id: `GPU${id}`, resource: GPU, numa: [id >> 1] })),
});
const ROOM = { width: 900, height: 500 };

function row(resource: string, needed: number, ...cells: [free: number, fits: boolean][]): GridRow {
  return {
    resource,
    needed,
    cells: cells.map(([free, fits], numa) => ({ numa, free, allocatable: 8, held: {}, across: [], fits })),
  };
}

test("each NUMA node says what is needed and what is there", () => {
  const rows = [row("cpu", 5, [4, false], [8, true]), row(GPU, 2, [2, true], [1, false]), row("memory", 2 ** 30, [2 ** 31, true], [0, false])];
  expect(demandLines(rows, 0).map(({ text, fits }) => [text, fits])).toEqual([
    ["5 CPUs needed, 4 here", false],
    ["2 GPUs needed, 2 here", true],
    ["1 GiB needed, 2 GiB here", true],
  ]);
  expect(demandLines(rows, 7)).toEqual([]);
});

test("enough that does not do is told, and what fits nowhere is known", () => {
  const [line] = demandLines([row("cpu", 3, [8, false], [8, false])], 0);
  expect(line).toEqual({ resource: "cpu", text: "3 CPUs needed, 8 here, not by the rules", fits: false, nowhere: true });
});

test("the ghost lies on free CPUs and devices, as many as are needed, and knows where that is too little", () => {
  const { tiles } = layoutOf(MACHINE, ROOM);
  const rows = [row("cpu", 3, [2, false], [8, true]), row(GPU, 1, [1, true], [1, true])];
  const ghost = ghostOf(rows, tiles, (cpu) => cpu > 5, new Set(["GPU0"]));
  expect([...ghost.cpus]).toEqual([
    [6, false],
    [7, false],
    [8, true],
    [9, true],
    [10, true],
  ]);
  expect([...ghost.devices]).toEqual([
    ["GPU1", true],
    ["GPU2", true],
  ]);
});

test("lines of text have room inside the tile", () => {
  for (const tile of layoutOf(MACHINE, ROOM, 3).tiles) {
    expect(tile.lines!.height).toBeGreaterThanOrEqual(3 * LINE);
    expect(tile.lines!.y + tile.lines!.height).toBeLessThanOrEqual(tile.y + tile.height);
    for (const box of tile.devices) expect(box.y + box.height).toBeLessThanOrEqual(tile.lines!.y);
  }
  for (const tile of layoutOf(MACHINE, ROOM).tiles) expect(tile.lines).toBeNull();
});
