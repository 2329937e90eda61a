import { expect, test } from "vitest";
import { lineOf } from "../src/api";
import { lineSpan } from "../src/editor";

test("a line is found by its number", () => {
  expect(lineSpan("ab\ncde\nf", 1)).toEqual([0, 2]);
  expect(lineSpan("ab\ncde\nf", 2)).toEqual([3, 6]);
  expect(lineSpan("ab\ncde\nf", 3)).toEqual([7, 8]);
  expect(lineSpan("ab", 9)).toEqual([2, 2]);
});

test("only a line of the pods is marked there", () => {
  expect(lineOf('{"source": "pods", "line": 3}')).toBe(3);
  expect(lineOf('{"source": "kubelet", "line": 3}')).toBe(0);
  expect(lineOf('{"source": "pods"}')).toBe(0);
  expect(lineOf("<html>")).toBe(0);
});
