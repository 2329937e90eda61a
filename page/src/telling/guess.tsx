// The mark of a pod that a guess about the machine matters to.

import type { Note } from "../agent/api_types";

/** A guess about the machine matters to this pod, as the star in the table of `numafit simulate` says. */
export function restsOnGuess(pod: string, notes: Note[]): boolean {
  return notes.some(({ code, about }) => about === pod && /-(matters?|made-up)$/.test(code));
}

export function GuessMark({ words = "guess" }: { words?: string }) {
  return (
    <span class="label guess" title="A guess about the machine matters to it: see the notes">
      {words}
    </span>
  );
}
