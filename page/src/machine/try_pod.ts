// A holder as a pod that asks for the same: the manifest for "Try this pod".

import { api } from "../agent/api";
import type { Holder } from "../agent/api_types";
import { holdings } from "./occupancy";
import { mebiText } from "../what_if/shape";

const MEBI = 1 << 20;

/** Null where it holds nothing that could be asked for. */
export function podLike(holder: Holder): string | null {
  const { cpus, devices } = holdings(holder);
  const amounts: [string, string][] = [];
  if (cpus > 0) amounts.push(["cpu", `"${cpus}"`]);
  const memory = new Map<string, number>();
  for (const { type, bytes } of holder.memory) memory.set(type, (memory.get(type) ?? 0) + bytes);
  // An exclusive CPU goes only to a pod that is Guaranteed, and that has a limit of memory, too.
  if (cpus > 0 && !memory.has("memory")) memory.set("memory", MEBI);
  for (const [type, bytes] of memory) amounts.push([type, bytes % MEBI === 0 ? mebiText(bytes / MEBI) : `"${bytes}"`]);
  for (const [resource, count] of devices) amounts.push([resource, `"${count}"`]);
  if (amounts.length === 0) return null;
  return `apiVersion: v1
kind: Pod
metadata:
  name: ${nameOf(holder)}
spec:
  containers:
  - name: main
    image: example
    resources:
      limits:
${amounts.map(([resource, amount]) => `        ${resource}: ${amount}`).join("\n")}
`;
}

/**
 * Another pod like the holder: where the agent has decided about it, by its manifest, with all containers and their
 * requests; otherwise by what it holds.
 */
export async function podOf(holder: Holder): Promise<string> {
  if (holder.kind === "pod") {
    try {
      const { decisions } = await api.decisions({ pod: holder.name, verdict: "admitted" });
      const own = decisions.find((one) => one.pod === holder.name && one.kind === "pod");
      const manifest = own ? (await api.decision(own.id)).manifest : "";
      if (manifest) return renamed(manifest, nameOf(holder));
    } catch {
      // A decision that is not remembered, or an agent that is away: what it holds is known all the same.
    }
  }
  return podLike(holder) ?? "";
}

/** The agent writes the name of the pod first. */
export function renamed(manifest: string, name: string): string {
  return manifest.replace(/^ {2}name: .*$/m, `  name: ${name}`);
}

/** As Kubernetes allows names, and another than that of the holder, which is there already. */
function nameOf(holder: Holder): string {
  const plain = holder.name
    .replace(/^.*\//, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return `${plain.slice(0, 50).replace(/-+$/, "") || "pod"}-again`;
}
