// What a log tells of a merge, drawn: a column for each NUMA node, and in it what each manager offered there.

import type { Hint, SimulatedPod } from "../agent/api_types";
import { membersOf, textOf } from "../values/numbers";

type Merge = NonNullable<SimulatedPod["merges"]>[number] & { container?: string };

export interface HintCell {
  node: number;
  /** `alone`: this node by itself; `with`: only together with others; `no`: not at all. */
  offer: "alone" | "with" | "no";
  preferred: boolean;
}

export interface HintRow {
  resource: string;
  /** The manager does not care where. */
  any: boolean;
  cells: HintCell[];
}

/** Rows for all that has hints; the nodes are those that the log names. */
export function hintRows(merge: Merge): { nodes: number[]; rows: HintRow[]; best: number[] } {
  const lists: [string, Hint[]][] = [];
  for (const provider of merge.providers)
    for (const [resource, hints] of Object.entries(provider ?? {})) if (hints) lists.push([resource, hints]);
  const best = merge.best?.[0] ? membersOf(merge.best[0]) : [];
  const named = lists.flatMap(([, hints]) => hints.flatMap(([mask]) => (mask ? membersOf(mask) : [])));
  const nodes = [...new Set([...named, ...best])].sort((a, b) => a - b);
  const rows = lists.map(([resource, hints]) => ({
    resource,
    any: hints.some(([mask, preferred]) => mask === null && preferred),
    cells: nodes.map((node) => cellOf(node, hints)),
  }));
  return { nodes, rows, best };
}

function cellOf(node: number, hints: Hint[]): HintCell {
  const here = hints.filter(([mask]) => mask !== null && membersOf(mask).includes(node));
  const alone = here.filter(([mask]) => membersOf(mask!).length === 1);
  const offers = alone.length > 0 ? alone : here;
  return {
    node,
    offer: alone.length > 0 ? "alone" : here.length > 0 ? "with" : "no",
    preferred: offers.some(([, preferred]) => preferred),
  };
}

const GAP = 8;
const ROW = 22;
/** Of a letter, at most. */
const LETTER = 7.4;
const SIGNS = { alone: "✓", with: "◐", no: "✕" };
const WORDS = { alone: "fits here", with: "only with others", no: "not here" };

export function HintPicture({ merges, admitted }: { merges: Merge[]; admitted: boolean | null }) {
  return (
    <>
      {merges.map((merge, number) => (
        <Merged key={number} merge={merge} admitted={admitted} />
      ))}
    </>
  );
}

function Merged({ merge, admitted }: { merge: Merge; admitted: boolean | null }) {
  const { nodes, rows, best } = hintRows(merge);
  if (nodes.length === 0) return null;
  const height = 34 + rows.length * ROW;
  const longest = Math.max(10, ...rows.flatMap((row) => row.cells.map((cell) => lineText(row, cell).length)));
  const width = Math.ceil(longest * LETTER) + 20;
  const refused = merge.admit === false || (admitted === false && best.length === 0);
  const outcome = best.length > 0 ? `the merge ends with ${textOf(best)}` : "the merge finds no place";
  return (
    <figure class="hint-picture">
      <figcaption>
        {merge.container ? `Container ${merge.container}: ` : ""}
        {outcome}
        {refused ? ", and the policy refuses it" : ""}
      </figcaption>
      <div class="scroll">
        <svg
          width={nodes.length * (width + GAP) + 2}
          height={height + 4}
          role="img"
          aria-label={`${outcome}. ${rows.map((row) => rowText(row)).join("; ")}`}
        >
          {nodes.map((node, column) => (
            <g
              key={node}
              class={`node ${best.includes(node) ? (refused ? "refused" : "taken") : ""}`}
              transform={`translate(${column * (width + GAP) + 2} 2)`}
            >
              <rect class="tile" width={width} height={height} rx={6} />
              <text class="node-title" x={10} y={20}>
                NUMA {node}
                {best.includes(node) ? " ←" : ""}
              </text>
              {rows.map((row, line) => (
                <HintLine key={row.resource} row={row} cell={row.cells[column]!} y={34 + line * ROW + 12} />
              ))}
            </g>
          ))}
        </svg>
      </div>
    </figure>
  );
}

function HintLine({ row, cell, y }: { row: HintRow; cell: HintCell; y: number }) {
  const look = row.any ? "any" : cell.offer === "alone" ? "fits" : cell.offer === "with" ? "some" : "short";
  return (
    <text class={`hint-line ${look}`} x={10} y={y}>
      {lineText(row, cell)}
    </text>
  );
}

export function lineText(row: HintRow, cell: HintCell): string {
  const name = row.resource.replace(/^.*\//, "");
  if (row.any) return `· ${name}: anywhere`;
  return `${SIGNS[cell.offer]} ${name}: ${WORDS[cell.offer]}${cell.offer !== "no" && cell.preferred ? " ★" : ""}`;
}

function rowText({ resource, any, cells }: HintRow): string {
  const where = (offer: HintCell["offer"]) => textOf(cells.filter((cell) => cell.offer === offer).map(({ node }) => node));
  if (any) return `${resource} anywhere`;
  const parts = [where("alone") && `alone on ${where("alone")}`, where("with") && `only with others on ${where("with")}`];
  return `${resource} ${parts.filter(Boolean).join(", ") || "nowhere"}`;
}
