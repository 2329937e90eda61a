// The shapes of a whole cluster, as the agent of `numafit serve --fleet` tells them.

export interface Kind {
  total: number;
  free: number;
  /** Free, and not usable together with the rest. */
  stranded: number;
}

export interface NumaTile {
  id: number;
  cpus: Kind;
  gpus: Kind;
  memory: Kind;
}

export interface NodeTile {
  name: string;
  known: boolean;
  trouble: string;
  schedulable: boolean;
  ready: boolean;
  release: string;
  policy: string;
  scope: string;
  cpus: Kind | null;
  gpus: Kind | null;
  memory: Kind | null;
  largest: number;
  pods: number;
  promised: number;
  split: string[];
  fragmentation: number;
  numa: NumaTile[];
}

export interface WaitingPod {
  pod: string;
  since: string;
  priority: number;
  sentence: string;
  teller: "placer" | "guard" | "scheduler" | "";
  gates: string[];
}

export interface Loop {
  owner: string;
  rejected: number;
  reason: string;
  message: string;
  nodes: string[];
  last: string;
  held: string[];
}

export interface Totals {
  nodes: number;
  known: number;
  cpus: Kind;
  gpus: Kind;
  memory: Kind;
  split: number;
  waiting: number;
}

export interface FleetView {
  revision: number;
  time: string;
  totals: Totals;
  nodes: NodeTile[];
  waiting: WaitingPod[];
  loops: Loop[];
}

/** What has changed; null: as before. */
export interface FleetUpdate {
  revision: number;
  time: string;
  totals: Totals;
  nodes: NodeTile[];
  gone: string[];
  waiting: WaitingPod[] | null;
  loops: Loop[] | null;
}
