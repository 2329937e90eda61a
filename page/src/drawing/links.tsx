// How devices reach each other, drawn over the picture: many GPUs that all reach each other by one strip, others pair by
// pair; far pairs only from the device pointed at.

import type { FabricBox, Layout } from "./layout";
import type { Machine } from "../machine/machine";
import type { Box, DeviceBox, Tile } from "./tile";

export type Nearness = "nvlink" | "near" | "middle" | "far";

/** The words of nvidia-smi, nearest first. */
export function nearness(kind: string): Nearness {
  if (kind.startsWith("NV")) return "nvlink";
  if (kind === "PIX") return "near";
  return kind === "SYS" ? "far" : "middle";
}

export function Links({ layout, machine, at }: { layout: Layout; machine: Machine; at: string | null }) {
  const boxes = new Map<string, Box>(
    [...layout.tiles.flatMap((tile) => tile.devices), ...layout.loose].map((box) => [box.device.id, box]),
  );
  const frames = [...layout.tiles.flatMap((tile) => tile.groups), ...layout.looseGroups];
  const together = (a: Box, b: Box) => frames.some((frame) => inside(a, frame) && inside(b, frame));
  const drawn = pairsOf(machine, at);
  return (
    <g class={`links ${at ? "" : "faint"}`} aria-hidden="true">
      {layout.fabrics.map((strip) => (
        <path key={strip.fabric.title} class="nvlink bus" d={busOf(strip, layout, at)} />
      ))}
      {drawn.map((link) => {
        const [from, to] = [boxes.get(link.a), boxes.get(link.b)];
        if (!from || !to || (!at && together(from, to))) return null;
        // The kind stands at the other end, where no two meet.
        const other = link.a === at ? to : from;
        return (
          <g key={`${link.a} ${link.b}`} class={nearness(link.kind)}>
            <path d={curved(from, to)} />
            {at && (
              <>
                <rect x={other.x + other.width / 2 - 17} y={other.y - 8} width={34} height={15} rx={4} />
                <text x={other.x + other.width / 2} y={other.y + 3} text-anchor="middle">
                  {link.kind}
                </text>
              </>
            )}
          </g>
        );
      })}
    </g>
  );
}

function inside(box: Box, frame: Box): boolean {
  return box.x >= frame.x && box.x < frame.x + frame.width && box.y >= frame.y && box.y < frame.y + frame.height;
}

/** Those that are drawn one by one: not within a fabric, and of the far ones those of the device pointed at. */
export function pairsOf(machine: Machine, at: string | null): Machine["links"] {
  const within = ({ a, b, kind }: Machine["links"][number]) =>
    machine.fabrics.some(
      (fabric) => fabric.kind === kind && fabric.devices.includes(a) && fabric.devices.includes(b),
    );
  return machine.links.filter(
    (link) => !within(link) && (at ? link.a === at || link.b === at : nearness(link.kind) !== "far"),
  );
}

/** The strips themselves, which stand whether links are drawn or not. */
export function Fabrics({ layout }: { layout: Layout }) {
  return (
    <>
      {layout.fabrics.map((strip) => (
        <g key={strip.fabric.title} class="fabric">
          <rect x={strip.x} y={strip.y} width={strip.width} height={strip.height} rx={6} />
          <text x={strip.x + strip.width / 2} y={strip.y + strip.height / 2 + 4} text-anchor="middle">
            {stripTitle(strip)}
          </text>
        </g>
      ))}
    </>
  );
}

const LETTER = 5.8;

/** In few words where the picture is narrow. */
function stripTitle({ fabric, width }: FabricBox): string {
  if (fabric.title.length * LETTER <= width - 16) return fabric.title;
  return `${fabric.title.split(":")[0]}: ${fabric.devices.length} GPUs, ${fabric.kind}`;
}

/** From each GPU into the gap below it, along that to the gap beside its tile, and down to the strip: no chip is crossed. */
function busOf(strip: FabricBox, layout: Layout, at: string | null): string {
  const members = at && strip.fabric.devices.includes(at) ? [at] : strip.fabric.devices;
  const lines: string[] = [];
  for (const tile of layout.tiles) {
    for (const box of tile.devices) {
      if (!members.includes(box.device.id)) continue;
      lines.push(lineDown(box, tile, strip));
    }
  }
  for (const box of layout.loose) {
    const middle = box.x + box.width / 2;
    if (members.includes(box.device.id)) lines.push(`M${middle} ${box.y}V${strip.y + strip.height}`);
  }
  return lines.join("");
}

const GUTTER = 5;

function lineDown(box: DeviceBox, tile: Tile, strip: FabricBox): string {
  const middle = box.x + box.width / 2;
  const frame = tile.groups.find((group) => inside(box, group)) ?? box;
  const bottom = frame.y + frame.height + GUTTER / 2;
  const beside = Math.min(tile.x + tile.width + GUTTER, strip.x + strip.width);
  return `M${middle} ${box.y + box.height}V${bottom}H${beside}V${strip.y}`;
}

/** From top to top, so that names stay readable; bent the more the further they lie apart. */
function curved(from: Box, to: Box): string {
  const edge = (box: Box) => [box.x + box.width / 2, box.y] as const;
  const [[ax, ay], [bx, by]] = [edge(from), edge(to)];
  const bend = Math.min(70, 14 + Math.hypot(bx - ax, by - ay) / 6);
  const flat = Math.abs(by - ay) < 4;
  const [mx, my] = [(ax + bx) / 2 + (flat ? 0 : bend), (ay + by) / 2 - (flat ? bend : 0)];
  return `M${ax} ${ay}Q${mx} ${my} ${bx} ${by}`;
}
