// The grid of a decision: what is needed of each resource, and what is free of it on each NUMA node.

import { bytesOfText, bytesText } from "./amounts";
import type { GridRow } from "./api_types";

const MOST_COLUMNS = 16;

export function Grid({ rows, chosen }: { rows: GridRow[]; chosen: number[] }) {
  if (rows.length === 0) return null;
  // Nodes that could give nothing in any row say nothing on a machine with many.
  const every = [...new Set(rows.flatMap((row) => row.cells.map((cell) => cell.numa)))].sort((a, b) => a - b);
  const useful = every.filter((node) =>
    rows.some((row) => row.cells.some((cell) => cell.numa === node && cell.allocatable > 0)),
  );
  const nodes = (useful.length > 0 ? useful : every).slice(0, MOST_COLUMNS);
  const left = every.length - nodes.length;
  return (
    <div class="scroll">
      <table class="grid">
        <thead>
          <tr>
            <th scope="col">resource</th>
            <th scope="col">needed</th>
            {nodes.map((node) => (
              <th scope="col" key={node} class={chosen.includes(node) ? "chosen" : ""}>
                NUMA {node}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.resource}>
              <th scope="row">{row.resource}</th>
              <td class="needed">{amount(row.resource, row.needed)}</td>
              {nodes.map((node) => {
                const cell = row.cells.find((one) => one.numa === node);
                if (!cell)
                  return (
                    <td key={node} class="none">
                      –
                    </td>
                  );
                const [free, total] = isBytes(row.resource)
                  ? bytesOfText(cell.free, cell.allocatable)
                  : [cell.free, cell.allocatable];
                const fits = cell.free >= row.needed;
                const held = Object.entries(cell.held)
                  .map(([who, much]) => `${who}: ${amount(row.resource, much)}`)
                  .join("\n");
                return (
                  <td
                    key={node}
                    class={`${fits ? "fits" : "short"} ${chosen.includes(node) ? "chosen" : ""}`}
                    title={held ? `held by\n${held}` : "nothing held"}
                  >
                    <Meter part={cell.allocatable > 0 ? cell.free / cell.allocatable : 0} />
                    <span class="mark-text" aria-label={fits ? "fits" : "too little"}>
                      {fits ? "✓" : "✕"}
                    </span>
                    <span class="free">{free}</span>
                    <span class="total">
                      {" "}
                      of {total}
                      <span class="word"> free</span>
                    </span>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && <p class="note">{left} more NUMA nodes have none of these.</p>}
    </div>
  );
}

function Meter({ part }: { part: number }) {
  return (
    <svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="ground" width="100" height="4" />
      <rect class="level" width={Math.max(0, Math.min(1, part)) * 100} height="4" />
    </svg>
  );
}

/** Memory comes in bytes, everything else in pieces. */
function isBytes(resource: string): boolean {
  return resource === "memory" || resource.startsWith("hugepages");
}

function amount(resource: string, value: number): string {
  return isBytes(resource) ? bytesText(value) : String(value);
}
