// One colour per holder for as long as the page is open: a slot of the palette, found by name so that reloads agree.

import type { Holder } from "../agent/api_types";

/** Colours that people with the common colour blindnesses tell apart; a second round is striped. */
export const SLOTS = 10;

const given = new Map<string, number>();

/** Holder id -> slot below 2 * SLOTS. Holders keep theirs; a newcomer takes the one its name points to, or another. */
export function slotsOf(holders: readonly Holder[]): Map<string, number> {
  const ordered = [...holders].sort(
    (a, b) => (a.since ?? "").localeCompare(b.since ?? "") || a.name.localeCompare(b.name),
  );
  const taken = new Map<number, number>();
  for (const { name } of ordered) {
    const slot = given.get(name);
    if (slot !== undefined) taken.set(slot, (taken.get(slot) ?? 0) + 1);
  }
  for (const { name } of ordered) {
    if (given.has(name)) continue;
    const slot = freeSlot(hash(name), taken);
    given.set(name, slot);
    taken.set(slot, (taken.get(slot) ?? 0) + 1);
  }
  return new Map(ordered.map((holder) => [holder.id, given.get(holder.name)!]));
}

function freeSlot(start: number, taken: Map<number, number>): number {
  for (const round of [0, SLOTS]) {
    for (let step = 0; step < SLOTS; step += 1) {
      const slot = round + ((start + step) % SLOTS);
      if (!taken.has(slot)) return slot;
    }
  }
  return start % (2 * SLOTS);
}

function hash(name: string): number {
  let value = 2166136261;
  for (const character of name) value = Math.imul(value ^ character.charCodeAt(0), 16777619) >>> 0;
  return value % SLOTS;
}

/**
 * Of each colour the lines on it, so that holders are told apart where no colour is seen: colours that are about as
 * light never have the same.
 */
const TEXTURES = ["", "level", "upright", "fine", "sparse"] as const;
const TEXTURE_OF = [3, 4, 1, 0, 4, 2, 1, 3, 2, 0];

/** The name of a pattern; empty for none. */
export function textureOf(slot: number | undefined): string {
  return slot === undefined ? "" : (TEXTURES[TEXTURE_OF[slot % SLOTS]!] ?? "");
}

export function slotClass(slot: number | undefined): string {
  if (slot === undefined) return "";
  const texture = textureOf(slot);
  const classes = [`slot${slot % SLOTS}`, texture && `texture-${texture}`, slot < SLOTS ? "" : "striped"];
  return classes.filter(Boolean).join(" ");
}
