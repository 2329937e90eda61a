import { expect, test } from "vitest";
import { stands, undone, written } from "../src/telling/applied";
import { START } from "../src/values/place";

const BEFORE = { ...START.whatIf, pods: "five" };
const AFTER = { ...BEFORE, pods: "four" };
const APPLIED = { text: "5 -> 4", before: BEFORE, after: AFTER };

test("the way back is there for as long as the question says what was applied", () => {
  expect(stands(APPLIED, AFTER)).toBe(true);
  expect(stands(APPLIED, { ...AFTER, why: 1, machine: "laptop" })).toBe(true);
  for (const other of [{ pods: "an example" }, { kubelet: "x" }, { without: ["a"] }])
    expect(stands(APPLIED, { ...AFTER, ...other })).toBe(false);
});

test("the way back leaves alone what was not applied", () => {
  expect(undone(APPLIED, { ...AFTER, machine: "laptop" })).toEqual({ ...BEFORE, machine: "laptop" });
});

test("what was typed while a proposal was on its way is not written over", () => {
  expect(written(BEFORE, AFTER, { ...BEFORE, why: 1 })).toEqual({ ...AFTER, why: 1 });
  expect(written(BEFORE, AFTER, { ...BEFORE, pods: "typed" })).toBeNull();
});
