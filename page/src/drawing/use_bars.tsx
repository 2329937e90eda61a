// What is in use, drawn into the picture: a thin bar in each CPU, under the memory of a NUMA node, and in a GPU.

import type { Box } from "./tile";
import type { DeviceUse, NodeUse } from "../machine/use";

/** Clear of the round corners. */
const INSET = 1.6;

/** From the left, as far as the CPU was busy; nothing where it idled. */
export function LoadBar({ box, load }: { box: Box; load: number | undefined }) {
  if (load === undefined || load < 0.005) return null;
  const wide = box.width - 2 * INSET;
  return <rect class="load" x={box.x + INSET} y={box.y + box.height - 3.6} width={wide * load} height={2.8} />;
}

/** Used, then huge pages, then page cache; what is left is unused. */
export function MemoryUseBar({ box, use }: { box: Box; use: NodeUse | undefined }) {
  if (!use || use.total === 0) return null;
  const huge = Object.values(use.hugepages).reduce((sum, pages) => sum + pages.total, 0);
  const width = (bytes: number) => (box.width * Math.min(bytes, use.total)) / use.total;
  const parts: [string, number][] = [
    ["used", width(use.used)],
    ["huge", width(huge)],
    ["cache", width(use.cache)],
  ];
  let x = box.x;
  return (
    <g class="use-bar">
      <rect class="ground" {...box} />
      {parts.map(([part, wide]) => {
        const piece = <rect key={part} class={part} x={x} y={box.y} width={wide} height={box.height} />;
        x += wide;
        return wide > 0 ? piece : null;
      })}
      <rect class="outline" {...box} />
    </g>
  );
}

/** Two thin bars: how busy the GPU is, and how much of its memory is in use. */
export function DeviceUseBars({ box, use }: { box: Box; use: DeviceUse | undefined }) {
  if (!use) return null;
  const busy = use.busy.at(-1) ?? null;
  const memory = use.total ? (use.memory.at(-1) ?? null) : null;
  const wide = box.width - 10;
  const bar = (part: number, y: number, kind: string) => (
    <g class="use-bar">
      <rect class="ground" x={box.x + 5} y={y} width={wide} height={2.5} />
      <rect class={kind} x={box.x + 5} y={y} width={wide * Math.min(1, part)} height={2.5} />
    </g>
  );
  return (
    <>
      {busy !== null && bar(busy, box.y + box.height - 7.5, "used")}
      {memory !== null && bar(memory / use.total!, box.y + box.height - 4, "cache")}
    </>
  );
}
