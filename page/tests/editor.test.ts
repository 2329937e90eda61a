import { expect, test } from "vitest";
import { placeOfProblem } from "../src/agent/api";
import { lineSpan } from "../src/what_if/editor";

test("a line is found by its number", () => {
  expect(lineSpan("ab\ncde\nf", 1)).toEqual([0, 2]);
  expect(lineSpan("ab\ncde\nf", 2)).toEqual([3, 6]);
  expect(lineSpan("ab\ncde\nf", 3)).toEqual([7, 8]);
  expect(lineSpan("ab", 9)).toEqual([2, 2]);
});

test("a problem says in which text it is, and in which line", () => {
  expect(placeOfProblem('{"source": "pods", "line": 3}')).toEqual(["pods", 3]);
  expect(placeOfProblem('{"source": "kubelet", "line": 3}')).toEqual(["kubelet", 3]);
  expect(placeOfProblem('{"source": "pods"}')).toEqual(["pods", 0]);
  expect(placeOfProblem("<html>")).toEqual(["", 0]);
});
