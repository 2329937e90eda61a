import { expect, test } from "vitest";
import type { LedgerView } from "../src/agent/api_types";
import { heldMemory } from "../src/machine/free_table";
import { machineOf } from "../src/machine/machine";
import { occupancyOf } from "../src/machine/occupancy";
import { distanceText, tellingOf } from "../src/drawing/target";
import { busyText, deviceUseText, nodeUseLines, type UseAnswer } from "../src/machine/use";

const GIB = 2 ** 30;
const MACHINE = machineOf({
  numaNodes: [
    { id: 0, memory: "64Gi", distances: [10, 12, 80] },
    { id: 1, memory: "64Gi", distances: [12, 10, 80] },
    { id: 2, memory: "96Gi", device: "GPU-a" },
  ],
  cpus: [
    { numa: 0, socket: 0, cpus: "0-3" },
    { numa: 1, socket: 0, cpus: "4-7" },
  ],
  devices: [{ id: "GPU-a", kind: "gpu", label: "GPU0", resource: "nvidia.com/gpu", numa: [0] }],
});
const LINES = { cpus: [1.5], memory: [GIB], cached: [3 * GIB], unused: [58 * GIB] };
const NODE = { node: 0, ...LINES, total: 64 * GIB, used: GIB, cache: 3 * GIB, free: 58 * GIB };
const USE: UseAnswer = {
  known: true,
  why: "",
  seconds: 5,
  times: ["2026-01-01T00:00:00Z"],
  cpus: { "0": 0.375 },
  nodes: [{ ...NODE, hugepages: { "2Mi": { total: 2 * GIB, free: GIB, used: [GIB] } } }],
  devices: [{ device: "GPU-a", busy: [0.5], memory: [3 * GIB], total: 96 * GIB }],
};

const NOTHING = { memory: [] };

function ledgerOf(own: Pick<LedgerView["holders"][number], "memory" | "memoryParts">, gpus: string[] = []) {
  const share = { total: 64 * GIB, held: 0, free: 64 * GIB, reserved: 0 };
  const holder = { id: "a", name: "a", kind: "pod", since: null, owner: "", cpus: "1", nodes: [0], rung: "" };
  return {
    holders: [{ ...holder, ...own, devices: gpus.length > 0 ? { "nvidia.com/gpu": gpus } : {} }],
    reservedCpus: "",
    sharedCpus: "0,2-7",
    freeCpus: "0,2-7",
    nodes: [0, 1, 2].map((id) => ({ id, cpus: share, memory: share, devices: {} })),
  } as unknown as LedgerView;
}

test("a card tells claims and use, and calls what nobody uses unused", () => {
  const ledger = ledgerOf(NOTHING);
  const told = tellingOf({ kind: "node", node: 0 }, MACHINE, ledger, occupancyOf(ledger), USE).lines;
  expect(told.slice(-3)).toEqual([
    "In use: 1 GiB, page cache 3 GiB, unused 58 GiB",
    "1 GiB of 2 GiB of 2Mi huge pages in use",
    "Distance 10 to itself, 12 to NUMA 1, 80 to NUMA 2",
  ]);
  expect(tellingOf({ kind: "cpu", cpu: 0 }, MACHINE, ledger, occupancyOf(ledger), USE).lines).toContain("38 % busy");
  expect(deviceUseText(USE.devices[0])).toBe("50 % busy, 3 GiB of 96 GiB in use");
});

test("what is not known is not told", () => {
  expect(nodeUseLines(undefined)).toEqual([]);
  expect(deviceUseText({ device: "x", busy: [null], memory: [null], total: null })).toBe("");
  expect([0, 0.44, 12.3].map(busyText)).toEqual(["0", "0.4", "12"]);
});

test("equal distances are told once", () => {
  expect(distanceText(2, MACHINE)).toBe("");
  expect(distanceText(1, MACHINE)).toBe("Distance 10 to itself, 12 to NUMA 0, 80 to NUMA 2");
});

test("the memory of a held GPU is not free", () => {
  const [idle, held] = [ledgerOf(NOTHING), ledgerOf(NOTHING, ["GPU-a"])];
  expect(heldMemory(idle, MACHINE)).toEqual(new Map());
  expect(heldMemory(held, MACHINE)).toEqual(new Map([[2, "GPU0"]]));
  const target = { kind: "memory", node: 2, holder: "a" } as const;
  expect(tellingOf(target, MACHINE, held, occupancyOf(held)).lines).toEqual(["64 GiB of GPU0, held with it"]);
});

test("memory over several nodes lies where the ledger takes it", () => {
  const memoryParts = [8 * GIB, 2 * GIB].map((bytes, node) => ({ node, type: "memory", bytes }));
  const { memory } = occupancyOf(ledgerOf({ memory: [{ nodes: [0, 1], type: "memory", bytes: 10 * GIB }], memoryParts }));
  expect([...memory].map(([node, [segment]]) => [node, segment!.bytes / GIB])).toEqual([
    [0, 8],
    [1, 2],
  ]);
});
