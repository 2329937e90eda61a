import { expect, test } from "vitest";
import type { Holder, LedgerView } from "../src/agent/api_types";
import { cpuState, occupancyOf } from "../src/machine/occupancy";

const POD: Holder = {
  id: "a",
  name: "a",
  kind: "pod",
  since: null,
  owner: "",
  cpus: "1",
  memory: [],
  devices: {},
  nodes: [0],
  rung: "",
  new: false,
  gone: false,
};
const SHARED: Holder = { ...POD, id: "b", name: "b", kind: "shared", cpus: "" };

function states(holders: Holder[], keptCpus = ""): string[] {
  const ledger: LedgerView = {
    revision: 1,
    time: "",
    simulation: false,
    holders,
    reservedCpus: "0",
    sharedCpus: "0,2-3",
    freeCpus: "2",
    keptCpus,
    nodes: [],
  };
  const occupancy = occupancyOf(ledger);
  return [0, 1, 2, 3, 4].map((cpu) => cpuState(cpu, occupancy, new Set()));
}

test("a free CPU on which shared work runs is told apart from one that is merely free", () => {
  expect(states([POD])).toEqual(["reserved", "held", "free", "shared", "unknown"]);
  expect(states([POD, SHARED])).toEqual(["reserved", "held", "pool", "shared", "unknown"]);
});

test("a CPU that leases may have and What if keeps back is told as both", () => {
  expect(states([POD], "0-2")).toEqual(["reserved", "held", "kept", "shared", "unknown"]);
});

test("a pod that holds a device, but no CPUs, runs in the shared pool", () => {
  expect(states([POD, { ...SHARED, kind: "pod", devices: { "nvidia.com/gpu": ["GPU0"] } }])[2]).toBe("pool");
});

test("who has ended, and what stands for CPUs that the agent may not use, run nowhere", () => {
  expect(states([POD, { ...SHARED, gone: true }])[2]).toBe("free");
  expect(states([POD, { ...SHARED, kind: "outside" }])[2]).toBe("free");
});
