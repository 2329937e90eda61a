import { expect, test } from "vitest";
import { largestOf, lastOf, pathOf } from "../src/values/small_line";

test("a line goes from the first value to the last, the largest at the top", () => {
  expect(pathOf([0, 5, 10], 20, 10)).toBe("M0 10L10 5L20 0");
});

test("where nothing is known the line has a gap, and a value alone is a stroke", () => {
  expect(pathOf([null, 4, 2, null, 4, null, 1], 60, 8)).toBe("M10 0L20 4M40 0h1M60 6h1");
});

test("nothing at all is a line at the bottom, and no value no line", () => {
  expect(pathOf([0, 0], 10, 8)).toBe("M0 8L10 8");
  expect(pathOf([null, null], 10, 8)).toBe("");
});

test("the last and the largest value are those that are known", () => {
  expect([lastOf([1, 7, null]), lastOf([null]), largestOf([1, null, 7, 2]), largestOf([null])]).toEqual([7, null, 7, 0]);
});
