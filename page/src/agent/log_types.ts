// The shapes of a kubelet log that was told, as `numafit explain --log -o json` prints them.

import type { Note, SimulatedPod, ToldPod } from "./api_types";

export interface LogAnswer {
  lines: number;
  admitted: number;
  rejected: number;
  unknown: number;
  kubelets: { process: number; release: string | null; releases: string[]; policy: string | null; scope: string | null }[];
  stories: LogStory[];
  notShown: number;
  loops: LogLoop[];
  notes: Note[];
}

export interface LogStory extends Omit<ToldPod, "admitted"> {
  /** Null: the log does not tell how it ended. */
  admitted: boolean | null;
  line: number;
  time: string;
  times: number;
  last: string;
  inferred: boolean;
  policy: string;
  merges?: SimulatedPod["merges"];
}

export interface LogLoop {
  pod: string;
  reason: string;
  rejections: number;
  recreations: number;
  first: string;
  last: string;
  seconds: number;
  period: number;
  ended: string;
  ways_out: string[];
}
