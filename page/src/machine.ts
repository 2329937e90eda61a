// The machine as the page draws it: sockets of NUMA nodes of cache bands of cores, read from a machine file.

import { bytesOf } from "./amounts";
import type { CacheRun, DeviceEntry, MachineFile } from "./api_types";
import { numbersOf } from "./numbers";

export interface Core {
  cpus: number[];
  kind: string;
}

/** Cores that share one uncore cache; `title` is empty where the whole node shares one or nothing is known. */
export interface Band {
  title: string;
  cores: Core[];
}

export interface Device {
  id: string;
  label: string;
  resource: string;
  kind: string;
  product: string;
  healthy: boolean;
  numa: number[];
  /** NUMA nodes that are this device's own memory. */
  memoryNodes: number[];
}

export interface MachineNode {
  id: number;
  memory: number;
  bands: Band[];
  devices: Device[];
  distances: Map<number, number>;
}

export interface Socket {
  title: string;
  nodes: MachineNode[];
}

export interface Machine {
  name: string;
  model: string;
  sockets: Socket[];
  /** Devices that no single NUMA node owns. */
  loose: Device[];
  devices: Device[];
  links: { a: string; b: string; kind: string }[];
  memory: Map<number, number>;
  nodeOfCpu: Map<number, number>;
  offline: Set<number>;
  assumed: string[];
  facts: { nodes: number; cores: number; cpus: number; memory: number };
}

interface Placed {
  node: number;
  socket: number;
  cache: string;
  core: Core;
}

export function machineOf(file: MachineFile): Machine {
  const placed = coresOf(file);
  const memory = new Map((file.numaNodes ?? []).map((node) => [node.id, bytesOf(node.memory)]));
  for (const { node } of placed) if (!memory.has(node)) memory.set(node, 0);
  const ids = [...memory.keys()].sort((a, b) => a - b);
  const devices = devicesOf(file);
  const owned = new Set(devices.flatMap((device) => device.memoryNodes));
  const nodes = new Map(
    ids.map((id) => [
      id,
      nodeOf(
        id,
        memory.get(id) ?? 0,
        placed.filter((core) => core.node === id),
        devices,
        distances(file, id, ids),
      ),
    ]),
  );
  const socketOf = new Map(placed.map(({ node, socket }) => [node, socket]));
  const sockets = [...new Set(socketOf.values())]
    .sort((a, b) => a - b)
    .map((socket) => ({
      title: socket < 0 ? "Socket unknown" : `Socket ${socket}`,
      nodes: ids.filter((id) => socketOf.get(id) === socket).map((id) => nodes.get(id)!),
    }));
  const apart = ids.filter((id) => !socketOf.has(id) && !owned.has(id)).map((id) => nodes.get(id)!);
  if (apart.length > 0) sockets.push({ title: "Without CPUs", nodes: apart });
  const cpus = placed.flatMap(({ core }) => core.cpus);
  return {
    name: file.name ?? "",
    model: file.model ?? "",
    sockets,
    loose: devices.filter((device) => !homeOf(device, nodes)),
    devices,
    links: linksOf(file),
    memory,
    nodeOfCpu: new Map(placed.flatMap(({ node, core }) => core.cpus.map((cpu): [number, number] => [cpu, node]))),
    offline: new Set(numbersOf(file.offline)),
    assumed: (file.assumed ?? "").split(",").filter(Boolean),
    facts: {
      nodes: ids.length,
      cores: placed.length,
      cpus: cpus.length,
      memory: [...memory.values()].reduce((a, b) => a + b, 0),
    },
  };
}

function coresOf(file: MachineFile): Placed[] {
  const caches = sharedCaches(file.caches ?? []);
  const placed: Placed[] = [];
  for (const group of file.cpus ?? []) {
    const columns = (group.threads ?? [group.cpus]).map(numbersOf);
    for (const [row, first] of (columns[0] ?? []).entries()) {
      const cache = group.uncoreCache === undefined ? (caches.get(first) ?? "") : `cache ${group.uncoreCache}`;
      placed.push({
        node: group.numa === "unknown" ? -1 : group.numa,
        socket: group.socket === "unknown" ? -1 : group.socket,
        cache,
        core: {
          cpus: columns.map((column) => column[row]!).filter((cpu) => cpu !== undefined),
          kind: group.kind ?? "",
        },
      });
    }
  }
  return placed;
}

/** CPU -> name of the level 3 cache that it shares. */
function sharedCaches(runs: CacheRun[]): Map<number, string> {
  const names = new Map<number, string>();
  let number = 0;
  for (const run of runs) {
    if (run.level !== 3 || !run.cpus) continue;
    for (const cpus of run.cpus) {
      for (const cpu of numbersOf(cpus)) names.set(cpu, `L3 ${number}`);
      number += 1;
    }
  }
  return names;
}

function devicesOf(file: MachineFile): Device[] {
  const all = file.numaNodes ?? [];
  return (file.devices ?? []).map((device: DeviceEntry) => ({
    id: device.id,
    label: device.label || device.id,
    resource: device.resource ?? "",
    kind: device.kind ?? "",
    product: device.name ?? "",
    healthy: device.healthy !== false,
    numa: device.numa ?? [],
    memoryNodes: all
      .filter((node) => node.device === device.id)
      .map((node) => node.id)
      .sort((a, b) => a - b),
  }));
}

function homeOf(device: Device, nodes: Map<number, MachineNode>): boolean {
  return device.numa.length === 1 && nodes.has(device.numa[0]!);
}

function nodeOf(
  id: number,
  memory: number,
  placed: Placed[],
  devices: Device[],
  away: Map<number, number>,
): MachineNode {
  const bands = new Map<string, Core[]>();
  for (const { cache, core } of placed) bands.set(cache, [...(bands.get(cache) ?? []), core]);
  const several = bands.size > 1;
  return {
    id,
    memory,
    bands: [...bands].map(([title, cores]) => ({ title: several ? title : "", cores })),
    devices: devices.filter((device) => device.numa.length === 1 && device.numa[0] === id),
    distances: away,
  };
}

function distances(file: MachineFile, id: number, ids: number[]): Map<number, number> {
  const listed = file.numaNodes?.find((node) => node.id === id)?.distances ?? [];
  return new Map(listed.map((distance, index) => [ids[index] ?? index, distance]));
}

function linksOf(file: MachineFile): Machine["links"] {
  if (!file.links) return [];
  // A matrix names devices by label where labels tell them apart.
  const idOf = new Map(
    (file.devices ?? []).flatMap((device) => [
      [device.label ?? "", device.id],
      [device.id, device.id],
    ]),
  );
  const id = (name: string) => idOf.get(name) ?? name;
  if (Array.isArray(file.links)) return file.links.map((link) => ({ a: id(link.a), b: id(link.b), kind: link.kind }));
  const { between, matrix } = file.links;
  return matrix.flatMap((row, i) => row.map((kind, j) => ({ a: id(between[i]!), b: id(between[i + j + 1]!), kind })));
}
