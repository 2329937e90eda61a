import { expect, test } from "vitest";
import type { Alignment, Holder, LedgerView } from "../src/agent/api_types";
import { partsOf, stepsOf } from "../src/drawing/joins";
import { layoutOf } from "../src/drawing/layout";
import { liesApart, lookOf } from "../src/telling/lying";
import { machineOf } from "../src/machine/machine";
import { occupancyOf } from "../src/machine/occupancy";

const machine = machineOf({
  numaNodes: [0, 1].map((id) => ({ id, memory: "64Gi" })),
  cpus: [
    { numa: 0, socket: 0, cpus: "0-7" },
    { numa: 1, socket: 1, cpus: "8-15" },
  ],
  devices: [
    { id: "GPU0", resource: "nvidia.com/gpu", numa: [1] },
    { id: "NIC0", resource: "example.com/nic", numa: [0, 1] },
  ],
});
const layout = layoutOf(machine, { width: 800, height: 400 });
const { tiles } = layout;
const POD: Holder = {
  id: "a",
  name: "a",
  kind: "pod",
  since: null,
  owner: "",
  cpus: "0-1",
  memory: [],
  devices: {},
  nodes: [0],
  rung: "",
};

function parts(holder: Partial<Holder>, where = layout) {
  const own = { ...POD, ...holder };
  const nodes = [0, 1, 2].map((id) => {
    const none = { total: 8, held: 0, free: 8, reserved: 0 };
    const pool = { ...none, total: 16 * 2 ** 30 };
    const hugepages = { "hugepages-2Mi": pool, "hugepages-1Gi": pool };
    return { id, cpus: none, memory: { ...none, total: 64 * 2 ** 30 }, devices: {}, hugepages };
  });
  const ledger = { holders: [own], nodes, reservedCpus: "", sharedCpus: "", freeCpus: "" } as unknown as LedgerView;
  return partsOf(own, where, ledger, occupancyOf(ledger));
}

test.each([
  ["aligned", "aligned", false],
  ["split", "split", true],
  ["remote GPU", "remote", true],
  ["remote NIC", "remote", true],
  ["remote device", "remote", true],
  ["shared", "shared", false],
])("%s looks %s", (verdict, look, apart) => {
  expect(lookOf(verdict)).toBe(look);
  expect(liesApart({ verdict } as Alignment)).toBe(apart);
});

test("who is together needs no line", () => {
  expect(stepsOf(parts({}))).toEqual([]);
});

test("a line goes from NUMA node to NUMA node, where the parts are nearest", () => {
  const [left, right] = parts({ cpus: "0-7,8-15" });
  const [step] = stepsOf([left!, right!]);
  const all = left!.flatMap((from) => right!.map((to) => Math.hypot(from.x - to.x, from.y - to.y)));
  expect(Math.hypot(step![0].x - step![1].x, step![0].y - step![1].y)).toBe(Math.min(...all));
});

test("a remote GPU is joined to the CPUs, and memory elsewhere to both", () => {
  const chip = tiles[1]!.devices[0]!;
  expect(parts({ devices: { "nvidia.com/gpu": ["GPU0"] } })[1]).toEqual([
    { x: chip.x + chip.width / 2, y: chip.y },
  ]);
  const bar = tiles[1]!.memory!;
  expect(parts({ memoryParts: [{ node: 1, type: "memory", bytes: 32 * 2 ** 30 }] })[1]).toEqual([
    { x: bar.x + bar.width / 4, y: bar.y + bar.height / 2 },
  ]);
});

test("who holds only huge pages on a node is joined to these", () => {
  const bar = tiles[1]!.memory!;
  const memoryParts = [{ node: 1, type: "hugepages-1Gi", bytes: 8 * 2 ** 30 }];
  expect(parts({ memoryParts })[1]).toEqual([{ x: bar.x + (bar.width * 36) / 64, y: bar.y + bar.height / 2 }]);
});

test("a device without one NUMA node is joined where it is remote", () => {
  const chip = layout.loose[0]!;
  const devices = { "example.com/nic": ["NIC0"] };
  const part = { container: "", resource: "example.com/nic", device: "NIC0", nodes: [0, 1] };
  const lying = (remoteFrom: string[]) => ({ verdict: "remote NIC", why: "", parts: [{ ...part, remoteFrom }] });
  expect(parts({ devices, alignment: lying(["cpu"]) })).toEqual([
    expect.anything(),
    [{ x: chip.x + chip.width / 2, y: chip.y }],
  ]);
  expect(parts({ devices, alignment: lying([]) })).toHaveLength(1);
});

test("memory of a GPU is joined inside it", () => {
  const superchip = machineOf({
    numaNodes: [
      { id: 0, memory: "64Gi" },
      { id: 2, memory: "64Gi", device: "GPU0" },
    ],
    cpus: [{ numa: 0, socket: 0, cpus: "0-7" }],
    devices: [{ id: "GPU0", resource: "nvidia.com/gpu", numa: [0] }],
  });
  const own = layoutOf(superchip, { width: 800, height: 400 });
  const bar = own.tiles[0]!.devices[0]!.bars[0]!;
  const memoryParts = [{ node: 2, type: "memory", bytes: 32 * 2 ** 30 }];
  expect(parts({ memoryParts }, own)[1]).toEqual([{ x: bar.x + bar.width / 4, y: bar.y + bar.height / 2 }]);
});
