// What a refused pod wanted, laid over the picture: on each NUMA node what is needed and what is there.

import { bytesText } from "../values/amounts";
import type { GridRow } from "../agent/api_types";
import { resourceText } from "../machine/occupancy";
import type { Tile } from "./tile";

export interface DemandLine {
  resource: string;
  /** `5 CPUs needed, 4 here`. */
  text: string;
  fits: boolean;
  /** It fits no NUMA node alone. */
  nowhere: boolean;
}

export interface Ghost {
  rows: GridRow[];
  /** CPU, or id of a device -> whether there is enough of it on its NUMA node. */
  cpus: Map<number, boolean>;
  devices: Map<string, boolean>;
}

/** The looks of something that the ghost lies on. */
export function ghostClass(enough: boolean | undefined): string {
  return enough === undefined ? "" : enough ? "ghost" : "ghost short";
}

export function isBytes(resource: string): boolean {
  return resource === "memory" || resource.startsWith("hugepages");
}

/** One line for each resource of which this NUMA node could have some, in the order of the grid. */
export function demandLines(rows: GridRow[], node: number): DemandLine[] {
  return rows.flatMap((row) => {
    const cell = row.cells.find((one) => one.numa === node);
    if (!cell || rows.every((each) => !each.cells.some((one) => one.numa === node && one.allocatable > 0))) return [];
    const amount = (value: number) => (isBytes(row.resource) ? bytesText(value) : String(value));
    const noun = row.resource === "memory" ? "" : ` ${resourceText(row.resource, row.needed)}`;
    const ruled = !cell.fits && cell.free >= row.needed ? ", not by the rules" : "";
    return [
      {
        resource: row.resource,
        text: `${amount(row.needed)}${noun} needed, ${amount(cell.free)} here${ruled}`,
        fits: cell.fits,
        nowhere: row.cells.every((one) => !one.fits),
      },
    ];
  });
}

/** The free CPUs and devices that it would lie on, as far as they reach: the first of each NUMA node. */
export function ghostOf(rows: GridRow[], tiles: Tile[], isFree: (cpu: number) => boolean, heldDevices: Set<string>): Ghost {
  const ghost: Ghost = { rows, cpus: new Map(), devices: new Map() };
  for (const tile of tiles) {
    for (const row of rows) {
      const enough = row.cells.find((cell) => cell.numa === tile.node.id)?.fits ?? false;
      if (row.resource === "cpu") {
        const free = tile.cores.flatMap((box) => box.core.cpus).filter(isFree);
        for (const cpu of free.slice(0, row.needed)) ghost.cpus.set(cpu, enough);
      } else if (!isBytes(row.resource)) {
        const own = tile.devices.map((box) => box.device);
        const free = own.filter((one) => one.resource === row.resource && one.healthy && !heldDevices.has(one.id));
        for (const device of free.slice(0, row.needed)) ghost.devices.set(device.id, enough);
      }
    }
  }
  return ghost;
}
