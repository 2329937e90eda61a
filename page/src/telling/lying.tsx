// How holders lie: a shape and a colour for each verdict, and how many holders have which.

import type { Alignment } from "../agent/api_types";

export type Look = "aligned" | "split" | "remote" | "shared";

/** `remote GPU`, `remote NIC` and `remote device` look alike; their words tell them apart. */
export function lookOf(verdict: string): Look {
  if (verdict.startsWith("remote")) return "remote";
  return verdict === "aligned" || verdict === "split" ? verdict : "shared";
}

export function liesApart(alignment: Alignment | null | undefined): boolean {
  const look = lookOf(alignment?.verdict ?? "");
  return look === "split" || look === "remote";
}

/** The look and word of who was admitted, and lies as he does: apart is not plain green. */
export function admittedAs(word: string, alignment: Alignment | null | undefined): { look: string; word: string } {
  if (!alignment) return { look: "admitted", word };
  return { look: liesApart(alignment) ? "admitted apart" : "admitted", word: `${word}, ${alignment.verdict}` };
}

/** A whole disc, a broken one, a triangle, a ring of dots: told apart without colour. */
const SHAPES: Record<Look, string> = {
  aligned: "M7 1a6 6 0 1 1 0 12a6 6 0 1 1 0-12z",
  split: "M5.9 1v12a6 6 0 0 1 0-12zM8.1 1v12a6 6 0 0 0 0-12z",
  remote: "M7 0.8L13.8 13H0.2z",
  shared: "M7 1.75a5.25 5.25 0 1 1 0 10.5a5.25 5.25 0 1 1 0-10.5z",
};
const SIGNS: Partial<Record<Look, string>> = { aligned: "M4 7.2l2.2 2.2L10.2 5", remote: "M7 5.2v3.6M7 10.6v.6" };

/** The shape alone, 14 by 14, for a picture that already has an `svg`. */
export function LyingShape({ look }: { look: Look }) {
  return (
    <g class={`lying ${look}`}>
      <path class="shape" d={SHAPES[look]} />
      {SIGNS[look] && <path class="sign" d={SIGNS[look]} />}
    </g>
  );
}

export function LyingMark({ verdict }: { verdict: string }) {
  return (
    <svg class="lying-mark" width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
      <LyingShape look={lookOf(verdict)} />
    </svg>
  );
}

/** `3 aligned · 1 split · 1 remote GPU`, each behind its shape; nothing where nobody is. */
export function Tally({ counts }: { counts: Record<string, number> }) {
  const all = Object.entries(counts);
  if (all.every(([, count]) => count === 0)) return null;
  return (
    <ul class="tally" aria-label="How holders lie">
      {all.map(([verdict, count]) => (
        <li key={verdict} class={count === 0 ? "none" : lookOf(verdict)}>
          <LyingMark verdict={verdict} />
          <span>
            <strong>{count}</strong> {verdict}
          </span>
        </li>
      ))}
    </ul>
  );
}
