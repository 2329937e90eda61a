// Whose advice is shown for a pod: its own, or that of the pod that speaks for it; and why there is none.

import type { Advice, Advised, Note } from "../agent/api_types";

export interface Speaking {
  advised: Advised;
  /** Empty where the pod speaks for itself. */
  text: string;
}

export function speakerFor(advice: Advice, pod: string): Speaking | null {
  const own = advice.advice.find((one) => one.pod === pod);
  if (own) return { advised: own, text: "" };
  const alike = advice.advice.find((one) => one.same.includes(pod));
  if (alike) return { advised: alike, text: `This is told for ${alike.pod}, which is of the same shape and as badly off.` };
  const made = advice.advice.find((one) => one.replicas.includes(pod));
  if (made) return { advised: made, text: `This is told for ${made.pod}, which comes of the same template.` };
  return null;
}

const CUT = "advice-cut-short";

/** Why nothing, or not all, is known about what would help the pod; empty: the search came to its end. */
export function cutText(advice: Advice, pod: string): string {
  if (advice.undecided.includes(pod)) return "The kubelet would crash before it comes to this pod.";
  const note = advice.notes.find((one) => one.code === CUT && one.about === pod);
  if (!note) return "";
  return speakerFor(advice, pod)
    ? "There was no time to try all that may help."
    : "Whether it is placed well was not looked at: there was no time left.";
}

/** What the advice stands on beside what the answer does. */
export function moreNotes(notes: Note[], advice: Advice | null): Note[] {
  const known = new Set(notes.map((note) => JSON.stringify([note.code, note.about, note.text])));
  return (advice?.notes ?? []).filter((note) => !known.has(JSON.stringify([note.code, note.about, note.text])));
}
