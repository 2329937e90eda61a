// The agent's API: one function per question, every failure one Refusal with a sentence for people.

import type {
  Advice,
  DecisionAnswer,
  Example,
  LedgerView,
  MachineAnswer,
  MachineFile,
  PastAnswer,
  Problem,
  SettingsAnswer,
  Summary,
  WhatIfAnswer,
  WhatIfBody,
} from "./api_types";
import type { AuditAnswer, CheckupAnswer, FitAnswer, LintAnswer, PatchAnswer, WhyNotAnswer, WhyNotBody } from "./ask_types";
import type { LogAnswer } from "./log_types";
import type { FleetView } from "../fleet/fleet_types";
import type { UseAnswer } from "../machine/use";

/** Where the agent of this page lies: that of one node among many has a path of its own. */
export const HOME = globalThis.document?.documentElement.dataset["base"] ?? "";
const BASE = `${HOME}/api/v1`;

/** The agent said no, or cannot be reached; the message is one sentence, with the cure where one is known. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly status = 0,
    /** The line, from 1, of the text that `source` names (pods, events, kubelet); 0: it has none. */
    readonly line = 0,
    readonly source = "",
  ) {
    super(message);
  }
}

async function ask<T>(path: string, options: RequestInit = {}): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(BASE + path, { ...options, headers: { Accept: "application/json", ...options.headers } });
  } catch (failure) {
    if (options.signal?.aborted) throw failure;
    throw new Refusal("The agent does not answer: see whether `numafit serve` still runs.");
  }
  if (!answer.ok) {
    const body = await answer.text();
    const [source, line] = placeOfProblem(body);
    throw new Refusal(sentence(body, answer.status), answer.status, line, source);
  }
  return (await answer.json()) as T;
}

function sentence(body: string, status: number): string {
  try {
    const problem = JSON.parse(body) as Partial<Problem>;
    const text = problem.detail || problem.title;
    // The place and the cure may already stand in the sentence.
    if (text) return problem.cure && !text.includes(problem.cure) ? `${text}: ${problem.cure}` : text;
  } catch {
    // Not JSON: only the status is known.
  }
  return `The agent answered with status ${status}.`;
}

/** Where it is wrong: in which text, and in which line of it. */
export function placeOfProblem(body: string): [string, number] {
  try {
    const { source, line } = JSON.parse(body) as Partial<Problem>;
    return [source ?? "", typeof line === "number" ? line : 0];
  } catch {
    return ["", 0];
  }
}

function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

export const api = {
  events: `${BASE}/events`,
  fleetEvents: `${BASE}/fleet/events`,
  fleet: () => ask<FleetView>("/fleet"),
  machine: () => ask<MachineAnswer>("/machine"),
  catalogue: (name: string) => ask<{ machine: MachineFile }>(`/catalogue/${encodeURIComponent(name)}`),
  settings: () => ask<SettingsAnswer>("/settings"),
  ledger: () => ask<LedgerView>("/ledger"),
  past: () => ask<PastAnswer>("/past"),
  use: () => ask<UseAnswer>("/use"),
  examples: () => ask<Example[]>("/examples"),
  decision: (id: number) => ask<DecisionAnswer>(`/decisions/${id}`),
  whatIf: (body: WhatIfBody, signal?: AbortSignal) => post<WhatIfAnswer>("/whatif", body, signal),
  advise: (body: WhatIfBody, signal?: AbortSignal) => post<Advice>("/advise", body, signal),
  whyNot: (body: WhyNotBody, signal?: AbortSignal) => post<WhyNotAnswer>("/why-not", body, signal),
  fit: (body: WhatIfBody, signal?: AbortSignal) => post<FitAnswer>("/fit", body, signal),
  lint: (body: { files: { name: string; text: string }[]; machine?: unknown; version?: string }, signal?: AbortSignal) =>
    post<LintAnswer>("/lint", body, signal),
  doctor: (body: { kubelet?: string }, signal?: AbortSignal) => post<CheckupAnswer>("/doctor", body, signal),
  audit: () => ask<AuditAnswer>("/audit"),
  apply: (body: { patch: unknown; pods?: string; pod?: string; kubelet?: string }) => post<PatchAnswer>("/apply", body),
  log: (file: Blob) => ask<LogAnswer>("/log", { method: "POST", body: file }),
  decisions(filter: { pod?: string; verdict?: string; before?: number; limit?: number }) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filter)) if (value) query.set(name, String(value));
    return ask<{ decisions: Summary[]; next: number | null }>(`/decisions?${query}`);
  },
};
