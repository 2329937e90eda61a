// What the patterns mean, and the patterns themselves; only those that occur are listed.

import type { LedgerView } from "../agent/api_types";
import { LinkKey, UseKey } from "./keys";
import type { Band, Machine } from "../machine/machine";
import { cpuState, occupancyOf, type CpuState } from "../machine/occupancy";
import type { UseAnswer } from "../machine/use";

const WORDS: [CpuState, string, string][] = [
  ["held", "held", ""],
  ["reserved", "reserved", "hatched"],
  ["kept", "free for leases, kept back in What if", "hatched"],
  ["shared", "shared pool", "dotted"],
  ["pool", "free, in use by the shared pool", "dotted"],
  ["free", "free: claimed by nobody", ""],
  ["offline", "offline", "crossed"],
];

interface Properties {
  machine: Machine;
  ledger: LedgerView;
  wanted?: boolean;
  /** Links are drawn. */
  links?: boolean;
  /** What is in use is drawn. */
  use?: UseAnswer | null;
}

const hasEfficiencyCores = (band: Band) => band.cores.some((core) => core.kind === "efficiency");

export function Legend({ machine, ledger, wanted = false, links = false, use = null }: Properties) {
  const occupancy = occupancyOf(ledger);
  const isLeftOver = (cpu: number) => occupancy.holders.get(occupancy.cpus.get(cpu) ?? "")?.gone;
  const cpus = [...machine.nodeOfCpu.keys()].filter((cpu) => !isLeftOver(cpu));
  const found = new Set(cpus.map((cpu) => cpuState(cpu, occupancy, machine.offline)));
  return (
    <ul class="legend" aria-label="Key">
      {WORDS.filter(([state]) => found.has(state)).map(([state, words, pattern]) => (
        <li key={state}>
          <svg width="22" height="14" aria-hidden="true">
            <g class={`cpu ${state} ${state === "held" ? "slot0" : ""}`}>
              <rect class="base" x="0.5" y="0.5" width="21" height="13" rx="2" />
              {pattern && <rect class="mark" x="0.5" y="0.5" width="21" height="13" rx="2" fill={`url(#${pattern})`} />}
              <rect class="edge" x="0.5" y="0.5" width="21" height="13" rx="2" />
            </g>
          </svg>
          {words}
        </li>
      ))}
      {machine.sockets.some((socket) => socket.nodes.some((node) => node.bands.some(hasEfficiencyCores))) && (
        <li>
          <svg width="22" height="14" aria-hidden="true">
            <g class="core efficiency">
              <rect class="edge" x="0.5" y="0.5" width="21" height="13" rx="2" />
            </g>
          </svg>
          efficiency core
        </li>
      )}
      {ledger.holders.some((holder) => holder.new) && (
        <li>
          <svg width="22" height="14" aria-hidden="true">
            <g class="cpu held slot0 new">
              <rect class="base" x="1.5" y="1.5" width="19" height="11" rx="2" />
            </g>
          </svg>
          new: would be given
        </li>
      )}
      {wanted && (
        <li>
          <svg width="22" height="14" aria-hidden="true">
            <g class="cpu free ghost short">
              <rect class="base" x="1" y="1" width="20" height="12" rx="2" />
            </g>
          </svg>
          wanted, and too little here
        </li>
      )}
      {ledger.holders.some((holder) => holder.gone) && (
        <li>
          <svg width="22" height="14" aria-hidden="true">
            <g class="cpu held slot0 gone">
              <rect class="base" x="0.5" y="0.5" width="21" height="13" rx="2" />
            </g>
          </svg>
          left over: freed at the next admission
        </li>
      )}
      {ledger.nodes.some((node) => Object.keys(node.hugepages ?? {}).length > 0) && (
        <li>
          <svg width="22" height="14" aria-hidden="true">
            <g class="piece huge">
              <rect class="base" x="0.5" y="0.5" width="21" height="13" />
              <rect class="mark" x="0.5" y="0.5" width="21" height="13" fill="url(#grid)" />
            </g>
          </svg>
          huge pages
        </li>
      )}
      {use?.known && <UseKey use={use} />}
      {links && <LinkKey machine={machine} />}
    </ul>
  );
}

/** The patterns of all pictures on the page; it must be rendered once and stay, or pictures lose their marks. */
export function Patterns() {
  return (
    <svg class="patterns" width="0" height="0" aria-hidden="true">
      <defs>
        <pattern id="hatched" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="ink" width="1.6" height="5" />
        </pattern>
        <pattern id="striped" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
          <rect class="pale" width="2.5" height="7" />
        </pattern>
        <pattern id="level" width="6" height="4" patternUnits="userSpaceOnUse">
          <rect class="texture" width="6" height="1.1" />
        </pattern>
        <pattern id="upright" width="4" height="6" patternUnits="userSpaceOnUse">
          <rect class="texture" width="1.1" height="6" />
        </pattern>
        <pattern id="fine" width="3.6" height="3.6" patternUnits="userSpaceOnUse">
          <circle class="texture" cx="1" cy="1" r="0.75" />
        </pattern>
        <pattern id="sparse" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="texture" width="1.3" height="7" />
        </pattern>
        <pattern id="dotted" width="5" height="5" patternUnits="userSpaceOnUse">
          <circle class="ink" cx="1.5" cy="1.5" r="0.8" />
        </pattern>
        <pattern id="grid" width="4" height="4" patternUnits="userSpaceOnUse">
          <path class="line" d="M0 0.5H4M0.5 0V4" />
        </pattern>
        <pattern id="crossed" width="6" height="6" patternUnits="userSpaceOnUse">
          <path class="line" d="M0 0L6 6M6 0L0 6" />
        </pattern>
      </defs>
    </svg>
  );
}
