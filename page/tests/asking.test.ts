import { expect, test } from "vitest";
import { bodyOf } from "../src/what_if/answer";
import type { Holder, Proposal, WhatIfAnswer } from "../src/agent/api_types";
import { canApply } from "../src/telling/applied";
import { healthText } from "../src/story/checks_view";
import { fitText } from "../src/telling/fitting";
import { canGo } from "../src/machine/gone";
import { hintRows, lineText } from "../src/telling/hint_picture";
import { since } from "../src/what_if/pinned";
import { isAsked, SIDE, START } from "../src/values/place";

const PLACE = { ...START.whatIf, pods: "kind: Pod" };

test("who is gone is sent only where somebody is there", () => {
  expect(bodyOf({ ...PLACE, without: ["a"] }, SIDE)).toEqual({ pods: "kind: Pod", without: ["a"] });
  expect(bodyOf({ ...PLACE, without: ["a"], empty: true }, SIDE)).toEqual({ pods: "kind: Pod", empty: true });
  expect(bodyOf({ ...PLACE, without: ["a"], machine: "gb200" }, SIDE)).toEqual({ pods: "kind: Pod", machine: "gb200" });
});

test("a question without pods asks who would be gone", () => {
  expect(isAsked(START.whatIf)).toBe(false);
  expect(isAsked({ ...START.whatIf, without: ["a"] })).toBe(true);
  expect(isAsked({ ...START.whatIf, without: ["a"], empty: true })).toBe(false);
  expect(isAsked(PLACE)).toBe(true);
});

const PROPOSAL: Proposal = { kind: "remove", text: "", aligned: true, removes: [], rejects: [], patches: "", patch: null };

test("what the page cannot put into the question has no button", () => {
  const holders = [
    { name: "a/old", new: false },
    { name: "a/new", new: true },
  ] as Holder[];
  const answer = { ledger: { holders } } as WhatIfAnswer;
  expect(canApply({ ...PROPOSAL, patches: "manifest" }, answer)).toBe(true);
  expect(canApply(PROPOSAL, answer)).toBe(false);
  expect(canApply({ ...PROPOSAL, removes: ["a/old"] }, answer)).toBe(true);
  expect(canApply({ ...PROPOSAL, removes: ["a/old", "a/new"] }, answer)).toBe(false);
});

test("only who could go is offered to go", () => {
  expect(canGo({ kind: "pod" } as Holder)).toBe(true);
  expect(canGo({ kind: "outside" } as Holder)).toBe(false);
  expect(canGo({ kind: "pod", gone: true } as Holder)).toBe(false);
});

function told(admitted: boolean, sentence: string): WhatIfAnswer {
  return { stories: [{ pod: "a", admitted, story: { sentence } }] } as WhatIfAnswer;
}

test("a pinned answer says how the one of now differs", () => {
  expect(since(told(true, "x"), told(true, "x"))).toBe("The answer of now says the same.");
  expect(since(told(true, "x"), told(true, "y"))).toContain("another place or reason");
  expect(since(told(true, "x"), told(false, "y"))).toBe("The answer of now gives another verdict.");
});

const SHAPE = { pod: "a", admitted: 2, aligned: 2, reason: "", message: "", wouldFitUnaligned: 0, stop: null };

test.each([
  [SHAPE, "at least 2 more pods fit."],
  [{ ...SHAPE, admitted: 0, aligned: 0 }, "not counted."],
  [{ ...SHAPE, admitted: 1, aligned: 1, reason: "OutOfcpu", stop: {} }, "1 more pod fits. The next is rejected: OutOfcpu."],
  [
    { ...SHAPE, aligned: 1, reason: "R", message: "m", wouldFitUnaligned: 3, stop: {} },
    "2 more pods fit, 1 of them aligned. The next is rejected: R: m. Were nothing to be aligned, 3 more would fit.",
  ],
])("how many fit is one sentence after the other", (shape, text) => {
  expect(fitText(shape)).toBe(text);
});

test("the hints of a log are drawn on the nodes that they name", () => {
  const { nodes, rows, best } = hintRows({
    providers: [null as never, { cpu: [[2, true], [3, false]] }, { memory: [[1, true]], gpu: [[null, true]] }],
    best: [null, false],
    admit: false,
  });
  expect([nodes, best]).toEqual([[0, 1], []]);
  expect(rows.map((row) => row.cells.map((cell) => lineText(row, cell)))).toEqual([
    ["◐ cpu: only with others", "✓ cpu: fits here ★"],
    ["✓ memory: fits here ★", "✕ memory: not here"],
    ["· gpu: anywhere", "· gpu: anywhere"],
  ]);
});

test("a checkup is one sentence", () => {
  const checkup = { kubeVersion: "v1.36.4", starts: true, files: ["a"], findings: [], unchecked: [], notes: [] };
  expect(healthText(checkup, false)).toBe("The kubelet of this node (v1.36.4) starts over 1 state file.");
  const warned = { ...checkup, files: [], findings: [{ severity: "warning" }] } as never;
  expect(healthText(warned, true)).toBe("The kubelet with this configuration (v1.36.4) starts, with 1 warning.");
});
