// The stream of changes: ledger and decisions as they happen, and whether the agent is there at all.

import { api } from "./api";
import type { LedgerView, Summary } from "./api_types";
import type { Source, Word } from "./hub";
import { shareIn } from "./share";
import { listenTo, SILENCE } from "./stream";

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

interface Events {
  onConnection: (connection: Connection) => void;
  onReturn?: () => void;
  /** With the other tabs of this browser. Who joins them has missed the beginning, as after a gap. */
  shared?: boolean;
  /** By their names; what they bring is JSON. */
  on: Record<string, (data: unknown) => void>;
}

export function follow(listener: Listener): () => void {
  const onProblem = (data: unknown) => listener.onProblem((data as { problem: string }).problem);
  return followEvents(api.events, {
    onConnection: listener.onConnection,
    onReturn: listener.onReturn,
    shared: true,
    on: {
      ledger: (data) => listener.onLedger(data as LedgerView),
      decision: (data) => listener.onDecision(data as Summary),
      hello: onProblem,
      problem: onProblem,
    },
  });
}

/**
 * Returns the function that ends it. The browser's own retry gives up after some errors; this one does not. A page that
 * nobody sees listens to nothing.
 */
export function followEvents(address: string, events: Events): () => void {
  let source: Source | null = null;
  let timer = 0;
  let watchdog = 0;
  let pause = FIRST_PAUSE;
  let gap = false;
  const close = () => {
    source?.close();
    source = null;
    window.clearTimeout(timer);
    window.clearTimeout(watchdog);
  };
  const lost = () => {
    close();
    gap = true;
    events.onConnection("lost");
    timer = window.setTimeout(open, pause);
    pause = Math.min(LONGEST_PAUSE, pause * 1.6);
  };
  const alive = () => {
    window.clearTimeout(watchdog);
    watchdog = window.setTimeout(lost, SILENCE);
  };
  const opened = (joined: boolean) => {
    pause = FIRST_PAUSE;
    events.onConnection("open");
    if (gap || joined) events.onReturn?.();
    gap = false;
  };
  const hear = (word: Word) => {
    if (word.is === "failed") return lost();
    alive();
    if (word.is === "event") events.on[word.name]?.(JSON.parse(word.data));
    else opened(word.joined);
  };
  const open = () => {
    close();
    alive();
    source = (events.shared ? shareIn : listenTo)(address, hear);
  };
  const seen = () => {
    if (document.hidden) {
      close();
      gap = true;
    } else if (!source) {
      events.onConnection("waiting");
      pause = FIRST_PAUSE;
      open();
    }
  };
  document.addEventListener("visibilitychange", seen);
  if (!document.hidden) open();
  return () => {
    close();
    document.removeEventListener("visibilitychange", seen);
  };
}
