// What a refused pod wanted, laid over the picture: on each NUMA node what is needed and what is there.

import { bytesText } from "../values/amounts";
import type { GridRow, Story } from "../agent/api_types";
import { resourceText } from "../machine/occupancy";
import type { Tile } from "./tile";

export interface Demand {
  rows: GridRow[];
  /** A merge wants all of it of one place. Else the sum counts, and no NUMA node is right or wrong by itself. */
  merged: boolean;
  /** The resources that stop it. */
  stops: string[];
  /** What the node as a whole lacks; empty: nothing. */
  whole: string;
}

export const NO_DEMAND: Demand = { rows: [], merged: true, stops: [], whole: "" };

/** What was wanted where it was refused: earlier containers had theirs. */
export function demandOf({ chapters, cause, wanted }: Story): Demand {
  if (wanted) return { rows: wanted.rows, merged: false, stops: wanted.stops, whole: wholeText(cause) };
  const rows = chapters.at(-1)?.grid ?? [];
  const stops = rows.filter((row) => row.cells.every((cell) => !cell.fits)).map((row) => row.resource);
  return { rows, merged: true, stops, whole: "" };
}

function wholeText(cause: Story["cause"]): string {
  const short = cause?.short?.[0] ?? cause;
  const { resource, asked, used, capacity } = short ?? {};
  if (resource === undefined || asked === undefined || used === undefined || capacity === undefined) return "";
  const parts = resource === "cpu" ? 1000 : 1;
  const amount = (value: number) => (countsBytes(resource) ? bytesText(value) : String(value / parts));
  const noun = isBytes(resource) ? resource : resourceText(resource);
  return `${noun}: ${amount(asked)} asked for, ${amount(capacity - used)} of ${amount(capacity)} left on the node as a whole`;
}

export interface DemandLine {
  resource: string;
  /** `5 CPUs needed, 4 here`. */
  text: string;
  /** Plain: this NUMA node alone is not asked. */
  look: "fits" | "short" | "plain";
  /** It stops the pod, wherever. */
  decides: boolean;
}

export const SIGNS = { fits: "✓", short: "✕", plain: "·" };

export interface Ghost {
  demand: Demand;
  /** CPU, or id of a device -> whether there is enough of it on its NUMA node. */
  cpus: Map<number, boolean>;
  devices: Map<string, boolean>;
}

/** The looks of something that the ghost lies on. */
export function ghostClass(enough: boolean | undefined): string {
  return enough === undefined ? "" : enough ? "ghost" : "ghost short";
}

function countsBytes(resource: string): boolean {
  return isBytes(resource) || resource === "ephemeral-storage";
}

export function isBytes(resource: string): boolean {
  return resource === "memory" || resource.startsWith("hugepages");
}

/** One line for each resource of which this NUMA node could have some, in the order of the grid. */
export function demandLines({ rows, merged, stops }: Demand, node: number): DemandLine[] {
  return rows.flatMap((row) => {
    const cell = row.cells.find((one) => one.numa === node);
    if (!cell || rows.every((each) => !each.cells.some((one) => one.numa === node && one.allocatable > 0))) return [];
    const amount = (value: number) => (isBytes(row.resource) ? bytesText(value) : String(value));
    const noun = row.resource === "memory" ? "" : ` ${resourceText(row.resource, row.needed)}`;
    const ruled = merged && !cell.fits && cell.free >= row.needed ? ", not by the rules" : "";
    const decides = stops.includes(row.resource);
    const needed = merged ? "needed" : "needed in all";
    return [
      {
        resource: row.resource,
        text: `${amount(row.needed)}${noun} ${needed}, ${amount(cell.free)} here${ruled}`,
        look: merged ? (cell.fits ? "fits" : "short") : decides ? "short" : "plain",
        decides,
      },
    ];
  });
}

/** The free CPUs and devices that it would lie on, as far as they reach: the first of each NUMA node, or of all. */
export function ghostOf(demand: Demand, tiles: Tile[], isFree: (cpu: number) => boolean, heldDevices: Set<string>): Ghost {
  const ghost: Ghost = { demand, cpus: new Map(), devices: new Map() };
  const left = new Map(demand.rows.map((row) => [row.resource, row.needed]));
  const some = <T>(row: GridRow, free: T[]): T[] => {
    if (demand.merged) return free.slice(0, row.needed);
    const found = free.slice(0, left.get(row.resource));
    left.set(row.resource, (left.get(row.resource) ?? 0) - found.length);
    return found;
  };
  for (const tile of tiles) {
    for (const row of demand.rows) {
      const enough = isEnough(demand, row, tile.node.id);
      if (row.resource === "cpu") {
        const free = tile.cores.flatMap((box) => box.core.cpus).filter(isFree);
        for (const cpu of some(row, free)) ghost.cpus.set(cpu, enough);
      } else if (!isBytes(row.resource)) {
        const own = tile.devices.map((box) => box.device);
        const free = own.filter((one) => one.resource === row.resource && one.healthy && !heldDevices.has(one.id));
        for (const device of some(row, free)) ghost.devices.set(device.id, enough);
      }
    }
  }
  return ghost;
}

/** Whether the NUMA node has enough of it; without a merge, whether this is not what stops the pod. */
export function isEnough({ merged, stops }: Demand, row: GridRow, node: number): boolean {
  return merged ? (row.cells.find((cell) => cell.numa === node)?.fits ?? false) : !stops.includes(row.resource);
}
