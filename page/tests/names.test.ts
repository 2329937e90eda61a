import { expect, test } from "vitest";
import { fileName } from "../src/drawing/export";
import { cutMiddle, endsOf } from "../src/values/names";

test("a long name keeps its beginning and its end", () => {
  expect(cutMiddle("training-job-with-a-very-long-name-worker-17", 16)).toBe("training…rker-17");
  expect(cutMiddle("short", 16)).toBe("short");
  expect(cutMiddle("abcdef", 2)).toBe("a…");
});

test("no name is cut inside of a letter of two halves", () => {
  expect(cutMiddle("👩👩👩👩👩👩", 3)).toBe("👩…👩");
});

test("a saved picture has a name that every disk takes", () => {
  expect(fileName("node gpu-1/a:b")).toBe("node-gpu-1-a-b");
  expect(fileName("…")).toBe("machine");
});

test("of a long name the end stays, and both parts are the whole", () => {
  const name = `team/${"x".repeat(63)}-7d9f8-x2v4q`;
  const [begin, end] = endsOf(name);
  expect(begin + end).toBe(name);
  expect(end).toBe("-7d9f8-x2v4q");
  expect(endsOf("demo/train-1")).toEqual(["demo/train-1", ""]);
});
