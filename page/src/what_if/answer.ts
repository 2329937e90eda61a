// The answer to a what-if question: asked after a pause in typing, and again when the ledger changes.

import { useEffect, useRef, useState } from "preact/hooks";
import { api, Refusal } from "../agent/api";
import { inTurn, type Turn } from "../agent/turns";
import type { ToldPod, WhatIfAnswer, WhatIfBody } from "../agent/api_types";
import { type Machine, machineOf } from "../machine/machine";
import { isAsked, type Side, type WhatIfPlace } from "../values/place";

const PAUSE = 200;

export interface Answer {
  result: WhatIfAnswer | null;
  trouble: string;
  /** The text (pods, events, kubelet) and the line of it that is wrong; 0: none, or not known. */
  source?: string;
  line?: number;
  /** Why nobody said what would help; empty: somebody did, or will. */
  unhelped?: string;
  busy: boolean;
  /** When it came. */
  at?: string;
}

const NOTHING: Answer = { result: null, trouble: "", busy: false };

/** The line of a text that is wrong; 0: none. */
export function wrongLine(answer: Answer, source: string): number {
  return answer.trouble && answer.source === source ? (answer.line ?? 0) : 0;
}

/** What is sent of a question. */
export function bodyOf(place: WhatIfPlace, { settings, version }: Side): WhatIfBody {
  return {
    pods: place.pods,
    ...(place.machine ? { machine: place.machine } : {}),
    ...(place.kubelet.trim() ? { kubelet: place.kubelet } : {}),
    ...(place.empty ? { empty: true } : {}),
    ...(place.without.length > 0 && !place.machine && !place.empty ? { without: place.without } : {}),
    ...(Object.keys(settings).length > 0 ? { settings } : {}),
    ...(version ? { version } : {}),
  };
}

/** How two answers to the same pods differ, in one sentence. */
export function difference(left: WhatIfAnswer, right: WhatIfAnswer): string {
  const byPod = new Map(right.stories.map((story) => [story.pod, story]));
  // In a run with events a pod is decided more than once, and each time in its turn.
  const other = ({ pod }: ToldPod, index: number) => (left.events ? right.stories[index] : byPod.get(pod));
  const verdicts = left.stories.filter((story, index) => other(story, index)?.admitted !== story.admitted);
  if (verdicts.length > 0) return `A and B differ in the verdict on ${names(verdicts)}.`;
  const words = left.stories.filter((story, index) => other(story, index)?.story.sentence !== story.story.sentence);
  return words.length > 0
    ? `A and B give the same verdicts; the placement or the reason differs for ${names(words)}.`
    : "A and B decide the same.";
}

function names(stories: ToldPod[]): string {
  return [...new Set(stories.map((story) => story.pod))].join(", ");
}

/** A machine of the catalogue; null for this one. After a return it is asked for again. */
export function useOther(name: string, returns: number): Machine | null {
  const [other, setOther] = useState<Machine | null>(null);
  useEffect(() => setOther(null), [name]);
  useEffect(() => {
    let stale = false;
    if (name)
      api.catalogue(name).then(
        (answer) => !stale && setOther(machineOf(answer.machine)),
        () => undefined,
      );
    return () => {
      stale = true;
    };
  }, [name, returns]);
  return other;
}

/**
 * Asks after a short pause, and again when the ledger changes; the decision first, then the advice. Another question
 * stops what is under way, another ledger does not: where it changes often, no advice would ever come.
 */
export function useAnswer(place: WhatIfPlace, side: Side | null, revision: number, returns: number): Answer {
  const [answer, setAnswer] = useState(NOTHING);
  const key = side && isAsked(place) ? JSON.stringify([bodyOf(place, side), place.events]) : null;
  const asked = useRef<string | null>(null);
  const turn = useRef<Turn | null>(null);
  const onTop = place.machine === "" && !place.empty ? revision : 0;
  useEffect(() => {
    if (!side || key === null) {
      setAnswer(NOTHING);
      return;
    }
    const stop = new AbortController();
    const body = bodyOf(place, side);
    const events = place.events.trim() ? { events: place.events } : {};
    const decide = inTurn(async () => {
      try {
        const result = await api.whatIf({ ...body, ...events, advice: false }, stop.signal);
        const at = new Date().toISOString();
        // What to change is asked of pods that come, not of a run.
        const helps = !result.events && place.pods.trim() !== "";
        // The advice of the same question stays until the new one comes: it takes longer.
        const same = helps && asked.current === key;
        asked.current = key;
        setAnswer(({ result: old, unhelped = "" }) => ({
          result: { ...result, advice: same ? (old?.advice ?? null) : null },
          trouble: "",
          unhelped: same ? unhelped : "",
          busy: helps,
          at,
        }));
        if (helps) advise.ask();
      } catch (failure) {
        if (stop.signal.aborted) return;
        const { line, source } = failure instanceof Refusal ? failure : { line: 0, source: "" };
        setAnswer((old) => ({ ...old, trouble: troubleOf(failure), line, source, busy: false }));
      }
    }, PAUSE);
    const advise = inTurn(async () => {
      // The decision stands without it, too.
      const [advice, unhelped] = await api.advise(body, stop.signal).then(
        (found) => [found, ""] as const,
        (failure) => [null, troubleOf(failure)] as const,
      );
      if (!stop.signal.aborted)
        setAnswer((old) => ({ ...old, result: old.result && { ...old.result, advice }, unhelped, busy: false }));
    });
    setAnswer((old) => ({ ...old, busy: true }));
    decide.ask();
    turn.current = decide;
    return () => (decide.end(), advise.end(), stop.abort(), (turn.current = null));
  }, [key, returns]);
  useEffect(() => turn.current?.ask(), [onTop]);
  return answer;
}

function troubleOf(failure: unknown): string {
  return failure instanceof Refusal ? failure.message : "The answer could not be read: reload the page.";
}
