import { expect, test } from "vitest";
import type { MachineFile } from "../src/agent/api_types";
import { machineOf } from "../src/machine/machine";

const BOX: MachineFile = {
  name: "box",
  numaNodes: [
    { id: 0, memory: "64Gi", distances: [10, 21, 80] },
    { id: 1, memory: "64Gi" },
    { id: 2, memory: "96Gi", device: "GPU-a" },
  ],
  cpus: [
    { numa: 0, socket: 0, uncoreCache: 0, threads: ["0-1", "8-9"] },
    { numa: 0, socket: 0, uncoreCache: 1, threads: ["2-3", "10-11"] },
    { numa: 1, socket: 1, cpus: "4-7" },
  ],
  devices: [
    { id: "GPU-a", resource: "nvidia.com/gpu", numa: [0], label: "GPU0" },
    { id: "GPU-b", resource: "nvidia.com/gpu", label: "GPU1" },
  ],
  links: { between: ["GPU0", "GPU1"], matrix: [["NV18"]] },
};

test("threads at the same place in their lists make a core", () => {
  const node = machineOf(BOX).sockets[0]!.nodes[0]!;
  expect(node.bands.map((band) => [band.title, band.cores.map((core) => core.cpus)])).toEqual([
    [
      "cache 0",
      [
        [0, 8],
        [1, 9],
      ],
    ],
    [
      "cache 1",
      [
        [2, 10],
        [3, 11],
      ],
    ],
  ]);
});

test("memory of a device belongs to the device, not to a node of its own", () => {
  const machine = machineOf(BOX);
  expect(machine.sockets.map((socket) => socket.nodes.map((node) => node.id))).toEqual([[0], [1]]);
  expect(machine.devices[0]!.memoryNodes).toEqual([2]);
});

test("a device whose plugin names no NUMA node stands apart", () => {
  expect(machineOf(BOX).loose.map((device) => device.id)).toEqual(["GPU-b"]);
});

test("links name devices by id, whatever the matrix calls them", () => {
  expect(machineOf(BOX).links).toEqual([{ a: "GPU-a", b: "GPU-b", kind: "NV18" }]);
});

test("a NUMA node without CPUs that no device owns is shown apart", () => {
  const machine = machineOf({ ...BOX, numaNodes: [...BOX.numaNodes!, { id: 3, memory: "128Gi" }] });
  expect(machine.sockets.map((socket) => socket.title)).toEqual(["Socket 0", "Socket 1", "Without CPUs"]);
});

test("an empty machine is a machine", () => {
  expect(machineOf({}).facts).toEqual({ nodes: 0, cores: 0, cpus: 0, memory: 0 });
});
