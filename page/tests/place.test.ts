import { expect, test } from "vitest";
import { isEvents, isManifest } from "../src/what_if/dropped";
import { fragmentOf, type Place, placeOf, START } from "../src/values/place";

const QUESTION: Place = {
  ...START,
  view: "what-if",
  whatIf: {
    pods: "kind: Pod\n# größer\n",
    events: "stop\nstart reboot\n",
    machine: "gb200",
    empty: true,
    without: ["a1"],
    why: 1,
    kubelet: "",
    left: { settings: { policy: "restricted", cpuOptions: { "full-pcpus-only": "true" } }, version: "v1.30" },
    right: { settings: {}, version: "v1.20" },
  },
};

test("an address restores the whole question", () => {
  expect(placeOf(fragmentOf(QUESTION))).toEqual(QUESTION);
});

test("an address restores a decision and its filter", () => {
  const place: Place = { ...START, view: "story", story: { decision: 7, pod: "web", verdict: "rejected" } };
  expect(placeOf(fragmentOf(place))).toEqual(place);
});

test("a view without choices has a short address", () => {
  expect(fragmentOf({ ...START, view: "story" })).toBe("#story");
});

test.each(["", "#", "#nonsense", "#what-if/%%%", "#machine/bm90IGpzb24", "#story/bnVsbA"])(
  "%s is the start of some view, never an error",
  (fragment) => {
    expect(placeOf(fragment).whatIf).toEqual(START.whatIf);
  },
);

test.each([
  "#nonsense",
  "#what-if/%%%",
  "#machine/bm90IGpzb24",
  "#story/bnVsbA",
  link("what-if", { whatIf: 5 }),
  link("what-if", { whatIf: { pods: [], left: null } }),
  link("what-if", { whatIf: { left: { settings: { cpuOptions: "x" } } } }),
  link("what-if", { whatIf: { right: { settings: { policy: {} }, version: 3 } } }),
  link("story", { story: { decision: 1.5 } }),
  link("machine", { table: "yes" }),
])("%s is told to be unread", (fragment) => {
  expect(placeOf(fragment).unread).toBe(true);
});

test.each(["", "#", "#machine", "#story", "#what-if"])("%s is read", (fragment) => {
  expect(placeOf(fragment).unread).toBe(false);
});

function link(view: string, chosen: unknown): string {
  return `#${view}/${btoa(JSON.stringify(chosen)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")}`;
}

test("a manifest is told from a log by what it says of itself", () => {
  expect(isManifest("# mine\napiVersion: v1\nkind: Pod\n")).toBe(true);
  expect(isManifest('{"kind": "Pod", "apiVersion": "v1"}')).toBe(true);
  expect(isManifest('I0815 22:24:53.410533 1021 kubelet.go:1] "x" apiVersion="v1"\n')).toBe(false);
});

test("events are told from a log by their words", () => {
  expect(isEvents("# an evening\nadd train  # first\n\nrestart plugins=late reboot\n")).toBe(true);
  expect(isEvents("I1116 08:43:08 kubelet.go:1] start\n")).toBe(false);
  expect(isEvents("start\nI1116 08:43:08 kubelet.go:1] x\n")).toBe(false);
  expect(isEvents("\n# nothing\n")).toBe(false);
});
