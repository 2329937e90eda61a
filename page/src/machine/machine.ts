// The machine as the page draws it: sockets of NUMA nodes of cache bands of cores, read from a machine file.

import { bytesOf, bytesText } from "../values/amounts";
import type { CacheRun, DeviceEntry, MachineFile } from "../agent/api_types";
import { numbersOf } from "../values/numbers";
import { type Fabric, fabricsOf } from "./pcie";

export interface Core {
  cpus: number[];
  kind: string;
}

/** Cores that share one uncore cache; `title` is empty where the whole node shares one or nothing is known. */
export interface Band {
  title: string;
  cores: Core[];
  /** Of the cache, in bytes; 0: not known. */
  size: number;
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
  /** PCI addresses: its own, of the lowest switch above it, of the root port; empty: not known. */
  bus: string;
  switch: string;
  rootPort: string;
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
  /** Its processor and the sizes of its caches, the largest first. */
  more: string[];
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
  /** Sizes of caches by their names, `L1d` first. */
  caches: { name: string; size: number }[];
  fabrics: Fabric[];
  facts: { nodes: number; cores: number; cpus: number; memory: number };
}

interface Placed {
  node: number;
  socket: number;
  cache: string;
  size: number;
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
  const caches = cacheSizes(file.caches ?? []);
  const sizes = [...caches].reverse().map(({ name, size }) => `${name} ${bytesText(size)}`);
  const more = [file.model ?? "", ...sizes].filter(Boolean);
  const sockets = [...new Set(socketOf.values())]
    .sort((a, b) => a - b)
    .map((socket) => ({
      title: socket < 0 ? "Socket unknown" : `Socket ${socket}`,
      more,
      nodes: ids.filter((id) => socketOf.get(id) === socket).map((id) => nodes.get(id)!),
    }));
  const apart = ids.filter((id) => !socketOf.has(id) && !owned.has(id)).map((id) => nodes.get(id)!);
  if (apart.length > 0) sockets.push({ title: "Without CPUs", more: [], nodes: apart });
  const cpus = placed.flatMap(({ core }) => core.cpus);
  const links = linksOf(file);
  return {
    name: file.name ?? "",
    model: file.model ?? "",
    sockets,
    loose: devices.filter((device) => !homeOf(device, nodes)),
    devices,
    links,
    memory,
    nodeOfCpu: new Map(placed.flatMap(({ node, core }) => core.cpus.map((cpu): [number, number] => [cpu, node]))),
    offline: new Set(numbersOf(file.offline)),
    assumed: (file.assumed ?? "").split(",").filter(Boolean),
    caches,
    fabrics: fabricsOf(links),
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
      const own = caches.get(first);
      const cache = group.uncoreCache === undefined ? (own?.name ?? "") : `cache ${group.uncoreCache}`;
      placed.push({
        node: group.numa === "unknown" ? -1 : group.numa,
        socket: group.socket === "unknown" ? -1 : group.socket,
        cache,
        size: own?.size ?? 0,
        core: {
          cpus: columns.map((column) => column[row]!).filter((cpu) => cpu !== undefined),
          kind: group.kind ?? "",
        },
      });
    }
  }
  return placed;
}

/** CPU -> name and size of the level 3 cache that it shares. */
function sharedCaches(runs: CacheRun[]): Map<number, { name: string; size: number }> {
  const names = new Map<number, { name: string; size: number }>();
  let number = 0;
  for (const run of runs) {
    if (run.level !== 3 || !run.cpus) continue;
    for (const cpus of run.cpus) {
      for (const cpu of numbersOf(cpus)) names.set(cpu, { name: `L3 ${number}`, size: bytesOf(run.size) });
      number += 1;
    }
  }
  return names;
}

/** The sizes that occur, the same once: cores of two kinds have two. */
function cacheSizes(runs: CacheRun[]): Machine["caches"] {
  const found = new Map<string, { name: string; size: number }>();
  for (const run of runs) {
    const letter = run.level === 1 ? ({ data: "d", instruction: "i" }[run.kind ?? ""] ?? "") : "";
    const cache = { name: `L${run.level}${letter}`, size: bytesOf(run.size) };
    if (cache.size > 0) found.set(`${cache.name} ${cache.size}`, cache);
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name) || a.size - b.size);
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
    bus: device.bus ?? "",
    switch: device.switch ?? "",
    rootPort: device.rootPort ?? "",
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
  const bands = new Map<string, Band>();
  for (const { cache, size, core } of placed) {
    const band = bands.get(cache);
    if (band) band.cores.push(core);
    else bands.set(cache, { title: cache, size, cores: [core] });
  }
  const several = bands.size > 1;
  return {
    id,
    memory,
    bands: [...bands.values()].map((band) => ({ ...band, title: several ? band.title : "" })),
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
