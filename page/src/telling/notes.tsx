// What an answer stands on: what was assumed, left out or not known; the same of several pods is said once.

import type { Note } from "../agent/api_types";
import { plain } from "./telling";

const MOST_NAMED = 3;

export function Notes({ notes }: { notes: Note[] }) {
  if (notes.length === 0) return null;
  return (
    <section class="notes" aria-label="What this answer stands on">
      <h3>Notes</h3>
      <ul>
        {grouped(notes).map(({ names, text }) => (
          <li key={text}>
            <strong>{names}:</strong> {plain(text)}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function grouped(notes: Note[]): { names: string; text: string }[] {
  const about = new Map<string, string[]>();
  for (const { about: one, text } of notes) about.set(text, [...(about.get(text) ?? []), one]);
  return [...about].map(([text, names]) => {
    const more = names.length - MOST_NAMED;
    return { names: names.slice(0, MOST_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : ""), text };
  });
}
