// The shapes of questions that are asked beside the decision: why not here, how many fit, what is wrong, what to apply.

import type { Hint, Note, WhatIfBody } from "./api_types";

export interface HereRow {
  resource: string;
  needed: number;
  free: number;
  allocatable: number;
  /** Its manager has a hint of this node alone, or does not care where. */
  offered: boolean;
  preferred: boolean;
  fits: boolean;
  held: Record<string, number>;
}

export interface WhyNotBody extends WhatIfBody {
  numa: number;
  pod?: string;
}

export interface WhyNotAnswer {
  pods: {
    pod: string;
    numa: number;
    admitted: boolean;
    nodes: number[];
    sentence: string;
    merges: {
      container: string;
      standing: string;
      best: Hint;
      admit: boolean;
      resources: HereRow[];
      sentence: string;
    }[];
  }[];
  notes: Note[];
}

export interface FitAnswer {
  shapes?: {
    pod: string;
    admitted: number;
    aligned: number;
    reason: string;
    message: string;
    wouldFitUnaligned: number;
    stop: unknown;
  }[];
  stranded?: { numa: number; amounts: Record<string, number> }[];
  /** No further pod of these shapes is admitted. */
  full?: boolean;
  notes: Note[];
}

export interface Finding {
  code: string;
  severity: string;
  file: string;
  line: number;
  message: string;
  cure: string;
}

export interface LintAnswer {
  findings: Finding[];
  files: number;
  counts: Record<string, number>;
  notes: Note[];
}

export interface CheckupAnswer {
  kubeVersion: string;
  starts: boolean;
  files: string[];
  findings: {
    code: string;
    severity: string;
    place: string;
    text: string;
    details: string[];
    why: string;
    cure: string[];
    cost: string;
    line: number | null;
  }[];
  unchecked: { check: string; text: string; because: string[] }[];
  notes: Note[];
}

export interface AuditAnswer {
  time: string;
  findings: { code: string; severity: string; subject: string; pid: number | null; sentence: string; cure: string }[];
  promises: { name: string; cpus: string; mems: string; pids: number[] }[];
  unseen: string[];
  seconds: number | null;
  jobs: { name: string; cpusUsed: number; threadsWaiting: number | null; processes: number; threads: number }[];
}

export interface PatchAnswer {
  pods: string | null;
  kubelet: string | null;
  yaml: string;
  kubectl: string;
}
