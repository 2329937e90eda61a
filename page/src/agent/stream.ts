// A stream of server-sent events, on a connection of its own.

import type { Source, Word } from "./hub";

/** The agent says something every few seconds; after so long without a word the picture is not live. */
export const SILENCE = 10_000;
const NAMES = ["hello", "problem", "ledger", "decision", "alive", "whole", "fleet"];

export function listenTo(address: string, hear: (word: Word) => void): Source {
  const source = new EventSource(address);
  source.addEventListener("open", () => hear({ is: "open", joined: false }));
  source.addEventListener("error", () => hear({ is: "failed" }));
  for (const name of NAMES)
    source.addEventListener(name, (event) =>
      hear({ is: "event", name, data: (event as MessageEvent<string>).data }),
    );
  return source;
}
