// What the pointer or the keyboard is on: a CPU, a device, a piece of memory or a NUMA node, and what to say of it.

import { agoText, bytesOfText, bytesText, plural } from "../values/amounts";
import type { Holder, LedgerView } from "../agent/api_types";
import type { Machine } from "../machine/machine";
import { textOf } from "../values/numbers";
import { deviceUseText, nodeUseLines, partText, type UseAnswer } from "../machine/use";
import { LEFT_OVER, membersText } from "../values/words";
import { cpuState, holdings, type Occupancy, resourceText } from "../machine/occupancy";

export type Target =
  | { kind: "cpu"; cpu: number }
  | { kind: "device"; device: string }
  | { kind: "memory"; node: number; holder: string }
  | { kind: "node"; node: number };

export interface Telling {
  title: string;
  /** The holder this belongs to, if any; the rest of it is lit. */
  holder: Holder | null;
  lines: string[];
}

/** Reads the data attributes that the drawing puts on its elements. */
export function targetAt(element: Element | null): Target | null {
  const found = element?.closest<SVGElement>("[data-cpu],[data-device],[data-memory],[data-node]");
  if (!found) return null;
  const { cpu, device, memory, node, holder } = found.dataset;
  if (cpu !== undefined) return { kind: "cpu", cpu: Number(cpu) };
  if (device !== undefined) return { kind: "device", device };
  if (memory !== undefined) return { kind: "memory", node: Number(memory), holder: holder ?? "" };
  return { kind: "node", node: Number(node) };
}

export function tellingOf(
  target: Target,
  machine: Machine,
  ledger: LedgerView,
  occupancy: Occupancy,
  use: UseAnswer | null = null,
): Telling {
  switch (target.kind) {
    case "cpu":
      return withLine(cpuTelling(target.cpu, machine, occupancy), loadText(use?.cpus[target.cpu]));
    case "device":
      return withLine(
        deviceTelling(target.device, machine, occupancy),
        deviceUseText(use?.devices.find((one) => one.device === target.device)),
      );
    case "memory":
      return memoryTelling(target.node, target.holder, machine, ledger, occupancy);
    case "node":
      return {
        title: `NUMA node ${target.node}`,
        holder: null,
        lines: [
          ...nodeLines(target.node, ledger),
          ...nodeUseLines(use?.nodes.find((one) => one.node === target.node)),
          distanceText(target.node, machine),
        ].filter(Boolean),
      };
  }
}

function withLine(telling: Telling, line: string): Telling {
  return line ? { ...telling, lines: [...telling.lines, line] } : telling;
}

function loadText(load: number | undefined): string {
  return load === undefined ? "" : `${partText(load)} busy`;
}

/** `Distance 10 to itself, 12 to NUMA 1-3, 32 to NUMA 4-7`, nearest first. */
export function distanceText(id: number, machine: Machine): string {
  const node = machine.sockets.flatMap((socket) => socket.nodes).find((one) => one.id === id);
  const byDistance = new Map<number, number[]>();
  for (const [other, distance] of node?.distances ?? [])
    byDistance.set(distance, [...(byDistance.get(distance) ?? []), other]);
  if (byDistance.size < 2) return "";
  const parts = [...byDistance].sort(([a], [b]) => a - b);
  return `Distance ${parts
    .map(([distance, others]) => `${distance} to ${textOf(others) === String(id) ? "itself" : `NUMA ${textOf(others)}`}`)
    .join(", ")}`;
}

const MOST_SHARERS = 4;

const STATES = {
  held: "",
  reserved: "Reserved for the system: never given away.",
  kept: "Free for leases. The example settings that What if asks keep it back for the system.",
  shared: "Shared pool: for everybody without CPUs of their own.",
  pool: "Free; until it is given away the shared pool runs on it",
  free: "Free.",
  offline: "Offline.",
  unknown: "Not in the ledger.",
};

function cpuTelling(cpu: number, machine: Machine, occupancy: Occupancy): Telling {
  const node = machine.nodeOfCpu.get(cpu);
  const holder = occupancy.holders.get(occupancy.cpus.get(cpu) ?? "") ?? null;
  const state = cpuState(cpu, occupancy, machine.offline);
  const shared = state === "pool" ? `${STATES.pool}: ${sharersText(occupancy)}.` : STATES[state];
  const siblings =
    machine.sockets
      .flatMap((socket) => socket.nodes)
      .flatMap((one) => one.bands)
      .flatMap((band) => band.cores)
      .find((core) => core.cpus.includes(cpu))
      ?.cpus.filter((other) => other !== cpu) ?? [];
  const lines = [`NUMA node ${node}${siblings.length > 0 ? `, same core as CPU ${siblings.join(", ")}` : ""}`];
  return { title: `CPU ${cpu}`, holder, lines: shared ? [shared, ...lines] : lines };
}

/** The first of those in the shared pool by name, and how many more there are. */
function sharersText({ sharers }: Occupancy): string {
  const more = sharers.length - MOST_SHARERS;
  const names = sharers.slice(0, MOST_SHARERS).map((holder) => holder.name);
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

function deviceTelling(id: string, machine: Machine, occupancy: Occupancy): Telling {
  const device = machine.devices.find((one) => one.id === id);
  const holder = occupancy.holders.get(occupancy.devices.get(id) ?? "") ?? null;
  if (!device) return { title: id, holder, lines: [] };
  const place = device.numa.length > 0 ? `NUMA node ${device.numa.join(", ")}` : "No NUMA node reported";
  const kind = device.product || device.resource;
  const own = device.memoryNodes.length > 0 ? `Its own memory is NUMA ${textOf(device.memoryNodes)}` : "";
  const bus = device.bus ? `PCI ${device.bus}${device.switch ? ` behind switch ${device.switch}` : ""}` : "";
  const lines = [kind, place, bus, own, device.healthy ? "" : "Not healthy: never given away."].filter(Boolean);
  return { title: device.label, holder, lines: holder || !device.resource ? lines : ["Free.", ...lines] };
}

function memoryTelling(node: number, id: string, machine: Machine, ledger: LedgerView, occupancy: Occupancy): Telling {
  const share = ledger.nodes.find((one) => one.id === node)?.memory;
  const total = share?.total ?? machine.memory.get(node) ?? 0;
  const title = `Memory of NUMA node ${node}`;
  const device = machine.devices.find((one) => one.memoryNodes.includes(node));
  const owner = device && occupancy.holders.get(occupancy.devices.get(device.id) ?? "");
  if (device && owner && owner.id === id)
    return { title, holder: owner, lines: [`${bytesText(total)} of ${device.label}, held with it`] };
  const pool = ledger.nodes.find((one) => one.id === node)?.hugepages?.[id];
  if (pool)
    return {
      title,
      holder: null,
      lines: [`${bytesText(pool.total)} set aside as ${id}`, `${bytesText(pool.free)} of them free`],
    };
  if (id === "reserved")
    return {
      title,
      holder: null,
      lines: [`${bytesText(share?.reserved ?? 0)} reserved for the system`, `of ${bytesText(total)}`],
    };
  const holder = occupancy.holders.get(id) ?? null;
  if (!holder) return { title, holder, lines: [`${bytesText(share?.free ?? total)} of ${bytesText(total)} free`] };
  const bytes = (occupancy.memory.get(node) ?? [])
    .filter((one) => one.holder === id)
    .reduce((sum, one) => sum + one.bytes, 0);
  return { title, holder, lines: [`${bytesText(bytes)} of ${bytesText(total)}`] };
}

/** With `before`, what was free then stands before what is free now: `8 → 4 of 8 CPUs free`. */
export function nodeLines(id: number, ledger: LedgerView, before?: LedgerView["nodes"][number]): string[] {
  const node = ledger.nodes.find((one) => one.id === id);
  if (!node) return ["Not in the ledger."];
  const was = (then: number | undefined, now: number, text: (amount: number) => string) =>
    then === undefined || then === now ? "" : `${text(then)} → `;
  const lines: string[] = [];
  if (node.cpus.total > 0)
    lines.push(`${was(before?.cpus.free, node.cpus.free, String)}${node.cpus.free} of ${plural(node.cpus.total, "CPU")} free`);
  if (node.memory.total > 0) {
    const text = (bytes: number) => bytesOfText(bytes, node.memory.total)[0];
    lines.push(
      `${was(before?.memory.free, node.memory.free, text)}${bytesOfText(node.memory.free, node.memory.total).join(" of ")} free`,
    );
  }
  for (const [resource, share] of Object.entries(node.devices)) {
    const then = was(before?.devices[resource]?.free, share.free, String);
    lines.push(`${then}${share.free} of ${share.total} ${resourceText(resource, share.total)} free`);
  }
  return lines.length > 0 ? lines : ["No CPUs, memory or devices."];
}

export function spoken({ title, lines, holder }: Telling): string {
  return [title, ...lines, ...(holder ? [`held by ${holder.name}`, ...holderLines(holder, Date.now())] : [])].join(
    ", ",
  );
}

/** Who, how much, since when. */
export function holderLines(holder: Holder, now: number): string[] {
  const { cpus, bytes, devices } = holdings(holder);
  const amounts = [
    cpus > 0
      ? `${plural(cpus, "CPU")}: ${holder.cpus}`
      : holder.gone
        ? ""
        : "shared CPUs",
    bytes > 0 ? `${bytesText(bytes)} memory` : "",
    ...devices.map(([resource, count]) => `${count} ${resourceText(resource, count)}`),
  ].filter(Boolean);
  const since = agoText(holder.since, now);
  return [
    ...amounts,
    holder.alignment ? `${holder.alignment.verdict}: ${holder.alignment.why}` : "",
    holder.gone ? LEFT_OVER : "",
    membersText(holder.nodes),
    holder.rung ? `bound by ${holder.rung}` : "",
    since ? `for ${since}${holder.owner ? `, owner ${holder.owner}` : ""}` : "",
  ].filter(Boolean);
}
