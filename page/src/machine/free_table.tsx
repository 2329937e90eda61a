// What is free on each NUMA node, in numbers: the picture's tile headings as one small table.

import { bytesText } from "../values/amounts";
import type { LedgerView } from "../agent/api_types";
import type { Machine } from "./machine";
import { resourceText } from "./occupancy";

export function FreeTable({ ledger, machine }: { ledger: LedgerView; machine: Machine }) {
  const taken = heldMemory(ledger, machine);
  const nodes = ledger.nodes.filter(
    (node) => node.cpus.total > 0 || node.memory.total > 0 || Object.keys(node.devices).length > 0,
  );
  const resources = [...new Set(nodes.flatMap((node) => Object.keys(node.devices)))].sort();
  const hasMemory = nodes.some((node) => node.memory.total > 0);
  return (
    <section class="free-table" aria-labelledby="free-title">
      <h2 id="free-title">Free per NUMA node</h2>
      <p class="total">Free here means: claimed by nobody.</p>
      <table>
        <thead>
          <tr>
            <th scope="col">NUMA</th>
            <th scope="col">CPUs</th>
            {hasMemory && <th scope="col">memory</th>}
            {resources.map((resource) => (
              <th scope="col" key={resource} title={resource}>
                {resourceText(resource)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <tr key={node.id}>
              <th scope="row">{node.id}</th>
              <Cell free={node.cpus.free} total={node.cpus.total} text={String} />
              {hasMemory && taken.has(node.id) ? (
                <td class="out" title={`${bytesText(node.memory.total)}, held with ${taken.get(node.id)}`}>
                  held with {taken.get(node.id)}
                </td>
              ) : (
                hasMemory && <Cell free={node.memory.free} total={node.memory.total} text={bytesText} />
              )}
              {resources.map((resource) => (
                <Cell
                  key={resource}
                  free={node.devices[resource]?.free ?? 0}
                  total={node.devices[resource]?.total ?? 0}
                  text={String}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** NUMA node -> the device whose own memory it is, where somebody holds that device: nobody else gets of it. */
export function heldMemory(ledger: LedgerView, machine: Machine): Map<number, string> {
  const held = new Set(ledger.holders.flatMap((holder) => Object.values(holder.devices).flat()));
  const owned = machine.devices.filter((device) => held.has(device.id));
  return new Map(owned.flatMap((device) => device.memoryNodes.map((node): [number, string] => [node, device.label])));
}

function Cell({ free, total, text }: { free: number; total: number; text: (amount: number) => string }) {
  if (total === 0) return <td class="none">–</td>;
  return (
    <td class={free === 0 ? "out" : ""}>
      <span class="free">{text(free)}</span>
      <span class="total"> / {text(total)}</span>
    </td>
  );
}
