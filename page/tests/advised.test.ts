import { expect, test } from "vitest";
import type { Advice, Advised, Note } from "../src/agent/api_types";
import { cutText, moreNotes, speakerFor } from "../src/telling/advised";

function advised(pod: string, more: Partial<Advised> = {}): Advised {
  return { pod, fault: "rejected, OutOfcpu", why: "", proposals: [], same: [], replicas: [], ...more };
}

function note(about: string, code = "advice-cut-short"): Note {
  return { code, about, text: `${code} of ${about}` };
}

const ADVICE: Advice = {
  advice: [advised("a/one", { same: ["a/two"], replicas: ["a/three"] }), advised("a/slow")],
  notes: [note("a/slow"), note("a/late"), note("machine", "numa-guessed")],
  undecided: ["a/never"],
};

test("a pod has its own advice, or that of the pod that speaks for it", () => {
  expect(speakerFor(ADVICE, "a/one")).toEqual({ advised: ADVICE.advice[0], text: "" });
  expect(speakerFor(ADVICE, "a/two")?.advised.pod).toBe("a/one");
  expect(speakerFor(ADVICE, "a/two")?.text).toContain("a/one, which is of the same shape");
  expect(speakerFor(ADVICE, "a/three")?.text).toContain("a/one, which comes of the same template");
  expect(speakerFor(ADVICE, "a/late")).toBe(null);
});

test("a pod that was cut short does not look well placed", () => {
  expect(cutText(ADVICE, "a/slow")).toBe("There was no time to try all that may help.");
  expect(cutText(ADVICE, "a/late")).toContain("was not looked at");
  expect(cutText(ADVICE, "a/never")).toContain("would crash before");
  expect(cutText(ADVICE, "a/one")).toBe("");
});

test("notes of the advice come beside those of the answer, each once", () => {
  expect(moreNotes([note("machine", "numa-guessed")], ADVICE)).toEqual([note("a/slow"), note("a/late")]);
  expect(moreNotes([], null)).toEqual([]);
});
