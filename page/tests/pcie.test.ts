import { expect, test } from "vitest";
import type { MachineFile } from "../src/agent/api_types";
import { pairsOf } from "../src/drawing/links";
import { machineOf } from "../src/machine/machine";
import { fabricsOf, groupsOf } from "../src/machine/pcie";

/** `count` GPUs, each pair linked by what `kind` says of it. */
function gpus(count: number, kind: (a: number, b: number) => string) {
  const links = [];
  for (let a = 0; a < count; a += 1)
    for (let b = a + 1; b < count; b += 1) links.push({ a: `GPU${a}`, b: `GPU${b}`, kind: kind(a, b) });
  return links;
}

test("eight GPUs that need more links than one has hang on an NVSwitch", () => {
  expect(fabricsOf(gpus(8, () => "NV18"))).toEqual([
    {
      kind: "NV18",
      devices: [0, 1, 2, 3, 4, 5, 6, 7].map((id) => `GPU${id}`),
      title: "NVSwitch: each of 8 GPUs reaches each by 18 NVLinks (NV18)",
    },
  ]);
});

test("four GPUs with four links to each may be joined directly: nobody calls that a switch", () => {
  expect(fabricsOf(gpus(4, () => "NV4")).map((fabric) => fabric.title)).toEqual([
    "NVLink: each of 4 GPUs reaches each by 4 NVLinks (NV4)",
  ]);
});

test("pairs are no fabric, and two halves are two", () => {
  expect(fabricsOf(gpus(4, (a, b) => (a >> 1 === b >> 1 ? "NV4" : "SYS")))).toEqual([]);
  const halves = fabricsOf(gpus(8, (a, b) => (a >> 2 === b >> 2 ? "NV6" : "SYS")));
  expect(halves.map((fabric) => fabric.devices.length)).toEqual([4, 4]);
});

const BOX: MachineFile = {
  numaNodes: [{ id: 0, memory: "64Gi" }],
  cpus: [{ numa: 0, socket: 0, cpus: "0-7" }],
  devices: [
    { id: "N", kind: "nic", label: "NIC0", numa: [0], switch: "0000:11:00.0", rootPort: "0000:10:00.0" },
    { id: "A", kind: "gpu", label: "GPU0", numa: [0], switch: "0000:11:00.0", rootPort: "0000:10:00.0" },
    { id: "B", kind: "gpu", label: "GPU1", numa: [0], switch: "0000:14:00.0", rootPort: "0000:10:00.0" },
    { id: "D", kind: "nvme", label: "NVME0", numa: [0], rootPort: "0000:20:00.0" },
    { id: "E", kind: "gpu", label: "GPU2", numa: [0] },
    { id: "F", kind: "nic", label: "NIC1", numa: [0] },
  ],
  links: [
    { a: "E", b: "F", kind: "PIX" },
    { a: "A", b: "E", kind: "SYS" },
  ],
};

test("devices stand together by their switches, by their root port, or by what nvidia-smi says of a pair", () => {
  const machine = machineOf(BOX);
  expect(groupsOf(machine.devices, machine.links).map(({ title, devices }) => [title, ...devices.map((one) => one.label)]))
    .toEqual([
      ["PCIe switches", "GPU0", "GPU1", "NIC0"],
      ["", "NVME0"],
      ["PCIe switch", "GPU2", "NIC1"],
    ]);
});

test("far pairs are drawn only from the device that is pointed at", () => {
  const machine = machineOf(BOX);
  expect(pairsOf(machine, null).map((link) => link.kind)).toEqual(["PIX"]);
  expect(pairsOf(machine, "A").map((link) => link.kind)).toEqual(["SYS"]);
});

test("links within a fabric are not drawn one by one", () => {
  const many: MachineFile = {
    devices: Array.from({ length: 8 }, (_, id) => ({ id: `GPU${id}`, kind: "gpu" })),
    links: gpus(8, () => "NV12"),
  };
  expect(pairsOf(machineOf(many), null)).toEqual([]);
  expect(pairsOf(machineOf(many), "GPU3")).toEqual([]);
});
