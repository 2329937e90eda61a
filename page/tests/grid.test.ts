import { expect, test } from "vitest";
import { columnsOf } from "../src/telling/grid";

const row = (...allocatable: number[]) => ({
  resource: "cpu",
  needed: 1,
  cells: allocatable.map((much, numa) => ({ numa, free: much, allocatable: much, held: {}, across: [], fits: much > 0 })),
});

test("nodes that are left out for want of room are not called empty", () => {
  const { nodes, cut, barren } = columnsOf([row(...Array(20).fill(4))], []);
  expect([nodes.length, cut, barren]).toEqual([16, 4, 0]);
});

test("nodes that have nothing are left out and counted by themselves", () => {
  expect(columnsOf([row(4, 0, 0, 4)], [])).toEqual({ nodes: [0, 3], cut: 0, barren: 2 });
});

test("the nodes that were taken are always shown", () => {
  const { nodes } = columnsOf([row(...Array(20).fill(4))], [18, 19]);
  expect(nodes).toEqual([...Array(14).keys(), 18, 19]);
});

test("where no node has anything all are shown", () => {
  expect(columnsOf([row(0, 0)], [])).toEqual({ nodes: [0, 1], cut: 0, barren: 0 });
});
