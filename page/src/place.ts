// The address behind `#`: which view is open and everything chosen in it, so that a link restores the whole view.

import type { SettingsChoice } from "./api_types";

export interface Side {
  settings: SettingsChoice;
  version: string;
}

export interface WhatIfPlace {
  pods: string;
  /** What happens besides pods that come, one event a line. */
  events: string;
  machine: string;
  empty: boolean;
  kubelet: string;
  left: Side;
  /** Another setting beside the first. */
  right: Side | null;
}

export interface StoryPlace {
  decision: number | null;
  pod: string;
  verdict: string;
}

export interface Place {
  view: "machine" | "what-if" | "story";
  table: boolean;
  holder: string;
  whatIf: WhatIfPlace;
  story: StoryPlace;
}

export const SIDE: Side = { settings: {}, version: "" };
export const START: Place = {
  view: "machine",
  table: false,
  holder: "",
  whatIf: { pods: "", events: "", machine: "", empty: false, kubelet: "", left: SIDE, right: null },
  story: { decision: null, pod: "", verdict: "" },
};

/** `#machine`, or `#what-if/` and the choices that differ from the start, as base64url of JSON. */
export function fragmentOf(place: Place): string {
  const chosen: Partial<Record<keyof Place, unknown>> = {};
  if (place.view === "machine") {
    if (place.table) chosen.table = true;
    if (place.holder) chosen.holder = place.holder;
  } else if (place.view === "what-if" && place.whatIf.pods) chosen.whatIf = place.whatIf;
  else if (place.view === "story" && JSON.stringify(place.story) !== JSON.stringify(START.story))
    chosen.story = place.story;
  return Object.keys(chosen).length > 0 ? `#${place.view}/${encoded(JSON.stringify(chosen))}` : `#${place.view}`;
}

/** What cannot be read is the start: an address may come from anywhere. */
export function placeOf(fragment: string): Place {
  const [view = "", rest = ""] = fragment.replace(/^#/, "").split("/", 2);
  const place: Place = { ...START, view: view === "what-if" || view === "story" ? view : "machine" };
  if (!rest) return place;
  try {
    const found = JSON.parse(decoded(rest)) as Partial<Place>;
    return {
      ...place,
      table: found.table === true,
      holder: typeof found.holder === "string" ? found.holder : "",
      whatIf: { ...START.whatIf, ...textual(found.whatIf) },
      story: { ...START.story, ...textual(found.story) },
    };
  } catch {
    return place;
  }
}

function textual<T>(value: T | undefined): Partial<T> {
  return typeof value === "object" && value !== null ? value : {};
}

function encoded(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function decoded(text: string): string {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
}
