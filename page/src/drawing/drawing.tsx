// The machine as a picture, with who sits where; tells of what is under the pointer or the keyboard's focus.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LedgerView } from "../agent/api_types";
import { Card } from "./card";
import { type Demand, ghostOf, NO_DEMAND } from "./ghost";
import { Joins } from "./joins";
import { type Frame, layoutOf, type Room, scaleOf } from "./layout";
import { Legend } from "./legend";
import { Fabrics, Links } from "./links";
import { Tally } from "../telling/lying";
import type { Machine } from "../machine/machine";
import { cutMiddle } from "../values/names";
import { Groups, NodeTile } from "./node_tile";
import { DeviceChip } from "./device_chip";
import { occupancyOf } from "../machine/occupancy";
import { slotsOf } from "./palette";
import { spoken, type Target, targetAt, tellingOf } from "./target";
import { dropOn } from "./pod_drag";
import type { UseAnswer } from "../machine/use";
import { useViewport } from "./viewport";

interface Properties {
  machine: Machine;
  ledger: LedgerView;
  /** The holder to light up, chosen elsewhere (the list). */
  lit: string | null;
  onLit: (holder: string | null) => void;
  onPick?: (holder: string | null) => void;
  /** A pod or holder was dropped on a NUMA node. */
  onNode?: ((node: number, name: string) => void) | undefined;
  links?: boolean;
  /** What is really in use; null: it is not known, or not to be shown. */
  use?: UseAnswer | null;
  /** What a refused pod wanted: drawn as a ghost on each NUMA node. */
  demand?: Demand | undefined;
  /** The NUMA nodes before the question, where the picture shows them after it. */
  before?: LedgerView["nodes"];
  /** Part of a page that scrolls: as tall as it needs, and the wheel scrolls. */
  inText?: boolean;
  label: string;
  /** Stands below the picture, before the key. */
  tools?: ComponentChildren;
}

/** CPU numbers smaller than this are noise. */
const SMALLEST_TEXT = 5.6;
/** Of the window; the style sheet stacks the views at the same width. */
const NARROW = 760;
/** Room for the lines of the outermost frames. */
const EDGE = 2;

export function Drawing({
  machine,
  ledger,
  lit,
  onLit,
  onPick,
  onNode,
  links = false,
  use = null,
  demand = NO_DEMAND,
  before = [],
  inText = false,
  label,
  tools,
}: Properties) {
  const element = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [target, setTarget] = useState<{ target: Target; x: number; y: number; aloud?: boolean } | null>(null);
  const port = useViewport(element, !inText);
  useEffect(() => {
    const watch = new ResizeObserver(
      ([entry]) => entry && setSize({ width: entry.contentRect.width, height: entry.contentRect.height }),
    );
    watch.observe(element.current!);
    return () => watch.disconnect();
  }, []);

  const scrolls = inText || window.innerWidth <= NARROW;
  const room: Room = {
    width: Math.max(1, size.width - 2 * EDGE),
    height: scrolls ? (inText && window.innerWidth > NARROW ? 440 : Infinity) : Math.max(1, size.height - 2 * EDGE),
  };
  const layout = useMemo(
    () => layoutOf(machine, room, demand.rows.length),
    [machine, demand.rows.length, Math.round(room.width / 8), Math.round(room.height / 8)],
  );
  const occupancy = useMemo(() => occupancyOf(ledger), [ledger]);
  const ghost = useMemo(
    () =>
      ghostOf(
        demand,
        layout.tiles,
        (cpu) => !occupancy.cpus.has(cpu) && occupancy.free.has(cpu),
        new Set(occupancy.devices.keys()),
      ),
    [demand, layout, occupancy],
  );
  const slots = useMemo(() => slotsOf(ledger.holders), [ledger]);
  const scale = scaleOf(layout, room);
  const height = scrolls ? Math.ceil(layout.height * scale) + 2 * EDGE : size.height;
  const { zoom, x, y } = port.view;
  const full = scale * zoom;
  const left = x + Math.max(EDGE, (size.width - layout.width * scale) / 2) * zoom;
  // What is left of the height stands below rather than above: the eye starts at the top.
  const top = y + Math.max(EDGE, (height - layout.height * scale) / 3) * zoom;
  const telling = target && tellingOf(target.target, machine, ledger, occupancy, use);
  const light = (next: typeof target) => {
    setTarget(next);
    onLit((next && tellingOf(next.target, machine, ledger, occupancy).holder?.id) ?? null);
  };
  const point = (event: PointerEvent) => {
    port.onPointerMove(event);
    if (port.dragging() || event.pointerType === "touch") return;
    const found = targetAt(event.target as Element);
    const frame = element.current!.getBoundingClientRect();
    light(found && { target: found, x: event.clientX - frame.x, y: event.clientY - frame.y });
  };
  const focus = (next: Target | null, box?: { x: number; y: number }) =>
    light(next && { target: next, aloud: true, x: left + (box?.x ?? 0) * full, y: top + (box?.y ?? 0) * full });
  const click = (event: MouseEvent) => {
    if (port.dragging()) return;
    const found = targetAt(event.target as Element);
    const frame = element.current!.getBoundingClientRect();
    light(found && { target: found, x: event.clientX - frame.x, y: event.clientY - frame.y });
    onPick?.((found && tellingOf(found, machine, ledger, occupancy).holder?.id) ?? null);
  };
  const shown = { occupancy, slots, lit, offline: machine.offline, ghost, use };
  return (
    <div class={`picture ${inText ? "in-text" : ""}`}>
      <Tally counts={ledger.alignment ?? {}} />
      {demand.whole !== "" && <p class="demand-whole">✕ {demand.whole}</p>}
      <div
        class={`room ${scrolls ? "scrolls" : ""} ${zoom > 1 ? "zoomed" : ""}`}
        ref={element}
        role="group"
        aria-label={label}
        style={scrolls && size.width > 0 ? { height: `${height}px` } : {}}
        onKeyDown={(event) => (event.key === "Escape" ? light(null) : port.onKeyDown(event))}
        onPointerDown={port.onPointerDown}
        onPointerMove={point}
        onPointerUp={port.onPointerUp}
        onPointerCancel={port.onPointerUp}
        onPointerLeave={(event) => (port.onPointerUp(event), light(null))}
        onClick={click}
        {...dropOn(onNode)}
      >
        {size.width > 0 && (
          <svg
            class={`drawing ${full * 9.5 < SMALLEST_TEXT ? "quiet" : ""} ${lit ? "lighting" : ""}`}
            width={size.width}
            height={height}
          >
            <g transform={`translate(${left.toFixed(2)} ${top.toFixed(2)}) scale(${full.toFixed(4)})`}>
              {layout.frames.map((frame) => (
                <g key={frame.title}>
                  <rect class="socket" x={frame.x} y={frame.y} width={frame.width} height={frame.height} rx={8} />
                  <text class="socket-title" x={frame.x + 12} y={frame.y + 18}>
                    {frame.title}
                  </text>
                  <FrameMore frame={frame} />
                </g>
              ))}
              {layout.tiles.map((tile) => (
                <NodeTile
                  key={tile.node.id}
                  tile={tile}
                  machine={machine}
                  ledger={ledger}
                  before={before.find((one) => one.id === tile.node.id)}
                  {...shown}
                  onFocus={focus}
                />
              ))}
              <Groups groups={layout.looseGroups} />
              {layout.loose.map((box) => (
                <DeviceChip key={box.device.id} box={box} machine={machine} ledger={ledger} {...shown} />
              ))}
              <Joins layout={layout} ledger={ledger} {...shown} />
              <Fabrics layout={layout} />
              {links && (
                <Links
                  layout={layout}
                  machine={machine}
                  at={target?.target.kind === "device" ? target.target.device : null}
                />
              )}
            </g>
          </svg>
        )}
        {telling && target && (
          <Card telling={telling} slots={slots} x={target.x} y={target.y} room={{ width: size.width, height }} />
        )}
        <div class="spoken" role="status">
          {telling && target?.aloud ? spoken(telling) : ""}
        </div>
      </div>
      <div class="tools">
        {tools}
        <Legend machine={machine} ledger={ledger} wanted={demand.rows.length > 0} links={links} use={use} />
        <div class="zoom">
          <button type="button" title="Zoom in (+)" aria-label="Zoom in" onClick={() => port.zoomBy(1.4)}>
            +
          </button>
          <button
            type="button"
            title="Zoom out (-)"
            aria-label="Zoom out"
            disabled={zoom === 1}
            onClick={() => port.zoomBy(1 / 1.4)}
          >
            −
          </button>
          <button
            type="button"
            title="Show all (0)"
            aria-label="Show all"
            disabled={zoom === 1}
            onClick={() => port.setView({ zoom: 1, x: 0, y: 0 })}
          >
            ⤢
          </button>
        </div>
      </div>
    </div>
  );
}

/** Width of a letter beside the title of a frame. */
const LETTER = 5.4;

/** Its processor and caches, as many as there is room for beside its title; all of them where one points at it. */
function FrameMore({ frame }: { frame: Frame }) {
  const most = Math.floor((frame.width - 34 - frame.title.length * 6.6) / LETTER);
  const [first, ...rest] = frame.more ?? [];
  if (!first || most < 12) return null;
  let text = cutMiddle(first, most);
  for (const part of rest) if (`${text} · ${part}`.length <= most) text = `${text} · ${part}`;
  return (
    <text class="socket-more" x={frame.x + frame.width - 12} y={frame.y + 18} text-anchor="end">
      <title>{frame.more!.join(" · ")}</title>
      {text}
    </text>
  );
}
