// Long names, cut in the middle: their beginning and their end tell them apart.

/** At most `most` characters, of which one is the mark of the cut. */
export function cutMiddle(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - end).join("")}…${end > 0 ? letters.slice(-end).join("") : ""}`;
}

/** Shorter ones have room everywhere. */
const LONG = 24;
const END = 12;

/** The part of a long name that gives way, and the end that stays; a short one has no such end. */
export function endsOf(text: string): [string, string] {
  const letters = [...text];
  return letters.length <= LONG ? [text, ""] : [letters.slice(0, -END).join(""), letters.slice(-END).join("")];
}
