// How busy the machine really is, beside what is claimed of it: asked every few seconds for as long as somebody looks.

import { useEffect, useState } from "preact/hooks";
import { bytesText } from "../values/amounts";
import { api } from "../agent/api";
import { whileSeen } from "../agent/turns";
import type { Values } from "../values/small_line";

export interface NodeUse {
  node: number;
  /** CPUs' worth of time over time. */
  cpus: Values;
  /** Bytes used over time. */
  memory: Values;
  /** Of the page cache, and what nobody uses, over time. */
  cached: Values;
  unused: Values;
  total: number;
  used: number;
  cache: number;
  free: number;
  /** By the size of a page; `used` over time. */
  hugepages: Record<string, { total: number; free: number; used: Values }>;
}

export interface DeviceUse {
  device: string;
  busy: Values;
  memory: Values;
  total: number | null;
}

export interface UseAnswer {
  known: boolean;
  why: string;
  /** Between two points; 0: there will be none. */
  seconds: number;
  times: string[];
  cpus: Record<string, number>;
  nodes: NodeUse[];
  devices: DeviceUse[];
}

/** Seconds until it is asked again of an agent that does not answer. */
const PAUSE = 5;

/** Null until it is known, and while the agent does not answer: old numbers are not those of now. */
export function useMachineUse(returns: number): UseAnswer | null {
  const [use, setUse] = useState<UseAnswer | null>(null);
  useEffect(() => {
    let ended = false;
    const end = whileSeen(async () => {
      try {
        const answer = await api.use();
        if (!ended) setUse(answer);
        return answer.seconds;
      } catch {
        if (!ended) setUse(null);
        return PAUSE;
      }
    });
    return () => ((ended = true), end());
  }, [returns]);
  return use;
}

export function partText(part: number): string {
  return `${Math.round(part * 100)} %`;
}

export function busyText(cpus: number): string {
  return cpus >= 10 || cpus === 0 ? cpus.toFixed(0) : cpus.toFixed(1);
}

/** What is in use of a NUMA node, as lines of a card. */
export function nodeUseLines(use: NodeUse | undefined): string[] {
  if (!use || use.total === 0) return [];
  const huge = Object.entries(use.hugepages).map(
    ([size, { total, free }]) => `${bytesText(total - free)} of ${bytesText(total)} of ${size} huge pages in use`,
  );
  return [
    `In use: ${bytesText(use.used)}, page cache ${bytesText(use.cache)}, unused ${bytesText(use.free)}`,
    ...huge,
  ];
}

export function deviceUseText(use: DeviceUse | undefined): string {
  if (!use) return "";
  const [busy, memory] = [use.busy.at(-1) ?? null, use.memory.at(-1) ?? null];
  return [
    busy === null ? "" : `${partText(busy)} busy`,
    memory === null ? "" : `${bytesText(memory)}${use.total ? ` of ${bytesText(use.total)}` : ""} in use`,
  ]
    .filter(Boolean)
    .join(", ");
}
