// Sentences and fragments that several views say, in one place so that they say the same.

import { bytesText, plural } from "./amounts";
import type { Machine } from "../machine/machine";
import { textOf } from "./numbers";

/** Of what a pod that is no more still has in the kubelet's books. */
export const LEFT_OVER = "its pod has ended or was rejected; the kubelet frees this at the next admission";

export function membersText(nodes: number[]): string {
  if (nodes.length === 0) return "";
  return `NUMA ${nodes.length === 1 ? "node" : "nodes"} ${textOf(nodes)}`;
}

export function machineText(machine: Machine): string {
  const { nodes, cores, cpus, memory } = machine.facts;
  const packages = machine.sockets.filter((socket) => socket.title.startsWith("Socket")).length;
  const gpus = machine.devices.filter((device) => device.kind === "gpu").length;
  return [
    plural(packages, "socket"),
    plural(nodes, "NUMA node"),
    cores === cpus ? "" : plural(cores, "core"),
    plural(cpus, "CPU"),
    memory > 0 ? bytesText(memory) : "",
    gpus > 0 ? plural(gpus, "GPU") : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The look of a decision, and the word for it: a lease is no pod, and nobody admits it. Null: a log that does not tell. */
export function verdictOf(admitted: boolean | null, kind: string): { look: string; word: string; sign: string } {
  if (kind === "release") return { look: "released", word: "released", sign: "↩" };
  if (admitted === null) return { look: "unknown", word: "outcome not known", sign: "?" };
  if (admitted) return { look: "admitted", word: kind === "lease" ? "taken" : "admitted", sign: "✓" };
  return { look: "rejected", word: kind === "lease" ? "refused" : "rejected", sign: "✕" };
}
