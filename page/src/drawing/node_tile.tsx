// One NUMA node in the picture: its cores, its memory and its devices.

import { useState } from "preact/hooks";
import { bytesOfText } from "../values/amounts";
import type { LedgerView } from "../agent/api_types";
import { DeviceChip } from "./device_chip";
import { demandLines, type Ghost, ghostClass, SIGNS } from "./ghost";
import type { Machine } from "../machine/machine";
import { MemoryBar } from "./memory_bar";
import { cpuState, isSharer, type Occupancy } from "../machine/occupancy";
import { slotClass, textureOf } from "./palette";
import { type Target, nodeLines } from "./target";
import { type Box, type CoreBox, type GroupBox, LINE, type Tile } from "./tile";
import type { UseAnswer } from "../machine/use";
import { LoadBar, MemoryUseBar } from "./use_bars";

/** What all parts of the picture need to know to be coloured. */
export interface Shown {
  occupancy: Occupancy;
  slots: Map<string, number>;
  lit: string | null;
  offline: Set<number>;
  ghost: Ghost;
  /** What is really in use; null where that is not known, or not to be shown. */
  use: UseAnswer | null;
}

interface Properties extends Shown {
  tile: Tile;
  machine: Machine;
  ledger: LedgerView;
  before: LedgerView["nodes"][number] | undefined;
  onFocus: (target: Target | null, box?: { x: number; y: number }) => void;
}

export function NodeTile({ tile, machine, ledger, before, onFocus, ...shown }: Properties) {
  const { node } = tile;
  const cpus = tile.cores.flatMap((box) =>
    box.core.cpus.map((cpu, thread) => ({ cpu, x: box.x + 20, y: box.y + (thread + 1) * threadHeight(box) })),
  );
  const share = ledger.nodes.find((one) => one.id === node.id);
  const [free, total] = bytesOfText(share?.memory.free ?? node.memory, share?.memory.total ?? node.memory);
  const wanted = demandLines(shown.ghost.demand, node.id);
  const [cursor, setCursor] = useState(-1);
  // Left and right walk through the CPUs of the node that has the focus.
  const walk = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || cpus.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (cursor + step + cpus.length) % cpus.length;
    setCursor(next);
    onFocus({ kind: "cpu", cpu: cpus[next]!.cpu }, cpus[next]);
  };
  const leave = () => (setCursor(-1), onFocus(null));
  return (
    <g
      class="node"
      tabIndex={0}
      role="img"
      aria-label={`NUMA node ${node.id}: ${[...nodeLines(node.id, ledger, before), ...wanted.map((line) => line.text)].join(", ")}`}
      data-node={node.id}
      onFocus={(event) =>
        (event.currentTarget as Element).matches(":focus-visible") &&
        onFocus({ kind: "node", node: node.id }, { x: tile.x + 30, y: tile.y + 20 })
      }
      onBlur={leave}
      onKeyDown={walk}
    >
      <rect class="tile" x={tile.x} y={tile.y} width={tile.width} height={tile.height} rx={6} />
      <text class="node-title" x={tile.x + 10} y={tile.y + 18}>
        NUMA {node.id}
      </text>
      {share && share.cpus.total > 0 && (
        <text class="node-free" x={tile.x + tile.width - 10} y={tile.y + 18} text-anchor="end">
          <Was before={before?.cpus.free} after={share.cpus.free} text={String} />
          <tspan class="number">{share.cpus.free}</tspan> of {share.cpus.total} CPUs free
        </text>
      )}
      {tile.bands.map((band) => (
        <g key={band.title}>
          <rect class="band" x={band.x} y={band.y} width={band.width} height={band.height} rx={4} />
          <text class="band-title" x={band.x + 6} y={band.y + 10}>
            {band.title}
          </text>
        </g>
      ))}
      {tile.cores.map((box) => (
        <CoreCell key={box.core.cpus[0]} box={box} cursor={cpus[cursor]?.cpu} {...shown} />
      ))}
      {tile.memory && (
        <>
          {tile.cores.length > 0 && (
            <text class="bar-title" x={tile.memory.x} y={tile.memory.y - 5}>
              Memory
            </text>
          )}
          <text
            class="bar-free"
            x={tile.memory.x + tile.memory.width}
            y={tile.cores.length > 0 ? tile.memory.y - 5 : tile.y + 18}
            text-anchor="end"
          >
            <Was before={before?.memory.free} after={share?.memory.free} text={(bytes) => bytesOfText(bytes, share?.memory.total ?? 0)[0]} />
            <tspan class="number">{free}</tspan> {tile.cores.length > 0 ? `of ${total}` : total.split(" ")[1]} free
          </text>
          <MemoryBar
            box={tile.memory}
            node={node.id}
            total={node.memory}
            share={share?.memory}
            hugepages={share?.hugepages}
            {...shown}
          />
          {tile.use && <MemoryUseBar box={tile.use} use={shown.use?.nodes.find((one) => one.node === node.id)} />}
        </>
      )}
      {tile.lines && wanted.length > 0 && (
        <g class="wanted">
          {wanted.map((line, number) => (
            <text
              key={line.resource}
              class={`${line.look} ${line.decides ? "decides" : ""}`}
              x={tile.lines!.x}
              y={tile.lines!.y + (number + 1) * LINE - 3}
            >
              {SIGNS[line.look]} {line.text}
            </text>
          ))}
        </g>
      )}
      <Groups groups={tile.groups} />
      {tile.devices.map((box) => (
        <DeviceChip key={box.device.id} box={box} machine={machine} ledger={ledger} {...shown} />
      ))}
    </g>
  );
}

/** Frames around devices that hang together on PCIe. */
export function Groups({ groups }: { groups: GroupBox[] }) {
  return (
    <>
      {groups.map((box) => (
        <g key={`${box.x} ${box.y}`} class="pcie">
          <rect x={box.x} y={box.y} width={box.width} height={box.height} rx={4} />
          <text x={box.x + 4} y={box.y + 9}>
            {box.title}
          </text>
        </g>
      ))}
    </>
  );
}

/** What was free before, where that differs: `64 → `. */
function Was({
  before,
  after,
  text,
}: {
  before: number | undefined;
  after: number | undefined;
  text: (amount: number) => string;
}) {
  if (before === undefined || before === after) return null;
  return <tspan class="was">{text(before)} → </tspan>;
}

function CoreCell({
  box,
  cursor,
  occupancy,
  slots,
  lit,
  offline,
  ghost,
  use,
}: Shown & { box: CoreBox; cursor: number | undefined }) {
  const height = threadHeight(box);
  return (
    <g class={`core ${box.core.kind}`}>
      {box.core.cpus.map((cpu, thread) => {
        const state = cpuState(cpu, occupancy, offline);
        const holder = occupancy.cpus.get(cpu);
        const litHolder = lit ? occupancy.holders.get(lit) : undefined;
        const glows = lit !== null && (holder === lit || (litHolder !== undefined && isSharer(litHolder) && occupancy.shared.has(cpu)));
        const { new: fresh, gone } = (holder !== undefined && occupancy.holders.get(holder)) || {};
        const place = { x: box.x, y: box.y + thread * height, width: box.width, height };
        const outline = cell(place, thread === 0, thread === box.core.cpus.length - 1);
        const slot = holder === undefined ? undefined : slots.get(holder);
        const pattern = patternOf(state, slot);
        const texture = state === "held" && !gone ? textureOf(slot) : "";
        const classes = [
          "cpu",
          state,
          state === "held" ? slotClass(slot) : "",
          lit && !glows ? "dim" : "",
          fresh ? "new" : "",
          gone ? "gone" : "",
          ghostClass(ghost.cpus.get(cpu)),
          cursor === cpu ? "cursor" : "",
        ];
        return (
          <g key={cpu} class={classes.filter(Boolean).join(" ")} data-cpu={cpu}>
            <path class="base" d={outline} />
            {texture && <path class="mark" d={outline} fill={`url(#${texture})`} />}
            {pattern && <path class="mark" d={outline} fill={`url(#${pattern})`} />}
            <text x={place.x + place.width / 2} y={place.y + height / 2 + (use ? 2.2 : 3.5)} text-anchor="middle">
              {cpu}
            </text>
            <LoadBar box={place} load={use?.cpus[cpu]} />
          </g>
        );
      })}
      <rect class="edge" x={box.x} y={box.y} width={box.width} height={box.height - 1} rx={3} />
    </g>
  );
}

function threadHeight(box: CoreBox): number {
  return (box.height - 1) / box.core.cpus.length;
}

/** A rectangle whose upper and lower corners are round where the core ends. */
function cell({ x, y, width, height }: Box, first: boolean, last: boolean): string {
  const [a, b] = [first ? 3 : 0, last ? 3 : 0];
  const right = x + width;
  const low = y + height;
  const upper = `M${x} ${y + a}a${a} ${a} 0 0 1 ${a} ${-a}H${right - a}a${a} ${a} 0 0 1 ${a} ${a}`;
  return `${upper}V${low - b}a${b} ${b} 0 0 1 ${-b} ${b}H${x + b}a${b} ${b} 0 0 1 ${-b} ${-b}Z`;
}

function patternOf(state: string, slot: number | undefined): string {
  if (state === "reserved" || state === "kept") return "hatched";
  if (state === "shared" || state === "pool") return "dotted";
  if (state === "offline") return "crossed";
  return slot !== undefined && slot >= 10 ? "striped" : "";
}
