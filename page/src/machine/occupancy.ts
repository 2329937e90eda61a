// Who sits where: the ledger turned round, from each CPU, device and piece of memory to its holder.

import type { Holder, LedgerView } from "../agent/api_types";
import { numbersOf } from "../values/numbers";

/** `pool`: free, and shared work runs on it for now. `shared`: it can only be shared. `kept`: free for leases alone. */
export type CpuState = "held" | "reserved" | "kept" | "shared" | "pool" | "free" | "offline" | "unknown";

export interface Segment {
  holder: string;
  bytes: number;
  /** `memory`, or the huge pages that it is. */
  type: string;
  /** It is the part counted here of what lies on several nodes. */
  spread: boolean;
}

export interface Occupancy {
  holders: Map<string, Holder>;
  cpus: Map<number, string>;
  devices: Map<string, string>;
  memory: Map<number, Segment[]>;
  reserved: Set<number>;
  shared: Set<number>;
  free: Set<number>;
  kept: Set<number>;
  /** Those who run in the shared pool. */
  sharers: Holder[];
}

export function occupancyOf(ledger: LedgerView): Occupancy {
  const cpus = new Map<number, string>();
  const devices = new Map<string, string>();
  const memory = new Map<number, Segment[]>();
  for (const holder of ledger.holders) {
    for (const cpu of holder.kind === "shared" ? [] : numbersOf(holder.cpus)) cpus.set(cpu, holder.id);
    for (const ids of Object.values(holder.devices)) for (const id of ids) devices.set(id, holder.id);
    for (const { node, type, bytes } of holder.memoryParts ?? []) {
      const spread = holder.memory.some(
        (block) => block.type === type && block.nodes.length > 1 && block.nodes.includes(node),
      );
      memory.set(node, [...(memory.get(node) ?? []), { holder: holder.id, bytes, type, spread }]);
    }
  }
  return {
    holders: new Map(ledger.holders.map((holder) => [holder.id, holder])),
    cpus,
    devices,
    memory,
    reserved: new Set(numbersOf(ledger.reservedCpus)),
    shared: new Set(numbersOf(ledger.sharedCpus)),
    free: new Set(numbersOf(ledger.freeCpus)),
    kept: new Set(numbersOf(ledger.keptCpus ?? "")),
    sharers: ledger.holders.filter(isSharer),
  };
}

export function cpuState(cpu: number, occupancy: Occupancy, offline: Set<number>): CpuState {
  if (offline.has(cpu)) return "offline";
  if (occupancy.cpus.has(cpu)) return "held";
  if (occupancy.reserved.has(cpu)) return "reserved";
  if (!occupancy.free.has(cpu)) return occupancy.shared.has(cpu) ? "shared" : "unknown";
  if (occupancy.kept.has(cpu)) return "kept";
  return occupancy.shared.has(cpu) && occupancy.sharers.length > 0 ? "pool" : "free";
}

/** Without CPUs of its own it runs in the shared pool, whatever else it holds. */
export function isSharer(holder: Holder): boolean {
  return !holder.gone && holder.kind !== "outside" && (holder.kind === "shared" || holder.cpus === "");
}

/** Everything a holder has, counted: CPUs, bytes, devices. */
export function holdings(holder: Holder): { cpus: number; bytes: number; devices: [string, number][] } {
  return {
    cpus: holder.kind === "shared" ? 0 : numbersOf(holder.cpus).length,
    bytes: holder.memory.reduce((sum, block) => sum + block.bytes, 0),
    devices: Object.entries(holder.devices).map(([resource, ids]) => [resource, ids.length]),
  };
}

/** `nvidia.com/gpu` is long beside a picture: the part behind the slash, as `GPU` where it is short. */
export function resourceText(resource: string, count = 2): string {
  const short = resource.split("/").pop() ?? resource;
  const known: Record<string, string> = { gpu: "GPU", cpu: "CPU", nic: "NIC", memory: "memory" };
  const word = known[short] ?? short;
  return count === 1 || word === "memory" || word.startsWith("hugepages") ? word : `${word}s`;
}
