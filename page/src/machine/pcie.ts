// Devices that hang together on PCIe: behind one switch, or behind several of one root port.

import type { Device, Machine } from "./machine";

export interface DeviceGroup {
  /** Empty for a device that shares its way with nobody. */
  title: string;
  devices: Device[];
}

const SWITCH = "PCIe switch";
const SWITCHES = "PCIe switches";

/** In the order of their first devices; inside one GPUs first, as they are asked for. */
export function groupsOf(devices: Device[], links: Machine["links"]): DeviceGroup[] {
  const kinds = new Map(links.flatMap(({ a, b, kind }) => [[`${a} ${b}`, kind], [`${b} ${a}`, kind]] as const));
  const way = (a: Device, b: Device): "" | typeof SWITCH | typeof SWITCHES => {
    if (a.switch && a.switch === b.switch) return SWITCH;
    const kind = kinds.get(`${a.id} ${b.id}`);
    if (kind === "PIX") return SWITCH;
    if (kind === "PXB" || (a.rootPort && a.rootPort === b.rootPort && (a.switch || b.switch))) return SWITCHES;
    return "";
  };
  const left = [...devices];
  const groups: DeviceGroup[] = [];
  while (left.length > 0) {
    const group = [left.shift()!];
    let title = "";
    for (let place = 0; place < group.length; place += 1) {
      for (const other of [...left]) {
        const shared = way(group[place]!, other);
        if (!shared) continue;
        title = title || shared;
        if (shared === SWITCHES) title = SWITCHES;
        group.push(other);
        left.splice(left.indexOf(other), 1);
      }
    }
    groups.push({ title, devices: [...group].sort((a, b) => rank(a) - rank(b)) });
  }
  return groups;
}

function rank(device: Device): number {
  return ["gpu", "mig", "nic", "nvme"].indexOf(device.kind) + 1 || 9;
}

/** A few GPUs that all reach each other by the same number of NVLinks. */
export interface Fabric {
  kind: string;
  devices: string[];
  title: string;
}

/** Of one GPU, over all generations so far: who would need more has a switch between. */
const MOST_NVLINKS = 18;

/** Largest sets first; two GPUs alone are a pair and no fabric. */
export function fabricsOf(links: Machine["links"]): Fabric[] {
  const fabrics: Fabric[] = [];
  const nvlinks = links.filter(({ kind }) => /^NV\d+$/.test(kind));
  for (const kind of new Set(nvlinks.map((link) => link.kind))) {
    const near = new Map<string, Set<string>>();
    for (const { a, b } of nvlinks.filter((link) => link.kind === kind)) {
      near.set(a, (near.get(a) ?? new Set()).add(b));
      near.set(b, (near.get(b) ?? new Set()).add(a));
    }
    const left = new Set(near.keys());
    for (const first of near.keys()) {
      if (!left.has(first)) continue;
      const members = [first];
      for (const other of left) if (members.every((member) => near.get(member)!.has(other))) members.push(other);
      if (members.length < 3) continue;
      for (const member of members) left.delete(member);
      const count = Number(kind.slice(2));
      const switched = count * (members.length - 1) > MOST_NVLINKS;
      const each = `each of ${members.length} GPUs reaches each by ${count} NVLink${count === 1 ? "" : "s"} (${kind})`;
      fabrics.push({ kind, devices: members, title: `${switched ? "NVSwitch" : "NVLink"}: ${each}` });
    }
  }
  return fabrics.sort((a, b) => b.devices.length - a.devices.length);
}
