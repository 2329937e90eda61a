import { expect, test } from "vitest";
import type { Story, Walk } from "../src/agent/api_types";
import { acceptedOf, bestText, restText } from "../src/telling/merge";

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

test.each<[string, Partial<Story>, boolean | null, { admit: boolean | null }[], (boolean | null)[]]>([
  ["an admitted pod", { cause: { kind: "admitted" } }, true, [], [true, true]],
  ["a second container that the policy refuses", { cause: { kind: "merge-refused" } }, false, [], [true, false]],
  ["a manager that refuses", { cause: { kind: "manager-refused" } }, false, [], [true, true]],
  ["a resize that is put off", { cause: { kind: "resize-put-off", cause: { kind: "merge-refused" } } }, false, [], [true, false]],
  ["what the answer says of each", {}, false, [{ admit: true }, { admit: false }], [true, false]],
  ["a log that does not tell", {}, null, [{ admit: null }, { admit: null }], [null, null]],
  ["a log without merges", {}, null, [], [true, null]],
])("what the policy said to each merge: %s", (_, story, admitted, merges, expected) => {
  const chapter = { container: "", grid: [], hints: {}, best: null, outcome: "" };
  expect(acceptedOf({ sentence: "", chapters: [chapter, chapter], ...story }, admitted, merges)).toEqual(expected);
});

test.each([
  [true, true, "← taken"],
  [false, true, "← accepted"],
  [false, false, "← best, and yet refused"],
  [null, null, "← best"],
])("the best of a pod %s in a merge %s is %s", (admitted, accepted, text) => {
  expect(bestText(admitted, accepted)).toBe(text);
});
