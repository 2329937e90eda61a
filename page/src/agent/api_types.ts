// The shapes that the agent's API speaks, version 1; names as the command line prints them with -o json.

export interface MachineFile {
  name?: string;
  model?: string;
  sockets?: number;
  assumed?: string;
  numaNodes?: { id: number; memory?: string | number; distances?: number[]; device?: string }[];
  cpus?: CpuGroup[];
  offline?: string | number;
  isolated?: string | number;
  caches?: CacheRun[];
  devices?: DeviceEntry[];
  links?: { between: string[]; matrix: string[][] } | { a: string; b: string; kind: string }[];
}

export interface CpuGroup {
  numa: number | "unknown";
  socket: number | "unknown";
  uncoreCache?: number;
  kind?: string;
  cpus?: string | number;
  threads?: (string | number)[];
}

export interface CacheRun {
  level: number;
  kind?: string;
  size: string | number;
  cpus?: (string | number)[];
  threads?: (string | number)[];
}

export interface DeviceEntry {
  id: string;
  resource?: string;
  numa?: number[];
  healthy?: boolean;
  kind?: string;
  name?: string;
  label?: string;
  memory?: string | number;
  parent?: string;
  bus?: string;
  switch?: string;
  rootPort?: string;
}

export interface MachineAnswer {
  machine: MachineFile;
  name: string;
  source: "live" | "demo" | "kubelet" | "cluster";
  catalogue: { name: string; title: string }[];
  /** Left out where nothing was measured. */
  measured?: MeasuredAnswer;
}

/** The median of several rounds, with the lowest and the highest of them. */
export interface MeasuredFigure {
  middle: number;
  low: number;
  high: number;
  rounds: number;
}

export interface MeasuredAnswer {
  at: string;
  comparable: boolean;
  nodes: { id: number; cpus: string; bytes: number }[];
  pairs: { node: number; memory: number; bytesPerSecond: MeasuredFigure | null; nanoseconds: MeasuredFigure | null }[];
  notes: string[];
}

export interface Resolved {
  version: string;
  policy: string;
  scope: string;
  cpuManagerPolicy: string;
  memoryManagerPolicy: string;
  cpuOptions: Record<string, string>;
  topologyOptions: Record<string, string>;
}

export interface SettingsAnswer extends Resolved {
  kubelet: string;
  versions: string[];
  policies: string[];
  scopes: string[];
  options: { name: string; manager: "cpu" | "topology"; since: string }[];
  /** Nobody said which kubelet is there: an example answers questions. */
  example: boolean;
  reservedCpus: string;
}

/** How a holder lies: aligned, split, remote GPU, remote NIC, remote device or shared. */
export interface Alignment {
  verdict: string;
  why: string;
  parts: { container: string; resource: string; device: string; nodes: number[]; remoteFrom: string[] }[];
}

export interface Holder {
  id: string;
  name: string;
  kind: "pod" | "lease" | "shared" | "outside";
  since: string | null;
  owner: string;
  cpus: string;
  memory: { nodes: number[]; type: string; bytes: number }[];
  /** The same bytes, as the ledger counts them on each NUMA node. */
  memoryParts?: { node: number; type: string; bytes: number }[];
  devices: Record<string, string[]>;
  nodes: number[];
  rung: string;
  new?: boolean;
  /** Its pod has ended or was rejected; the kubelet frees this at the next admission. */
  gone?: boolean;
  /** Null for what is gone, and for what is not for this agent. */
  alignment?: Alignment | null;
}

export interface Share {
  total: number;
  held: number;
  free: number;
  reserved?: number;
}

export interface LedgerView {
  revision: number;
  time: string;
  simulation: boolean;
  holders: Holder[];
  reservedCpus: string;
  sharedCpus: string;
  freeCpus: string;
  /** Of a host: CPUs that leases may have, and that What if keeps back. */
  keptCpus?: string;
  /** How many holders lie how. */
  alignment?: Record<string, number>;
  nodes: {
    id: number;
    cpus: Share;
    memory: Share;
    devices: Record<string, Share>;
    hugepages?: Record<string, Share>;
  }[];
}

export interface Summary {
  id: number;
  time: string;
  pod: string;
  kind: "pod" | "lease" | "release";
  admitted: boolean;
  reason: string;
  message: string;
  sentence: string;
  cpus: string;
  nodes: number[];
  /** A guess about the machine matters to it. */
  guess: boolean;
  /** How it came to lie; null for who was refused or has gone. */
  alignment?: Alignment | null;
}

export interface GridRow {
  resource: string;
  needed: number;
  cells: GridCell[];
}

export interface GridCell {
  numa: number;
  free: number;
  allocatable: number;
  held: Record<string, number>;
  /** Memory that somebody holds on this node and others together. */
  across: { pod: string; amount: number; nodes: number[] }[];
  /** This node alone could give all of it, by the rules of its manager. */
  fits: boolean;
}

export interface Chapter {
  container: string;
  grid: GridRow[];
  hints: Record<string, string>;
  best: [number | null, boolean] | null;
  outcome: string;
  walk?: Walk;
}

/** The combinations of one hint per resource that matter: the best first, then the nearest others. */
export interface Walk {
  /** Null where the hints are described, not listed. */
  combinations: number | null;
  filtered: number;
  shown: {
    picks: { resource: string; nodes: number[] | null; preferred: boolean }[];
    nodes: number[];
    preferred: boolean;
    best: boolean;
    /** Why the merge does not end with it. */
    lost?: string;
  }[];
  /** So many were looked at, and so many of these have nothing in common. */
  walked?: number;
  apart?: number;
}

interface Short {
  resource?: string;
  asked?: number;
  used?: number;
  capacity?: number;
}

/**
 * Why a decision is as it is; `merge-refused`: the policy rejected what the last merge ended with. Of a node that is
 * short as a whole it has amounts, of CPUs in thousandths.
 */
export interface Cause extends Short {
  kind: string;
  short?: Short[];
  /** Of a resize that is put off. */
  cause?: Cause;
}

export interface Story {
  sentence: string;
  chapters: Chapter[];
  /** A log does not have it. */
  cause?: Cause;
  doubts?: string[];
  /** Of a refusal that no merge made: `fits` of its cells says nothing. */
  wanted?: { rows: GridRow[]; stops: string[] } | null;
}

export interface DecisionAnswer extends Summary {
  story: Story | null;
  ledger: LedgerView;
  notes: Note[];
  /** A pod that asks for the same; empty where nothing was decided. */
  manifest: string;
}

export type Hint = [number | null, boolean];

export interface SimulatedPod {
  pod: string;
  qos?: string;
  event?: "add" | "restart" | "evict" | "resize";
  /** Of a resize: what came of it. */
  resize?: string;
  admitted: boolean;
  panic?: string;
  reason?: string;
  message?: string;
  merges?: { providers: Record<string, Hint[] | null>[]; best: Hint; admit: boolean }[];
}

/** What an event changed besides the decisions that it caused. */
export interface Effect {
  kind: string;
  pod: string;
  text: string;
}

/** One event of a run. Its decisions are, in order, the next of the flat list. */
export interface RunEvent {
  event: string;
  decisions: SimulatedPod[];
  effects?: Effect[];
  crash?: string;
  noEffect?: string;
}

export interface ToldPod {
  pod: string;
  admitted: boolean;
  reason: string;
  message: string;
  story: Story;
  /** How it came to lie, where it was admitted. */
  alignment?: Alignment;
}

export interface Proposal {
  kind: string;
  text: string;
  aligned: boolean;
  removes: string[];
  rejects: string[];
  patches: string;
  patch: unknown;
}

export interface Advised {
  pod: string;
  fault: string;
  why: string;
  proposals: Proposal[];
  /** Notes about this pod. */
  notes?: Note[];
  /** Other pods of the same shape with the same fault, for which this one speaks. */
  same: string[];
  /** Other pods of its object that are badly off in another way. */
  replicas: string[];
}

export interface Advice {
  advice: Advised[];
  notes: Note[];
  /** Pods that the kubelet did not come to, since it would crash before. */
  undecided: string[];
}

export interface Note {
  code: string;
  /** `machine`, `kubelet`, `node`, a file, or a pod by namespace and name. */
  about: string;
  text: string;
}

export interface WhatIfAnswer {
  decisions: SimulatedPod[];
  /** Where the question has events. */
  events?: RunEvent[];
  stories: ToldPod[];
  /** The NUMA nodes before the pods of the question came. */
  before?: LedgerView["nodes"];
  ledger: LedgerView;
  advice: Advice | null;
  /** Why there is none, where one was asked for. */
  adviceProblem?: string;
  settings: Resolved;
  kubelet: string;
  notes: Note[];
}

export interface SettingsChoice {
  policy?: string;
  scope?: string;
  cpuManagerPolicy?: string;
  memoryManagerPolicy?: string;
  cpuOptions?: Record<string, string>;
  topologyOptions?: Record<string, string>;
}

export interface WhatIfBody {
  machine?: string;
  kubelet?: string;
  settings?: SettingsChoice;
  version?: string;
  pods: string;
  /** One event a line, as in a file of `--events`. */
  events?: string;
  empty?: boolean;
  /** Holders that are taken to be gone, by id or name. */
  without?: string[];
  /** Whether to say what to change too, which takes longer. */
  advice?: boolean;
}

export interface Example {
  name: string;
  title: string;
  pods: string;
  machine?: string;
  kubelet?: string;
}

export interface Problem {
  title: string;
  status: number;
  detail: string;
  source?: string;
  line?: number;
  field?: string;
  cure?: string;
}

/** What the jobs of this host did over time: a value for each audit, null where there is none. */
export interface PastAnswer {
  times: string[];
  jobs: {
    name: string;
    lease: string;
    cpus: (number | null)[];
    waiting: (number | null)[];
    switches: (number | null)[];
    forced: (number | null)[];
    memory: Record<string, (number | null)[]>;
  }[];
  nodes: { node: number; remote: (number | null)[]; missed: (number | null)[] }[];
}
