import { expect, test } from "vitest";
import type { Holder } from "../src/agent/api_types";
import { slotsOf } from "../src/drawing/palette";

const holder = (name: string): Holder => ({
  id: name,
  name,
  kind: "pod",
  since: null,
  owner: "",
  cpus: "",
  memory: [],
  devices: {},
  nodes: [],
  rung: "",
});

test("twenty holders have twenty looks, and keep them when others come and go", () => {
  const names = Array.from({ length: 20 }, (_, number) => `pod-${number}`);
  const before = slotsOf(names.map(holder));
  expect(new Set(before.values()).size).toBe(20);
  const after = slotsOf([...names.slice(5), "newcomer"].map(holder));
  for (const name of names.slice(5)) expect(after.get(name)).toBe(before.get(name));
  expect(names.slice(5).map((name) => before.get(name))).not.toContain(after.get("newcomer"));
});
