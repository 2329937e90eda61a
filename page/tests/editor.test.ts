import { expect, test } from "vitest";
import { type Item, wrongIn } from "../src/telling/findings";
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

test("of what is found in a text the first error is marked, else the first finding", () => {
  const item = (place: string, line: number, severity: string): Item => ({ code: "", severity, place, line, text: "", more: [] });
  const items = [item("other", 2, "error"), item("pasted", 0, "error"), item("pasted", 7, "warning"), item("pasted", 9, "error")];
  expect(wrongIn(items, "pasted")).toBe(9);
  expect(wrongIn(items.slice(0, 3), "pasted")).toBe(7);
  expect(wrongIn(items.slice(0, 2), "pasted")).toBe(0);
  expect(wrongIn([item("kubelet:4:24: topologyManagerPolicy", 4, "error")], "kubelet")).toBe(4);
});
