// What the lines of links and the thin bars of use mean.

import { type Nearness, nearness } from "./links";
import type { Machine } from "../machine/machine";
import type { UseAnswer } from "../machine/use";

const LINKS: [Nearness, string][] = [
  ["nvlink", "NVLink"],
  ["near", "PIX: one PCIe switch, also as a frame"],
  ["middle", "PXB, PHB, NODE: further, within a NUMA node"],
  ["far", "SYS: across NUMA nodes (point at a device)"],
];

export function LinkKey({ machine }: { machine: Machine }) {
  const found = new Set(machine.links.map((link) => nearness(link.kind)));
  return (
    <>
      {LINKS.filter(([kind]) => found.has(kind)).map(([kind, words]) => (
        <li key={kind}>
          <svg width="26" height="14" aria-hidden="true">
            <g class="links">
              <g class={kind}>
                <path d="M1 7H25" />
              </g>
            </g>
          </svg>
          {words}
        </li>
      ))}
    </>
  );
}

const USES: [string, string][] = [
  ["used", "in use"],
  ["huge", "set aside for huge pages"],
  ["cache", "page cache"],
];

export function UseKey({ use }: { use: UseAnswer }) {
  const huge = use.nodes.some((node) => Object.keys(node.hugepages).length > 0);
  return (
    <>
      {USES.filter(([part]) => part !== "huge" || huge).map(([part, words]) => (
        <li key={part}>
          <svg width="22" height="14" aria-hidden="true">
            <g class="use-bar">
              <rect class={part} x="0" y="4" width="22" height="6" />
              <rect class="outline" x="0.5" y="4.5" width="21" height="5" />
            </g>
          </svg>
          {words}
        </li>
      ))}
    </>
  );
}
