import { expect, test } from "vitest";
import { difference } from "../src/what_if/answer";
import type { Alignment, ToldPod, WhatIfAnswer } from "../src/agent/api_types";
import { choiceOf, outcomeOf } from "../src/telling/run_story";

test.each([
  [{ admitted: true }, "admitted"],
  [{ admitted: true, event: "restart" }, "admitted again"],
  [{ admitted: false, event: "restart", reason: "TopologyAffinityError" }, "TopologyAffinityError"],
  [{ admitted: false, event: "evict", reason: "Preempting" }, "evicted"],
  [{ admitted: false, event: "resize", reason: "Deferred", resize: "Deferred" }, "resize Deferred"],
  [{ admitted: false, panic: "a map that is nil" }, "crash"],
] as const)("%o came out as %s", (decision, word) => {
  expect(outcomeOf({ pod: "default/a", ...decision })).toBe(word);
});

test("who was admitted and lies apart is not plainly admitted", () => {
  const split = { verdict: "split", why: "", parts: [] } as Alignment;
  expect(choiceOf({ pod: "a", admitted: true }, split)).toEqual({ look: "admitted apart", word: "admitted, split" });
  expect(choiceOf({ pod: "a", admitted: true }, { ...split, verdict: "aligned" })).toEqual({
    look: "admitted",
    word: "admitted, aligned",
  });
  expect(choiceOf({ pod: "a", admitted: false, reason: "OutOfcpu" }, undefined)).toEqual({ look: "rejected", word: "OutOfcpu" });
});

function answer(admitted: boolean[], events: boolean): WhatIfAnswer {
  const stories = admitted.map((one) => ({ pod: "default/a", admitted: one, story: { sentence: "" } }) as ToldPod);
  return { stories, ...(events ? { events: [] } : {}) } as unknown as WhatIfAnswer;
}

test("in a run each decision is compared in its turn", () => {
  expect(difference(answer([true, false], true), answer([true, false], true))).toBe("A and B decide the same.");
  expect(difference(answer([true, false], true), answer([true, true], true))).toBe(
    "A and B differ in the verdict on default/a.",
  );
});
