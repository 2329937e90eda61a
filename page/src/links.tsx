// How devices reach each other, drawn over the picture: near links always, far ones only from the device pointed at.

import type { Layout } from "./layout";
import type { Machine } from "./machine";
import type { Box } from "./tile";

/** The words of nvidia-smi, nearest first. */
export function nearness(kind: string): "near" | "middle" | "far" {
  if (kind.startsWith("NV") || kind === "PIX") return "near";
  return kind === "SYS" ? "far" : "middle";
}

export function Links({ layout, machine, at }: { layout: Layout; machine: Machine; at: string | null }) {
  const boxes = new Map(
    [...layout.tiles.flatMap((tile) => tile.devices), ...layout.loose].map((box) => [box.device.id, box as Box]),
  );
  const drawn = machine.links.filter((link) => (at ? link.a === at || link.b === at : nearness(link.kind) !== "far"));
  return (
    <g class={`links ${at ? "" : "faint"}`} aria-hidden="true">
      {drawn.map((link) => {
        const [from, to] = [boxes.get(link.a), boxes.get(link.b)];
        if (!from || !to) return null;
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

/** From top to top, so that names stay readable; bent the more the further they lie apart. */
function curved(from: Box, to: Box): string {
  const edge = (box: Box) => [box.x + box.width / 2, box.y] as const;
  const [[ax, ay], [bx, by]] = [edge(from), edge(to)];
  const bend = Math.min(70, 14 + Math.hypot(bx - ax, by - ay) / 6);
  const flat = Math.abs(by - ay) < 4;
  const [mx, my] = [(ax + bx) / 2 + (flat ? 0 : bend), (ay + by) / 2 - (flat ? bend : 0)];
  return `M${ax} ${ay}Q${mx} ${my} ${bx} ${by}`;
}
