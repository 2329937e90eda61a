// What lint finds, and findings of any kind as a list: how bad, where, what, and the cure.

import { useEffect, useState } from "preact/hooks";
import { api, Refusal } from "../agent/api";
import type { LintAnswer } from "../agent/ask_types";
import { plain } from "./telling";

export interface Item {
  code: string;
  severity: string;
  /** Where, in words; the line is told apart. */
  place: string;
  line: number;
  text: string;
  more: string[];
}

export function FindingList({ items, onLine }: { items: Item[]; onLine?: ((place: string, line: number) => void) | undefined }) {
  return (
    <ul class="findings">
      {items.map((item, number) => (
        <li key={number} class={item.severity}>
          <span class="severity">{item.severity}</span> <code>{item.code}</code>{" "}
          {item.line > 0 && onLine ? (
            <button type="button" class="quiet" onClick={() => onLine(item.place, item.line)}>
              {item.place && item.place !== "pods" ? `${item.place}, ` : ""}line {item.line}
            </button>
          ) : (
            <span class="place">{[item.place, item.line > 0 ? `line ${item.line}` : ""].filter(Boolean).join(", ")}</span>
          )}
          <p>{plain(item.text)}</p>
          {item.more.filter(Boolean).map((text) => (
            <p class="note" key={text}>
              {plain(text)}
            </p>
          ))}
        </li>
      ))}
    </ul>
  );
}

export function lintItems(answer: LintAnswer): Item[] {
  return answer.findings.map(({ code, severity, file, line, message, cure }) => ({
    code,
    severity,
    place: file,
    line,
    text: message,
    more: [cure && `Cure: ${cure}`],
  }));
}

/** The first line of this text that is wrong; 0: none. */
export function wrongIn(items: Item[], place: string): number {
  const found = items.filter((item) => item.line > 0 && (item.place === place || item.place.startsWith(`${place}:`)));
  return (found.find((item) => item.severity === "error") ?? found[0])?.line ?? 0;
}

const PAUSE = 600;

interface Linted {
  /** Null: nothing was asked yet, or it cannot be looked at. */
  answer: LintAnswer | null;
  trouble: string;
}

const NOTHING: Linted = { answer: null, trouble: "" };

/** After a longer pause than the decision: mistakes in what is half typed are no news. */
export function useLint(
  files: { name: string; text: string }[],
  machine: unknown,
  version: string,
  returns: number,
): Linted {
  const [linted, setLinted] = useState(NOTHING);
  const given = files.filter((file) => file.text.trim());
  const key = JSON.stringify([given, machine, version]);
  useEffect(() => setLinted(NOTHING), [key]);
  useEffect(() => {
    if (given.length === 0) return;
    const stop = new AbortController();
    const body = { files: given, ...(machine ? { machine } : {}), ...(version ? { version } : {}) };
    const timer = window.setTimeout(
      () =>
        api.lint(body, stop.signal).then(
          (answer) => setLinted({ answer, trouble: "" }),
          (failure) =>
            stop.signal.aborted ||
            setLinted({ answer: null, trouble: failure instanceof Refusal ? failure.message : "Lint did not answer." }),
        ),
      PAUSE,
    );
    return () => (window.clearTimeout(timer), stop.abort());
  }, [key, returns]);
  return linted;
}
