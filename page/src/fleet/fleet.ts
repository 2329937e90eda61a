// The fleet as a value: changes laid over it, and what of it is shown in which order.

import { plural } from "../values/amounts";
import type { Connection } from "../agent/live";
import type { FleetUpdate, FleetView, Kind, NodeTile } from "./fleet_types";

export function updated(fleet: FleetView, update: FleetUpdate): FleetView {
  const gone = new Set(update.gone);
  const changed = new Map(update.nodes.map((node) => [node.name, node]));
  const nodes = fleet.nodes.flatMap((node) => {
    if (gone.has(node.name)) return [];
    const other = changed.get(node.name);
    changed.delete(node.name);
    return [other ?? node];
  });
  return {
    revision: update.revision,
    time: update.time,
    totals: update.totals,
    nodes: [...nodes, ...changed.values()],
    waiting: update.waiting ?? fleet.waiting,
    loops: update.loops ?? fleet.loops,
  };
}

/** An answer as a whole, with the changes that came while it was on its way. */
export function caughtUp(fleet: FleetView, updates: FleetUpdate[]): FleetView {
  return updates.filter((update) => update.revision > fleet.revision).reduce(updated, fleet);
}

/** What the agent cannot follow at the moment comes before what it says. */
export function stateText(connection: Connection, problem: string): string {
  if (connection === "open") return problem ? "not live" : "live";
  return connection === "lost" ? "not connected" : "connecting";
}

export const ORDERS = {
  fragmentation: "most stranded first",
  split: "most split pods first",
  gpus: "most free GPUs first",
  cpus: "most free CPUs first",
  name: "by name",
} as const;
export type Order = keyof typeof ORDERS;

const BEFORE: Record<Order, (a: NodeTile, b: NodeTile) => number> = {
  fragmentation: (a, b) => b.fragmentation - a.fragmentation || b.split.length - a.split.length,
  split: (a, b) => b.split.length - a.split.length || b.fragmentation - a.fragmentation,
  gpus: (a, b) => (b.gpus?.free ?? 0) - (a.gpus?.free ?? 0),
  cpus: (a, b) => (b.cpus?.free ?? 0) - (a.cpus?.free ?? 0),
  name: () => 0,
};

/** Nodes of which nothing is known come last; `gpu-2` before `gpu-10`. */
export function inOrder(nodes: NodeTile[], order: Order): NodeTile[] {
  return [...nodes].sort(
    (a, b) => Number(b.known) - Number(a.known) || BEFORE[order](a, b) || NAMES.compare(a.name, b.name),
  );
}

const NAMES = new Intl.Collator("en", { numeric: true });

/** All words, each in the name, the policy, the release, or a pod that is split there. */
export function found(nodes: NodeTile[], text: string): NodeTile[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return nodes;
  return nodes.filter((node) => {
    const told = [node.name, node.policy, node.release, node.trouble, ...node.split, ...marksOf(node)]
      .join(" ")
      .toLowerCase();
    return words.every((word) => told.includes(word));
  });
}

/** What is to be said of a node in a word or two. */
export function marksOf(node: NodeTile): string[] {
  return [
    node.ready ? "" : "not ready",
    node.schedulable ? "" : "cordoned",
    node.known ? "" : "not known",
    node.split.length > 0 ? `${node.split.length} split` : "",
  ].filter(Boolean);
}

export function kindText(kind: Kind | null, what: string, amount: (value: number) => string = String): string {
  if (!kind || kind.total === 0) return "";
  const stranded = kind.stranded > 0 ? `, ${amount(kind.stranded)} of them stranded` : "";
  return `${amount(kind.free)} of ${amount(kind.total)} ${what} free${stranded}`;
}

/** A node in one sentence, for whoever cannot see its picture. */
export function nodeText(node: NodeTile, memory: (value: number) => string): string {
  if (!node.known) return `${node.name}: ${node.trouble}`;
  const parts = [
    ...marksOf(node),
    kindText(node.cpus, "CPUs"),
    kindText(node.gpus, "GPUs"),
    kindText(node.memory, "memory", memory),
    plural(node.pods, "pod"),
  ].filter(Boolean);
  return `${node.name}: ${parts.join("; ")}`;
}
