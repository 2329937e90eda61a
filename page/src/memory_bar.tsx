// The memory of one NUMA node as a bar: what is reserved, what each holder has, what is free.

import type { Share } from "./api_types";
import { ghostClass } from "./ghost";
import type { Shown } from "./node_tile";
import { SLOTS, slotClass } from "./palette";
import type { Box } from "./tile";

interface Properties extends Shown {
  box: Box;
  node: number;
  total: number;
  share: Share | undefined;
}

export function MemoryBar({ box, node, total, share, occupancy, slots, lit, ghost }: Properties) {
  const whole = share?.total || total || 1;
  const width = (bytes: number) => Math.max(0, Math.min(1, bytes / whole)) * box.width;
  let x = box.x;
  const place = (bytes: number) => {
    const piece = { x, y: box.y, width: Math.min(width(bytes), box.x + box.width - x), height: box.height };
    x += piece.width;
    return piece;
  };
  const reserved = share?.reserved ?? 0;
  const memory = ghost.rows.find((row) => row.resource === "memory");
  const wanted = memory?.cells.find((cell) => cell.numa === node);
  return (
    <g class="memory">
      <rect class={`base free ${lit ? "dim" : ""}`} {...box} data-memory={node} data-holder="" />
      {reserved > 0 && (
        <Piece
          place={place(reserved)}
          node={node}
          holder="reserved"
          classes={`reserved ${lit ? "dim" : ""}`}
          pattern="hatched"
        />
      )}
      {(occupancy.memory.get(node) ?? []).map((segment, number) => {
        const slot = slots.get(segment.holder);
        const classes = [
          slotClass(slot),
          lit && lit !== segment.holder ? "dim" : "",
          occupancy.holders.get(segment.holder)?.new ? "new" : "",
          occupancy.holders.get(segment.holder)?.gone ? "gone" : "",
        ];
        const pattern = slot !== undefined && slot >= SLOTS ? "striped" : "";
        return (
          <Piece
            key={`${segment.holder} ${number}`}
            place={place(segment.bytes)}
            node={node}
            holder={segment.holder}
            classes={`held ${classes.join(" ")}`}
            pattern={pattern}
          />
        );
      })}
      <rect class="edge" {...box} rx={2} />
      {memory && wanted && <rect class={ghostClass(wanted.fits)} {...place(memory.needed)} />}
    </g>
  );
}

function Piece({
  place,
  node,
  holder,
  classes,
  pattern,
}: {
  place: Box;
  node: number;
  holder: string;
  classes: string;
  pattern: string;
}) {
  return (
    <g class={`piece ${classes}`} data-memory={node} data-holder={holder}>
      <rect class="base" {...place} />
      {pattern && <rect class="mark" {...place} fill={`url(#${pattern})`} />}
    </g>
  );
}
