import { expect, test } from "vitest";
import type { Walk } from "../src/agent/api_types";
import { restText } from "../src/telling/merge";

const ROW = { picks: [], nodes: [0], preferred: true, best: false };
const EMPTY = { ...ROW, nodes: [] };

test.each<[Partial<Walk>, string]>([
  [{ combinations: 1, walked: 1, apart: 0 }, ""],
  [{ combinations: 9, walked: 9, apart: 0 }, "And 8 more."],
  [{ combinations: 9, walked: 9, apart: 6 }, "And 8 more, 6 of them with nothing in common."],
  [{ combinations: 9, walked: 9, apart: 8 }, "And 8 more, all of them with nothing in common."],
  [{ combinations: 9, walked: 9, apart: 9, shown: [EMPTY] }, "And 8 more, all of them with nothing in common."],
  [
    { combinations: 9000, walked: 4096, apart: 6 },
    "And 8999 more, 6 of them with nothing in common among the first 4096 combinations.",
  ],
])("what is not shown is counted", (walk, text) => {
  expect(restText({ combinations: 0, filtered: 0, shown: [ROW], ...walk })).toBe(text);
});
