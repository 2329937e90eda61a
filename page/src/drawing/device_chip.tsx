// One device in the picture, with its own memory where it has some.

import { bytesText } from "../values/amounts";
import type { LedgerView } from "../agent/api_types";
import { ghostClass } from "./ghost";
import type { Machine } from "../machine/machine";
import { MemoryBar } from "./memory_bar";
import type { Shown } from "./node_tile";
import { SLOTS, slotClass, textureOf } from "./palette";
import { chipLabel, type DeviceBox } from "./tile";
import { DeviceUseBars } from "./use_bars";

interface Properties extends Shown {
  box: DeviceBox;
  machine: Machine;
  ledger: LedgerView;
}

export function DeviceChip({ box, machine, ledger, ...shown }: Properties) {
  const { device } = box;
  const { occupancy, slots, lit } = shown;
  const holder = occupancy.devices.get(device.id);
  const slot = holder === undefined ? undefined : slots.get(holder);
  const classes = [
    "device",
    holder === undefined ? (device.resource ? "free" : "plain") : `held ${slotClass(slot)}`,
    lit && holder !== lit ? "dim" : "",
    holder !== undefined && occupancy.holders.get(holder)?.new ? "new" : "",
    holder !== undefined && occupancy.holders.get(holder)?.gone ? "gone" : "",
    device.healthy ? "" : "sick",
    ghostClass(shown.ghost.devices.get(device.id)),
  ];
  const inUse = shown.use?.devices.find((one) => one.device === device.id);
  const { x, y, width, height } = box;
  return (
    <g class={classes.filter(Boolean).join(" ")} data-device={device.id}>
      <rect class="base" x={x} y={y} width={width} height={height} rx={5} />
      {textureOf(slot) && !occupancy.holders.get(holder ?? "")?.gone && (
        <rect class="mark" x={x} y={y} width={width} height={height} rx={5} fill={`url(#${textureOf(slot)})`} />
      )}
      {slot !== undefined && slot >= SLOTS && (
        <rect class="mark" x={x} y={y} width={width} height={height} rx={5} fill="url(#striped)" />
      )}
      {box.bars.length === 0 ? (
        <text x={x + width / 2} y={y + height / 2 + (inUse ? 1 : 4)} text-anchor="middle">
          {device.healthy ? chipLabel(device) : `${chipLabel(device)} ✕`}
        </text>
      ) : (
        <text x={x + 8} y={y + 14}>
          {chipLabel(device)}
        </text>
      )}
      <DeviceUseBars box={box} use={inUse} />
      {box.bars.map((bar) => (
        <g key={bar.node}>
          <text class="small" x={bar.x} y={bar.y - 4}>{`NUMA ${bar.node}`}</text>
          <text class="small" x={bar.x + bar.width} y={bar.y - 4} text-anchor="end">
            {bytesText(machine.memory.get(bar.node) ?? 0)}
          </text>
          <MemoryBar
            owner={holder}
            box={bar}
            node={bar.node}
            total={machine.memory.get(bar.node) ?? 0}
            share={ledger.nodes.find((one) => one.id === bar.node)?.memory}
            {...shown}
          />
        </g>
      ))}
    </g>
  );
}
