import { expect, test } from "vitest";
import { fileName } from "../src/drawing/export";
import { cutMiddle } from "../src/values/names";

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
