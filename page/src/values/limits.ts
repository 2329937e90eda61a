// How much the agent takes: a file beyond it is refused by its size, before it is read.

import { bytesText } from "./amounts";

/** Of a question, which is JSON with the text in it. */
export const MOST_QUESTION = 1 << 20;
export const MOST_LOG = 32 << 20;

/** One sentence, or nothing where it is small enough. */
export function tooLarge(file: { name: string; size: number }, most: number): string {
  if (file.size <= most) return "";
  // Just above the limit both round to the same.
  const rounded = bytesText(file.size) !== bytesText(most);
  const [size, limit] = rounded ? [bytesText(file.size), bytesText(most)] : [`${file.size} bytes`, `${most}`];
  return `${file.name} has ${size}, and at most ${limit} are taken: give a part of it.`;
}
