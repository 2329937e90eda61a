// The stream of changes: ledger and decisions as they happen, and whether the agent is there at all.

import { api } from "./api";
import type { LedgerView, Summary } from "./api_types";

export type Connection = "waiting" | "open" | "lost";

interface Listener {
  onLedger: (ledger: LedgerView) => void;
  onDecision: (decision: Summary) => void;
  /** Why the agent cannot read its node, or what is doubtful about it; empty: nothing. */
  onProblem: (problem: string) => void;
  onConnection: (connection: Connection) => void;
  /** After a gap, what was missed is asked for. */
  onReturn: () => void;
}

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5000;

/** Returns the function that ends it. The browser's own retry gives up after some errors; this one does not. */
export function follow(listener: Listener): () => void {
  let source: EventSource | null = null;
  let timer = 0;
  let pause = FIRST_PAUSE;
  let gap = false;
  const open = () => {
    source = new EventSource(api.events);
    source.addEventListener("open", () => {
      pause = FIRST_PAUSE;
      listener.onConnection("open");
      if (gap) listener.onReturn();
      gap = false;
    });
    source.addEventListener("ledger", (event) =>
      listener.onLedger(JSON.parse((event as MessageEvent<string>).data) as LedgerView),
    );
    source.addEventListener("decision", (event) =>
      listener.onDecision(JSON.parse((event as MessageEvent<string>).data) as Summary),
    );
    for (const name of ["hello", "problem"])
      source.addEventListener(name, (event) =>
        listener.onProblem((JSON.parse((event as MessageEvent<string>).data) as { problem: string }).problem),
      );
    source.addEventListener("error", () => {
      source?.close();
      gap = true;
      listener.onConnection("lost");
      window.clearTimeout(timer);
      timer = window.setTimeout(open, pause);
      pause = Math.min(LONGEST_PAUSE, pause * 1.6);
    });
  };
  open();
  return () => {
    source?.close();
    window.clearTimeout(timer);
  };
}
