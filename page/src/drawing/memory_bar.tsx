// The memory of one NUMA node as a bar: what is reserved, what each holder has, what is free.

import type { Share } from "../agent/api_types";
import { ghostClass, isEnough } from "./ghost";
import type { Shown } from "./node_tile";
import type { Segment } from "../machine/occupancy";
import { SLOTS, slotClass, textureOf } from "./palette";
import type { Box } from "./tile";

interface Properties extends Shown {
  box: Box;
  node: number;
  total: number;
  share: Share | undefined;
  /** Who holds the device whose own memory this is: what nobody claims of it is not free. */
  owner?: string | undefined;
  /** A part of the memory that is set aside, by type. */
  hugepages?: Record<string, Share> | undefined;
}

export function MemoryBar({ box, node, total, share, hugepages = {}, owner, occupancy, slots, lit, ghost }: Properties) {
  const whole = share?.total || total || 1;
  const width = (bytes: number) => Math.max(0, Math.min(1, bytes / whole)) * box.width;
  let x = box.x;
  const place = (bytes: number) => {
    const piece = { x, y: box.y, width: Math.min(width(bytes), box.x + box.width - x), height: box.height };
    x += piece.width;
    return piece;
  };
  const reserved = share?.reserved ?? 0;
  const held = occupancy.memory.get(node) ?? [];
  const pools = Object.entries(hugepages);
  // At the end, so that the free part stands before it.
  let end = box.x + box.width;
  const placeLast = (bytes: number) => {
    const wide = Math.min(width(bytes), end - box.x);
    end -= wide;
    return { x: end, y: box.y, width: wide, height: box.height };
  };
  const taken = new Map<string, number>();
  /** Inside the pool of its pages, one behind the other. */
  const inPool = ({ type, bytes }: Segment) => {
    const start = box.x + box.width - width(poolsFrom(type, hugepages));
    const at = start + width(taken.get(type) ?? 0);
    taken.set(type, (taken.get(type) ?? 0) + bytes);
    return { x: at, y: box.y, width: width(bytes), height: box.height };
  };
  const memory = ghost.demand.rows.find((row) => row.resource === "memory");
  const wanted = memory?.cells.find((cell) => cell.numa === node);
  return (
    <g class="memory">
      {owner === undefined ? (
        <rect class={`base free ${lit ? "dim" : ""}`} {...box} data-memory={node} data-holder="" />
      ) : (
        <rect class="base owned" {...box} data-memory={node} data-holder={owner} />
      )}
      {reserved > 0 && (
        <Piece
          place={place(reserved)}
          node={node}
          holder="reserved"
          classes={`reserved ${lit ? "dim" : ""}`}
          pattern="hatched"
        />
      )}
      {pools.map(([type, pool]) => (
        <Piece
          key={type}
          place={placeLast(pool.total)}
          node={node}
          holder={type}
          classes={`huge ${lit ? "dim" : ""}`}
          pattern="grid"
        />
      ))}
      {held.map((segment, number) => {
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
            place={segment.type === "memory" ? place(segment.bytes) : inPool(segment)}
            node={node}
            holder={segment.holder}
            classes={`held ${classes.join(" ")}`}
            pattern={pattern}
            texture={occupancy.holders.get(segment.holder)?.gone ? "" : textureOf(slot)}
          />
        );
      })}
      <rect class="edge" {...box} rx={2} />
      {memory && wanted && (
        <rect class={ghostClass(isEnough(ghost.demand, memory, node))} {...place(memory.needed)} />
      )}
    </g>
  );
}

/** Bytes from where the pages of this size begin to the end of the bar: pools stand there, the first outermost. */
export function poolsFrom(type: string, hugepages: Record<string, Share>): number {
  const sizes = Object.keys(hugepages);
  return sizes.slice(0, sizes.indexOf(type) + 1).reduce((sum, size) => sum + hugepages[size]!.total, 0);
}

function Piece({
  place,
  node,
  holder,
  classes,
  pattern,
  texture = "",
}: {
  place: Box;
  node: number;
  holder: string;
  classes: string;
  pattern: string;
  texture?: string;
}) {
  return (
    <g class={`piece ${classes}`} data-memory={node} data-holder={holder}>
      <rect class="base" {...place} />
      {texture && <rect class="mark" {...place} fill={`url(#${texture})`} />}
      {pattern && <rect class="mark" {...place} fill={`url(#${pattern})`} />}
    </g>
  );
}
