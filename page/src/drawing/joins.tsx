// Lines that join the parts of holders that do not lie together: from NUMA node to NUMA node, with the shape of the verdict.

import type { Holder, LedgerView } from "../agent/api_types";
import type { Layout } from "./layout";
import { liesApart, lookOf, LyingShape } from "../telling/lying";
import { numbersOf } from "../values/numbers";
import { poolsFrom } from "./memory_bar";
import type { Shown } from "./node_tile";
import type { Occupancy } from "../machine/occupancy";
import { slotClass } from "./palette";
import type { Box } from "./tile";

export interface Point {
  x: number;
  y: number;
}

export function Joins({ layout, ledger, ...shown }: Shown & { layout: Layout; ledger: LedgerView }) {
  const apart = ledger.holders.filter((holder) => liesApart(holder.alignment));
  return (
    <g class="joins" aria-hidden="true">
      {apart.map((holder, number) => {
        const steps = stepsOf(partsOf(holder, layout, ledger, shown.occupancy));
        if (steps.length === 0) return null;
        const line = steps.map(([from, to]) => `M${round(from)}Q${round(bend(from, to, number))} ${round(to)}`).join("");
        const middle = between(...steps[0]!, number);
        const look = lookOf(holder.alignment!.verdict);
        const dim = shown.lit && shown.lit !== holder.id ? "dim" : "";
        return (
          <g key={holder.id} data-join={holder.id} class={`join ${look} ${slotClass(shown.slots.get(holder.id))} ${dim}`}>
            <path class="halo" d={line} />
            <path class="thread" d={line} />
            {steps.flat().map((point, place) => (
              <circle key={place} cx={point.x} cy={point.y} r="3.5" />
            ))}
            <g transform={`translate(${middle.x - 8.4} ${middle.y - 8.4}) scale(1.2)`}>
              <LyingShape look={look} />
            </g>
          </g>
        );
      })}
    </g>
  );
}

/**
 * For each NUMA node where it has something, where that is: its CPUs, else its devices, else its memory; behind these
 * what lies in the memory of a device, and devices apart from all of it that stand without a NUMA node.
 */
export function partsOf(holder: Holder, layout: Layout, ledger: LedgerView, occupancy: Occupancy): Point[][] {
  const cpus = new Set(numbersOf(holder.cpus));
  const devices = new Set(Object.values(holder.devices).flat());
  const parts = layout.tiles.map((tile) => {
    const cores = tile.cores.filter((box) => box.core.cpus.some((cpu) => cpus.has(cpu))).map(middleOf);
    const chips = tile.devices.filter((box) => devices.has(box.device.id)).map(topOf);
    const memory = tile.memory && memoryPoint(holder, tile.node.id, tile.memory, ledger, occupancy);
    return cores.length > 0 ? cores : chips.length > 0 ? chips : memory ? [memory] : [];
  });
  const bars = [...layout.tiles.flatMap((tile) => tile.devices), ...layout.loose].flatMap((box) => box.bars);
  for (const bar of bars) {
    const memory = memoryPoint(holder, bar.node, bar, ledger, occupancy);
    if (memory) parts.push([memory]);
  }
  const remote = new Set(holder.alignment?.parts.filter((part) => part.remoteFrom.length > 0).map((part) => part.device));
  // One that is near to its CPUs needs no line, on however many nodes it hangs.
  parts.push(layout.loose.filter(({ device }) => devices.has(device.id) && remote.has(device.id)).map(topOf));
  return parts.filter((points) => points.length > 0);
}

/** At the upper edge, where its name stays readable. */
function topOf(box: Box): Point {
  return { x: box.x + box.width / 2, y: box.y };
}

/** From each part to the next where they are nearest to each other: so the line hides little. */
export function stepsOf(parts: Point[][]): [Point, Point][] {
  return parts.slice(1).map((next, number) => {
    let best: [Point, Point] = [parts[number]![0]!, next[0]!];
    for (const from of parts[number]!) for (const to of next) if (away(from, to) < away(...best)) best = [from, to];
    return best;
  });
}

function away(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

function middleOf(box: Box): Point {
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

function memoryPoint(
  holder: Holder,
  node: number,
  bar: Box,
  ledger: LedgerView,
  occupancy: Occupancy,
): Point | null {
  const { memory, hugepages = {} } = ledger.nodes.find((one) => one.id === node) ?? {};
  const segments = occupancy.memory.get(node) ?? [];
  const own = segments.filter((one) => one.holder === holder.id);
  const first = own.find((one) => one.type === "memory") ?? own[0];
  if (!first) return null;
  const whole = memory?.total || 1;
  const begins = first.type === "memory" ? (memory?.reserved ?? 0) : whole - poolsFrom(first.type, hugepages);
  const before = segments.slice(0, segments.indexOf(first)).filter((one) => one.type === first.type);
  const at = before.reduce((sum, { bytes }) => sum + bytes, begins) + first.bytes / 2;
  return { x: bar.x + bar.width * Math.min(1, at / whole), y: bar.y + bar.height / 2 };
}

/** Bent, the more the more lines there are: two of them do not hide each other. */
function bend(a: Point, b: Point, number: number): Point {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = Math.hypot(dx, dy) || 1;
  const by = Math.min(46, 14 + length / 10) + (number % 5) * 12;
  return { x: (a.x + b.x) / 2 + (dy / length) * by, y: (a.y + b.y) / 2 - (dx / length) * by };
}

/** The middle of the first part of the line. */
function between(a: Point, b: Point, number: number): Point {
  const over = bend(a, b, number);
  return { x: (a.x + 2 * over.x + b.x) / 4, y: (a.y + 2 * over.y + b.y) / 4 };
}

function round({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
