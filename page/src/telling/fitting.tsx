// How many more of the pods fit: counted when it is asked for, and again when the question changes.

import { useEffect, useState } from "preact/hooks";
import { bytesText, plural } from "../values/amounts";
import { api, Refusal } from "../agent/api";
import type { WhatIfBody } from "../agent/api_types";
import type { FitAnswer } from "../agent/ask_types";
import { isBytes } from "../drawing/ghost";
import { resourceText } from "../machine/occupancy";
import { Name } from "./name";

export function Fitting({ body, revision, returns }: { body: WhatIfBody; revision: number; returns: number }) {
  const [open, setOpen] = useState(false);
  const [answer, setAnswer] = useState<FitAnswer | null>(null);
  const [trouble, setTrouble] = useState("");
  const key = JSON.stringify(body);
  useEffect(() => {
    if (!open) return;
    const stop = new AbortController();
    setTrouble("");
    api.fit(body, stop.signal).then(setAnswer, (failure) => {
      if (!stop.signal.aborted)
        setTrouble(failure instanceof Refusal ? failure.message : "The answer could not be read: reload the page.");
    });
    return () => stop.abort();
  }, [open, key, revision, returns]);
  return (
    <details class="fitting" onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>How many of these fit?</summary>
      {trouble && (
        <p class="notice trouble" role="alert">
          {trouble}
        </p>
      )}
      {open && !answer && !trouble && <p class="note">Counting …</p>}
      {open && answer && !trouble && (
        <>
          {answer.shapes?.map((shape) => (
            <p key={shape.pod}>
              <strong>
                <Name text={shape.pod} />
              </strong>
              : {fitText(shape)}
            </p>
          ))}
          {answer.stranded && answer.stranded.length > 0 && (
            <div class="scroll">
              <table class="grid">
                <thead>
                  <tr>
                    <th scope="col">{answer.full ? "left over" : "free"}</th>
                    {resourcesOf(answer).map((resource) => (
                      <th scope="col" key={resource}>
                        {resource === "cpu" ? "CPUs" : resourceText(resource)}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {answer.stranded.map(({ numa, amounts }) => (
                    <tr key={numa}>
                      <th scope="row">NUMA {numa}</th>
                      {resourcesOf(answer).map((resource) => (
                        <td key={resource}>
                          {isBytes(resource) ? bytesText(amounts[resource] ?? 0) : (amounts[resource] ?? 0)}
                        </td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </>
      )}
    </details>
  );
}

function resourcesOf(answer: FitAnswer): string[] {
  return [...new Set(answer.stranded?.flatMap(({ amounts }) => Object.keys(amounts)))].sort();
}

export function fitText(shape: NonNullable<FitAnswer["shapes"]>[number]): string {
  const { admitted, aligned, reason, message, wouldFitUnaligned, stop } = shape;
  const count = `${plural(admitted, "more pod")} ${admitted === 1 ? "fits" : "fit"}`;
  const lies = aligned === admitted ? "" : `, ${aligned} of them aligned`;
  // Counting ends somewhere: then nobody knows how many more.
  if (!stop && !reason) return admitted ? `at least ${count}${lies}.` : "not counted.";
  const next = reason ? ` The next is rejected: ${reason}${message ? `: ${message}` : ""}` : "";
  const loose = wouldFitUnaligned ? ` Were nothing to be aligned, ${wouldFitUnaligned} more would fit.` : "";
  return `${count}${lies}.${next}${next && !next.endsWith(".") ? "." : ""}${loose}`;
}
