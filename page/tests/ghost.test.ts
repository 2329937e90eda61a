import { expect, test } from "vitest";
import type { GridRow, Story } from "../src/agent/api_types";
import { type Demand, demandLines, demandOf, ghostOf } from "../src/drawing/ghost";
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

function merged(...rows: GridRow[]): Demand {
  return demandOf({ sentence: "", chapters: [{ container: "", grid: rows, hints: {}, best: null, outcome: "" }] });
}

function refused(more: Partial<Story>, stops: string[], ...rows: GridRow[]): Demand {
  return demandOf({ sentence: "", chapters: [], wanted: { rows, stops }, ...more });
}

test("each NUMA node says what is needed and what is there", () => {
  const demand = merged(row("cpu", 5, [4, false], [8, true]), row(GPU, 2, [2, true], [1, false]), row("memory", 2 ** 30, [2 ** 31, true], [0, false]));
  expect(demandLines(demand, 0).map(({ text, look }) => [text, look])).toEqual([
    ["5 CPUs needed, 4 here", "short"],
    ["2 GPUs needed, 2 here", "fits"],
    ["1 GiB needed, 2 GiB here", "fits"],
  ]);
  expect(demandLines(demand, 7)).toEqual([]);
});

test("enough that does not do is told, and what fits nowhere decides", () => {
  const [line, other] = demandLines(merged(row("cpu", 3, [8, false], [8, false]), row(GPU, 1, [0, false], [1, true])), 0);
  expect(line).toEqual({ resource: "cpu", text: "3 CPUs needed, 8 here, not by the rules", look: "short", decides: true });
  expect(other!.decides).toBe(false);
});

test("without a merge only what stops the pod is marked, and no NUMA node fits by itself", () => {
  const demand = refused({}, ["cpu"], row("cpu", 20, [7, false], [8, false]), row(GPU, 1, [1, true], [0, false]));
  expect(demandLines(demand, 0).map(({ text, look, decides }) => [text, look, decides])).toEqual([
    ["20 CPUs needed in all, 7 here", "short", true],
    ["1 GPU needed in all, 1 here", "plain", false],
  ]);
  expect(demand.whole).toBe("");
});

test("a node that is short as a whole says so, and one of another sort has no tick at all", () => {
  const cause = { kind: "node-short", resource: "cpu", asked: 8000, used: 10000, capacity: 15000 };
  const short = refused({ cause }, ["cpu"], row("cpu", 8, [7, true], [8, true]));
  expect(short.whole).toBe("CPUs: 8 asked for, 5 of 15 left on the node as a whole");
  expect(demandLines(short, 1)[0]!.look).toBe("short");
  const other = refused({ cause: { kind: "unsuited" } }, [], row("cpu", 8, [7, true], [8, true]));
  expect([other.whole, demandLines(other, 1)[0]!.look]).toEqual(["", "plain"]);
});

test("the ghost of a sum lies on as much as is needed in all", () => {
  const { tiles } = layoutOf(MACHINE, ROOM);
  const demand = refused({}, [], row("cpu", 3, [2, false], [8, false]));
  const ghost = ghostOf(demand, tiles, (cpu) => cpu > 5, new Set());
  expect([...ghost.cpus.keys()]).toEqual([6, 7, 8]);
});

test("the ghost lies on free CPUs and devices, as many as are needed, and knows where that is too little", () => {
  const { tiles } = layoutOf(MACHINE, ROOM);
  const demand = merged(row("cpu", 3, [2, false], [8, true]), row(GPU, 1, [1, true], [1, true]));
  const ghost = ghostOf(demand, tiles, (cpu) => cpu > 5, new Set(["GPU0"]));
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
