// The answer to a what-if question: asked after a pause in typing, and again when the ledger changes.

import { useEffect, useRef, useState } from "preact/hooks";
import { api, Refusal } from "../agent/api";
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
  busy: boolean;
  /** When it came. */
  at?: string;
}

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

/** Asks after a short pause, and again when the question or the ledger changes; the decision first, then the advice. */
export function useAnswer(place: WhatIfPlace, side: Side | null, revision: number, returns: number): Answer {
  const [answer, setAnswer] = useState<Answer>({ result: null, trouble: "", busy: false });
  const key = side && JSON.stringify([bodyOf(place, side), place.events]);
  const asked = useRef<string | null>(null);
  const onTop = place.machine === "" && !place.empty ? revision : 0;
  useEffect(() => {
    if (!side || !isAsked(place)) {
      setAnswer({ result: null, trouble: "", busy: false });
      return;
    }
    const stop = new AbortController();
    const question = async () => {
      const body = bodyOf(place, side);
      const events = place.events.trim() ? { events: place.events } : {};
      try {
        const result = await api.whatIf({ ...body, ...events, advice: false }, stop.signal);
        const at = new Date().toISOString();
        if (result.events || place.pods.trim() === "") {
          // What to change is asked of pods that come, not of a run.
          asked.current = key;
          setAnswer({ result, trouble: "", busy: false, at });
          return;
        }
        // The advice of the same question stays until the new one comes: it takes longer.
        setAnswer((old) => ({
          result: { ...result, advice: asked.current === key ? (old.result?.advice ?? null) : null },
          trouble: "",
          busy: true,
          at,
        }));
        asked.current = key;
        const advice = await api.advise(body, stop.signal);
        setAnswer({ result: { ...result, advice }, trouble: "", busy: false, at });
      } catch (failure) {
        if (stop.signal.aborted) return;
        const trouble = failure instanceof Refusal ? failure.message : "The answer could not be read: reload the page.";
        const { line, source } = failure instanceof Refusal ? failure : { line: 0, source: "" };
        setAnswer((old) => ({ ...old, trouble, line, source, busy: false }));
      }
    };
    setAnswer((old) => ({ ...old, busy: true }));
    const timer = window.setTimeout(() => void question(), PAUSE);
    return () => (window.clearTimeout(timer), stop.abort());
  }, [key, onTop, returns]);
  return answer;
}
