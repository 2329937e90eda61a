// The merge: what each manager hinted, the combinations that the kubelet went through, and what came of it.

import { plural } from "./amounts";
import type { Chapter, Walk } from "./api_types";
import { textOf } from "./numbers";

const FIRST_ROWS = 12;

export function Merge({ chapter, admitted }: { chapter: Chapter; admitted: boolean | null }) {
  const hints = Object.entries(chapter.hints);
  return (
    <div class="merge">
      {hints.length > 0 && (
        <>
          <h4>What each manager would accept</h4>
          <dl class="hints">
            {hints.map(([resource, text]) => (
              <div key={resource}>
                <dt>{resource}</dt>
                <dd>
                  {hintParts(text).map((part) => (
                    <HintPart key={part.text} {...part} />
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {chapter.walk && <Steps walk={chapter.walk} admitted={admitted} />}
      {chapter.outcome && <p class="outcome">{chapter.outcome}</p>}
    </div>
  );
}

/** `node 0 (preferred), nodes 0-1`: one part per hint. */
function hintParts(text: string): { text: string; preferred: boolean; node: boolean }[] {
  // Node lists hold commas too: a new hint starts at the word.
  return text.split(/, (?=nodes? |any |\d+ more)/).map((part) => ({
    text: part.replace(" (preferred)", ""),
    preferred: part.includes("(preferred)"),
    node: /^nodes? /.test(part),
  }));
}

function HintPart({ text, preferred, node }: { text: string; preferred: boolean; node: boolean }) {
  if (!node) return <span class="hint-words">{text} </span>;
  return (
    <span class={`hint ${preferred ? "preferred" : ""}`} title={preferred ? "preferred" : "possible, not preferred"}>
      {text}
      {preferred ? " ★" : ""}
    </span>
  );
}

function Steps({ walk, admitted }: { walk: Walk; admitted: boolean | null }) {
  if (walk.combinations === null) return <p class="note">The hints are too many to list one by one.</p>;
  const dropped =
    walk.filtered > 0
      ? `The policy takes preferred hints of one node only, and dropped ${plural(walk.filtered, "hint")} first. `
      : "";
  if (walk.shown.length === 0)
    return (
      <p class="note">
        {dropped}
        {walk.combinations === 0 ? "No combination is left to try." : ""}
      </p>
    );
  const resources = walk.shown[0]!.picks.map((pick) => pick.resource);
  const row = (one: Walk["shown"][number], number: number) => (
    <tr key={number} class={one.best ? "best" : ""}>
      <td>{number + 1}</td>
      {one.picks.map((pick) => (
        <td key={pick.resource}>
          {pick.nodes === null ? "any" : textOf(pick.nodes)}
          {pick.preferred ? " ★" : ""}
        </td>
      ))}
      <td>
        {one.nodes.length === 0 ? "nothing in common" : textOf(one.nodes)}
        {one.preferred && one.nodes.length > 0 ? " ★" : ""}
        {one.best ? (admitted ? " ← taken" : " ← best") : ""}
      </td>
    </tr>
  );
  const table = (rows: Walk["shown"], from: number) => (
    <div class="scroll">
      <table class="walk">
        <thead>
          <tr>
            <th scope="col">step</th>
            {resources.map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
            <th scope="col">in common</th>
          </tr>
        </thead>
        <tbody>{rows.map((one, number) => row(one, from + number))}</tbody>
      </table>
    </div>
  );
  const rest = walk.shown.slice(FIRST_ROWS);
  return (
    <>
      <h4>
        How the merge walked <span class="count">{walk.combinations}</span>
      </h4>
      <p class="note">{dropped}★ preferred: as few NUMA nodes as this could ever need.</p>
      {table(walk.shown.slice(0, FIRST_ROWS), 0)}
      {rest.length > 0 && (
        <details open={rest.some((one) => one.best)}>
          <summary>
            {walk.combinations - FIRST_ROWS} more
            {walk.combinations > walk.shown.length ? `, of which ${rest.length} are listed` : ""}
          </summary>
          {table(rest, FIRST_ROWS)}
        </details>
      )}
    </>
  );
}
