// The merge: what each manager hinted, what the kubelet took, what came near and why not, and how many more there were.

import { plural } from "../values/amounts";
import type { Chapter, Story, Walk } from "../agent/api_types";
import { textOf } from "../values/numbers";

interface Properties {
  chapter: Chapter;
  /** The pod. */
  admitted: boolean | null;
  /** What the policy said to this merge; null: a log does not tell. */
  accepted: boolean | null;
}

export function Merge({ chapter, admitted, accepted }: Properties) {
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
      {chapter.walk && <Steps walk={chapter.walk} best={bestText(admitted, accepted)} />}
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

const LOST: Record<string, string> = {
  "nothing-in-common": "nothing in common",
  "not-preferred": "not preferred",
  wider: "more NUMA nodes",
  "other-size": "another size: the one nearest to what the managers need is taken",
  tie: "as good; the other is nearer together or has the lower numbers",
};

/** What is not shown: `and 60 more, 12 of them with nothing in common`; empty where that is nothing. */
export function restText(walk: Walk): string {
  const more = (walk.combinations ?? 0) - walk.shown.length;
  if (more <= 0) return "";
  const apart = (walk.apart ?? 0) - walk.shown.filter((one) => one.nodes.length === 0).length;
  const seen = (walk.walked ?? 0) < (walk.combinations ?? 0) ? ` among the first ${walk.walked} combinations` : "";
  return `And ${more} more${apart > 0 ? `, ${apart === more ? "all" : apart} of them with nothing in common${seen}` : ""}.`;
}

/**
 * For each merge of a decision, what the policy said to it. One that it refuses is the last; so is one behind which
 * something else refuses the pod.
 */
export function acceptedOf(
  { chapters, cause }: Story,
  admitted: boolean | null,
  merges: Said[] = [],
): (boolean | null)[] {
  const kind = cause?.cause?.kind ?? cause?.kind;
  return chapters.map((_, number) => {
    const said = merges[number]?.admit;
    if (said !== undefined) return said;
    if (admitted || number < chapters.length - 1) return true;
    return kind === undefined ? null : kind !== "merge-refused";
  });
}

/** Of a merge in an answer or a log. */
export interface Said {
  admit: boolean | null;
}

/** What became of the combination that the merge ends with. */
export function bestText(admitted: boolean | null, accepted: boolean | null): string {
  if (accepted === false) return "← best, and yet refused";
  return admitted ? "← taken" : accepted ? "← accepted" : "← best";
}

function Steps({ walk, best }: { walk: Walk; best: string }) {
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
  const rest = restText(walk);
  return (
    <>
      <h4>
        What the merge came to <span class="count">{plural(walk.combinations, "combination")}</span>
      </h4>
      <p class="note">{dropped}★ preferred: as few NUMA nodes as this could ever need.</p>
      <div class="scroll">
        <table class="walk">
          <thead>
            <tr>
              {resources.map((name) => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ))}
              <th scope="col">in common</th>
              <th scope="col" />
            </tr>
          </thead>
          <tbody>
            {walk.shown.map((one, number) => (
              <tr key={number} class={one.best ? "best" : ""}>
                {one.picks.map((pick) => (
                  <td key={pick.resource}>
                    {pick.nodes === null ? "any" : textOf(pick.nodes)}
                    {pick.preferred ? " ★" : ""}
                  </td>
                ))}
                <td>
                  {one.nodes.length === 0 ? "–" : textOf(one.nodes)}
                  {one.preferred && one.nodes.length > 0 ? " ★" : ""}
                </td>
                <td class="lost">{one.best ? best : LOST[one.lost ?? ""]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rest && <p class="note rest">{rest}</p>}
    </>
  );
}
