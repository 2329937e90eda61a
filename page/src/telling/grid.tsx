// The grid of a decision: what is needed of each resource, and what is free of it on each NUMA node.

import { bytesOfText, bytesText, plural } from "../values/amounts";
import type { GridCell, GridRow } from "../agent/api_types";
import { isBytes, SIGNS } from "../drawing/ghost";
import { textOf } from "../values/numbers";
import { membersText } from "../values/words";

const MOST_COLUMNS = 16;

interface Properties {
  rows: GridRow[];
  chosen: number[];
  /** Without a merge the sum counts, and only these resources are too little; no NUMA node fits or does not by itself. */
  stops?: string[];
}

export function Grid({ rows, chosen, stops }: Properties) {
  if (rows.length === 0) return null;
  const { nodes, cut, barren } = columnsOf(rows, chosen);
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
              <th scope="row">{breakable(row.resource)}</th>
              <td class="needed">{amount(row.resource, row.needed)}</td>
              {nodes.map((node) => {
                const cell = row.cells.find((one) => one.numa === node);
                return cell ? (
                  <AmountCell
                    key={node}
                    row={row}
                    cell={cell}
                    chosen={chosen.includes(node)}
                    look={stops ? (stops.includes(row.resource) ? "short" : "plain") : cell.fits ? "fits" : "short"}
                    merged={!stops}
                  />
                ) : (
                  <td key={node} class="none">
                    –
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {cut > 0 && <p class="note">And {plural(cut, "more NUMA node")}.</p>}
      {barren > 0 && (
        <p class="note">
          {plural(barren, "more NUMA node")} {barren === 1 ? "has" : "have"} none of these.
        </p>
      )}
    </div>
  );
}

/** Nodes that could give nothing in any row say nothing on a machine with many; of too many, those taken come first. */
export function columnsOf(rows: GridRow[], chosen: number[]): { nodes: number[]; cut: number; barren: number } {
  const cells = rows.flatMap((row) => row.cells);
  const every = [...new Set(cells.map((cell) => cell.numa))].sort((a, b) => a - b);
  const fruitful = every.filter((node) => cells.some((cell) => cell.numa === node && cell.allocatable > 0));
  const useful = fruitful.length > 0 ? fruitful : every;
  const nodes = [...useful]
    .sort((a, b) => Number(chosen.includes(b)) - Number(chosen.includes(a)) || a - b)
    .slice(0, MOST_COLUMNS)
    .sort((a, b) => a - b);
  return { nodes, cut: useful.length - nodes.length, barren: every.length - useful.length };
}

/** `nvidia.com/gpu` may go on in a second line behind its slash. */
function breakable(resource: string) {
  const behind = resource.indexOf("/") + 1;
  return [resource.slice(0, behind), <wbr key="break" />, resource.slice(behind)];
}

interface CellProperties {
  row: GridRow;
  cell: GridCell;
  chosen: boolean;
  look: keyof typeof SIGNS;
  merged: boolean;
}

function AmountCell({ row, cell, chosen, look, merged }: CellProperties) {
  const { resource, needed } = row;
  const [free, total] = isBytes(resource)
    ? bytesOfText(cell.free, cell.allocatable)
    : [cell.free, cell.allocatable];
  const held = [
    ...Object.entries(cell.held).map(([who, much]) => `${who}: ${amount(resource, much)}`),
    ...cell.across.map(({ pod, amount: much, nodes }) => `${pod}: ${amount(resource, much)} across ${membersText(nodes)}`),
  ].join("\n");
  // Enough is free, and yet the kubelet would not take it: not in whole cores, or memory of one node of a group.
  const ruled = merged && !cell.fits && cell.free >= needed;
  const word = { fits: "fits", short: ruled ? "does not fit" : "too little", plain: "" }[look];
  return (
    <td
      class={`${look} ${chosen ? "chosen" : ""}`}
      title={held ? `held by\n${held}` : "nothing held"}
    >
      <Meter part={cell.allocatable > 0 ? cell.free / cell.allocatable : 0} />
      {word && (
        <span class="mark-text" aria-label={word}>
          {SIGNS[look]}
        </span>
      )}
      <span class="free">{free}</span>
      <span class="total">
        {" "}
        of {total}
        <span class="word"> free</span>
      </span>
      {ruled && <span class="aside">enough, but not by the rules</span>}
      {cell.across.map(({ pod, amount: much, nodes }) => (
        <span class="aside" key={`${pod} ${nodes}`}>
          {amount(resource, much)} held across {textOf(nodes)}
        </span>
      ))}
    </td>
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

function amount(resource: string, value: number): string {
  return isBytes(resource) ? bytesText(value) : String(value);
}
