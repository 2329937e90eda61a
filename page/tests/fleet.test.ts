import { expect, test } from "vitest";
import { caughtUp, found, inOrder, nodeText, stateText, updated } from "../src/fleet/fleet";
import type { FleetUpdate, FleetView, Kind, NodeTile } from "../src/fleet/fleet_types";

const NONE: Kind = { total: 0, free: 0, stranded: 0 };

function tile(name: string, more: Partial<NodeTile> = {}): NodeTile {
  return {
    name,
    known: true,
    trouble: "",
    schedulable: true,
    ready: true,
    release: "v1.36.4",
    policy: "restricted",
    scope: "pod",
    cpus: { total: 8, free: 2, stranded: 0 },
    gpus: NONE,
    memory: NONE,
    largest: 2,
    pods: 3,
    promised: 0,
    split: [],
    fragmentation: 0,
    numa: [],
    ...more,
  };
}

function view(...nodes: NodeTile[]): FleetView {
  const totals = { nodes: nodes.length, known: 0, cpus: NONE, gpus: NONE, memory: NONE, split: 0, waiting: 0 };
  return { revision: 1, time: "t", totals, nodes, waiting: [], loops: [] };
}

function names(nodes: NodeTile[]): string[] {
  return nodes.map((node) => node.name);
}

test("a change replaces, adds and removes nodes, and leaves what it does not tell of", () => {
  const before = { ...view(tile("a"), tile("b"), tile("c")), loops: [] };
  const update: FleetUpdate = {
    ...before,
    revision: 2,
    nodes: [tile("b", { pods: 9 }), tile("d")],
    gone: ["c"],
    waiting: null,
    loops: null,
  };
  const after = updated(before, update);
  expect(names(after.nodes)).toEqual(["a", "b", "d"]);
  expect(after.nodes[1]?.pods).toBe(9);
  expect(after.waiting).toBe(before.waiting);
  expect(after.revision).toBe(2);
});

test("the most fragmented node comes first, numbers in names count, and what is not known comes last", () => {
  const nodes = [tile("gpu-10"), tile("gpu-2"), tile("x", { fragmentation: 0.5 }), tile("a", { known: false })];
  expect(names(inOrder(nodes, "fragmentation"))).toEqual(["x", "gpu-2", "gpu-10", "a"]);
  expect(names(inOrder(nodes, "name"))).toEqual(["gpu-2", "gpu-10", "x", "a"]);
});

test("all words of a search have to be there, in any of the fields", () => {
  const nodes = [tile("gpu-1", { split: ["team/train"] }), tile("gpu-2", { schedulable: false }), tile("cpu-1")];
  expect(names(found(nodes, "gpu"))).toEqual(["gpu-1", "gpu-2"]);
  expect(names(found(nodes, "GPU train"))).toEqual(["gpu-1"]);
  expect(names(found(nodes, "cordoned"))).toEqual(["gpu-2"]);
  expect(names(found(nodes, "  "))).toHaveLength(3);
});

test("a node is told in words to whoever cannot see it", () => {
  const node = tile("n", { gpus: { total: 4, free: 2, stranded: 1 }, split: ["a/b"], pods: 1 });
  expect(nodeText(node, String)).toBe(
    "n: 1 split; 2 of 8 CPUs free; 2 of 4 GPUs free, 1 of them stranded; 1 pod",
  );
  expect(nodeText(tile("n", { known: false, trouble: "it is damaged" }), String)).toBe("n: it is damaged");
});

test("changes that came while the whole was on its way are laid over it, older ones are not", () => {
  const change = (revision: number, pods: number): FleetUpdate => ({
    ...view(tile("a", { pods })),
    revision,
    gone: [],
    waiting: null,
    loops: null,
  });
  const whole = { ...view(tile("a", { pods: 5 })), revision: 5 };
  const after = caughtUp(whole, [change(4, 4), change(5, 5), change(6, 6)]);
  expect([after.revision, after.nodes[0]!.pods]).toEqual([6, 6]);
  expect(caughtUp(whole, [change(4, 4)])).toBe(whole);
});

test("a cluster that cannot be followed is not called live", () => {
  expect(stateText("open", "")).toBe("live");
  expect(stateText("open", "the API server does not answer")).toBe("not live");
  expect(stateText("lost", "the API server does not answer")).toBe("not connected");
});
