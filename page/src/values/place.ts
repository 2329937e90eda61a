// The address behind `#`: which view is open and everything chosen in it, so that a link restores the whole view.

import type { SettingsChoice } from "../agent/api_types";

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
  /** Holders that are taken to be gone, by id. */
  without: string[];
  /** The NUMA node of "why not here?". */
  why: number | null;
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
  view: "machine" | "what-if" | "story" | "checks";
  table: boolean;
  holder: string;
  whatIf: WhatIfPlace;
  story: StoryPlace;
  /** Something in the address made no sense. */
  unread: boolean;
}

export const SIDE: Side = { settings: {}, version: "" };
export const START: Place = {
  view: "machine",
  table: false,
  holder: "",
  whatIf: {
    pods: "",
    events: "",
    machine: "",
    empty: false,
    without: [],
    why: null,
    kubelet: "",
    left: SIDE,
    right: null,
  },
  story: { decision: null, pod: "", verdict: "" },
  unread: false,
};

/** `#machine`, or `#what-if/` and the choices that differ from the start, as base64url of JSON. */
export function fragmentOf(place: Place): string {
  const chosen: Partial<Record<keyof Place, unknown>> = {};
  if (place.view === "machine") {
    if (place.table) chosen.table = true;
    if (place.holder) chosen.holder = place.holder;
  } else if (place.view === "what-if" && isAsked(place.whatIf)) chosen.whatIf = place.whatIf;
  else if (place.view === "story" && JSON.stringify(place.story) !== JSON.stringify(START.story))
    chosen.story = place.story;
  return Object.keys(chosen).length > 0 ? `#${place.view}/${encoded(JSON.stringify(chosen))}` : `#${place.view}`;
}

/** There is something to ask: pods, or what would be without somebody. */
export function isAsked(place: WhatIfPlace): boolean {
  return place.pods.trim() !== "" || (place.without.length > 0 && !place.machine && !place.empty);
}

/** What cannot be read is as at the start, and that is said: an address may come from anywhere. */
export function placeOf(fragment: string): Place {
  const [view = "", rest = ""] = fragment.replace(/^#/, "").split("/", 2);
  const known = view === "what-if" || view === "story" || view === "machine" || view === "checks";
  const place: Place = { ...START, view: known ? view : "machine", unread: !known && view !== "" };
  if (!rest) return place;
  try {
    const read = new Reader(JSON.parse(decoded(rest)));
    const whatIf = read.part("whatIf");
    const story = read.part("story");
    const found: Place = {
      ...place,
      table: read.value("table", "boolean", false),
      holder: read.value("holder", "string", ""),
      whatIf: {
        pods: whatIf.value("pods", "string", ""),
        events: whatIf.value("events", "string", ""),
        machine: whatIf.value("machine", "string", ""),
        empty: whatIf.value("empty", "boolean", false),
        without: whatIf.has("without") ? whatIf.list("without") : [],
        why: whatIf.has("why") ? whatIf.value("why", "number", null) : null,
        kubelet: whatIf.value("kubelet", "string", ""),
        left: sideOf(whatIf.part("left")),
        right: whatIf.has("right") ? sideOf(whatIf.part("right")) : null,
      },
      story: {
        decision: story.has("decision") ? story.value("decision", "number", null) : null,
        pod: story.value("pod", "string", ""),
        verdict: story.value("verdict", "string", ""),
      },
    };
    return { ...found, unread: place.unread || read.failed || whatIf.failed || story.failed };
  } catch {
    return { ...place, unread: true };
  }
}

const CHOICES = ["policy", "scope", "cpuManagerPolicy", "memoryManagerPolicy"] as const;
const OPTIONS = ["cpuOptions", "topologyOptions"] as const;

function sideOf(read: Reader): Side {
  const given = read.part("settings");
  const settings: SettingsChoice = {};
  for (const name of CHOICES) if (given.has(name)) settings[name] = given.value(name, "string", "");
  for (const name of OPTIONS) if (given.has(name)) settings[name] = given.part(name).texts();
  return { settings, version: read.value("version", "string", "") };
}

/** Of one object in an address; parts tell their failures to the whole. */
class Reader {
  failed = false;
  private readonly fields: Record<string, unknown> = {};

  constructor(
    value: unknown,
    private readonly whole: Reader | null = null,
  ) {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) this.fields = value as typeof this.fields;
    else if (value !== undefined) this.fail();
  }

  has(name: string): boolean {
    return this.fields[name] !== undefined && this.fields[name] !== null;
  }

  part(name: string): Reader {
    return new Reader(this.fields[name], this);
  }

  value<T>(name: string, type: "string" | "boolean" | "number", other: T): T {
    const found = this.fields[name];
    if (typeof found === type && !(typeof found === "number" && !Number.isSafeInteger(found))) return found as T;
    if (found !== undefined) this.fail();
    return other;
  }

  list(name: string): string[] {
    const found = this.fields[name];
    const texts = Array.isArray(found) ? found.filter((one): one is string => typeof one === "string") : [];
    if (!Array.isArray(found) || texts.length !== found.length) this.fail();
    return texts;
  }

  texts(): Record<string, string> {
    const found = Object.entries(this.fields).filter(([, value]) => typeof value === "string");
    if (found.length !== Object.keys(this.fields).length) this.fail();
    return Object.fromEntries(found) as Record<string, string>;
  }

  private fail(): void {
    this.failed = true;
    this.whole?.fail();
  }
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
