// The third view: decisions in the order of time, each with its explanation and the machine as it was then.

import { useEffect, useMemo, useState } from "preact/hooks";
import { clockText } from "../values/amounts";
import { api, Refusal } from "../agent/api";
import type { DecisionAnswer, Holder, Summary } from "../agent/api_types";
import { Drawing } from "../drawing/drawing";
import { ExportButtons } from "../drawing/export_buttons";
import { demandOf } from "../drawing/ghost";
import type { Dropped } from "../what_if/dropped";
import { Entry } from "./entry";
import { LogView } from "./log_view";
import type { Machine } from "../machine/machine";
import { Notes } from "../telling/notes";
import { liesApart } from "../telling/lying";
import { PasteLog } from "./paste_log";
import type { StoryPlace, WhatIfPlace } from "../values/place";
import { StoryAdvice } from "./story_advice";
import { toTold } from "./to_told";
import { Chapters, Verdict, verdictText } from "../telling/telling";

interface Properties {
  machine: Machine;
  latest: Summary | null;
  returns: number;
  place: StoryPlace;
  dropped: Dropped | null;
  onDropped: (dropped: Dropped | null) => void;
  onPlace: (place: StoryPlace) => void;
  /** Who is there now, and the configuration: for what is asked from here. */
  holders: Holder[];
  kubelet: string;
  onAsk: (place: WhatIfPlace, text: string, before: WhatIfPlace) => void;
}

const PAGE = 50;
/** A page left open for days must not grow without end. */
const MOST = 1000;

export function StoryView({ machine, latest, returns, place, dropped, onDropped, onPlace, ...asking }: Properties) {
  const list = useDecisions(place, latest, returns);
  const shown = place.decision ?? list.decisions[0]?.id ?? null;
  const index = list.decisions.findIndex((one) => one.id === shown);
  const step = (by: number) => {
    const next = list.decisions[index + by];
    if (next) onPlace({ ...place, decision: next.id });
  };
  // Newest first: the earlier decision stands below.
  const keys = (event: KeyboardEvent) => {
    if ((event.target as Element).matches("input, select, textarea")) return;
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (by && !event.ctrlKey && !event.metaKey) (event.preventDefault(), step(by));
  };
  if (dropped)
    return (
      <LogView
        dropped={dropped}
        returns={returns}
        onClose={() => onDropped(null)}
        onFile={(file) => onDropped({ file })}
      />
    );
  return (
    <main class="story" id="main" tabIndex={-1} onKeyDown={keys}>
      <section class="list" aria-label="Decisions">
        <form class="filter" onSubmit={(event) => event.preventDefault()}>
          <input
            type="search"
            aria-label="Filter by pod"
            placeholder="pod"
            value={place.pod}
            onInput={(event) => onPlace({ ...place, pod: event.currentTarget.value })}
          />
          <select
            aria-label="Filter by verdict"
            value={place.verdict}
            onChange={(event) => onPlace({ ...place, verdict: event.currentTarget.value })}
          >
            <option value="">all</option>
            <option value="admitted">admitted</option>
            <option value="rejected">rejected</option>
          </select>
          <label class="button">
            Kubelet log …
            <input
              class="spoken"
              type="file"
              onChange={(event) => event.currentTarget.files?.[0] && onDropped({ file: event.currentTarget.files[0] })}
            />
          </label>
          <PasteLog onFile={(file) => onDropped({ file })} />
        </form>
        {list.trouble && (
          <p class="notice trouble" role="alert">
            {list.trouble}
          </p>
        )}
        {!list.trouble && list.loaded && list.decisions.length === 0 && (
          <p class="empty">
            {place.pod || place.verdict
              ? "No decision matches: clear the filter."
              : "No decision yet: it appears here as soon as one is made."}
          </p>
        )}
        <ol onClick={toTold}>
          {list.decisions.map((one) => (
            <Entry
              key={one.id}
              pod={one.pod}
              admitted={one.admitted}
              kind={one.kind}
              alignment={one.alignment}
              note={one.kind === "release" ? "" : one.admitted ? one.sentence : one.reason}
              guess={one.guess}
              chosen={one.id === shown}
              time={clockText(one.time, Date.now())}
              exactly={one.time}
              onChoose={() => onPlace({ ...place, decision: one.id })}
            />
          ))}
        </ol>
        {list.next !== null && (
          <button type="button" class="more" onClick={list.more}>
            Earlier decisions
          </button>
        )}
      </section>
      <Chosen
        machine={machine}
        id={shown}
        returns={returns}
        follows={place.decision === null}
        onStep={step}
        onNewest={() => onPlace({ ...place, decision: null })}
        hasLater={index > 0}
        hasEarlier={index < list.decisions.length - 1}
        {...asking}
      />
    </main>
  );
}

interface ChosenProperties extends Pick<Properties, "holders" | "kubelet" | "onAsk"> {
  machine: Machine;
  id: number | null;
  returns: number;
  onStep: (by: number) => void;
  /** The newest decision is shown, whichever it is. */
  follows: boolean;
  onNewest: () => void;
  hasLater: boolean;
  hasEarlier: boolean;
}

function Chosen({ machine, id, returns, follows, onStep, onNewest, hasLater, hasEarlier, ...asking }: ChosenProperties) {
  const [answer, setAnswer] = useState<DecisionAnswer | null>(null);
  const [trouble, setTrouble] = useState("");
  const [lit, setLit] = useState<string | null>(null);
  useEffect(() => {
    if (id === null) return;
    let stale = false;
    api.decision(id).then(
      (found) => stale || (setAnswer(found), setTrouble("")),
      (failure) =>
        stale ||
        setTrouble(failure instanceof Refusal ? failure.message : "The decision could not be read: reload the page."),
    );
    return () => {
      stale = true;
    };
  }, [id, returns]);
  const demand = useMemo(
    () => (answer?.story && !answer.admitted ? demandOf(answer.story) : undefined),
    [answer],
  );
  if (trouble)
    return (
      <section class="told">
        <p class="notice trouble" role="alert">
          {trouble}
        </p>
      </section>
    );
  if (!answer || id === null) return <section class="told" />;
  const own = answer.kind === "release" ? null : answer.ledger.holders.find((one) => one.name === answer.pod);
  return (
    <section class="told" aria-label="The decision">
      <div class="row stepper">
        <button type="button" disabled={!hasEarlier} title="Earlier (down or j)" onClick={() => onStep(1)}>
          ← Earlier
        </button>
        <span class="at">
          The machine after this decision,{" "}
          <time dateTime={answer.time}>{clockText(answer.time, Date.now())}</time>
        </span>
        <button type="button" disabled={!hasLater} title="Later (up or k)" onClick={() => onStep(-1)}>
          Later →
        </button>
        <button type="button" aria-pressed={follows} title="Follow the newest decision" onClick={onNewest}>
          Newest
        </button>
      </div>
      <Verdict {...answer} alignment={own?.alignment} />
      {answer.kind === "pod" && (!answer.admitted || liesApart(own?.alignment)) && (
        <StoryAdvice decision={answer} returns={returns} {...asking} />
      )}
      <Drawing
        machine={machine}
        ledger={answer.ledger}
        lit={lit}
        onLit={setLit}
        inText
        tools={
          <ExportButtons
            title={`decision ${answer.pod}`}
            sentence={verdictText({ ...answer, alignment: own?.alignment })}
          />
        }
        demand={demand}
        label="The machine after this decision"
      />
      {answer.story && <Chapters story={answer.story} admitted={answer.admitted} />}
      <Notes notes={answer.notes} />
    </section>
  );
}

function trimmed(decisions: Summary[], next: number | null): { decisions: Summary[]; next: number | null } {
  if (decisions.length <= MOST) return { decisions, next };
  return { decisions: decisions.slice(0, MOST), next: decisions[MOST - 1]!.id };
}

function useDecisions(place: StoryPlace, latest: Summary | null, returns: number) {
  const [state, setState] = useState<{ decisions: Summary[]; next: number | null; trouble: string; loaded: boolean }>({
    decisions: [],
    next: null,
    trouble: "",
    loaded: false,
  });
  const filter = { pod: place.pod, verdict: place.verdict, limit: PAGE };
  useEffect(() => {
    let stale = false;
    const timer = window.setTimeout(
      () => {
        api.decisions(filter).then(
          ({ decisions, next }) => stale || setState({ decisions, next, trouble: "", loaded: true }),
          (failure) =>
            stale ||
            setState((old) => ({
              ...old,
              trouble: failure instanceof Refusal ? failure.message : "The list could not be read: reload the page.",
            })),
        );
      },
      state.loaded ? 150 : 0,
    );
    return () => ((stale = true), window.clearTimeout(timer));
  }, [place.pod, place.verdict, returns]);
  useEffect(() => {
    if (!latest || !latest.pod.includes(place.pod)) return;
    if (place.verdict && (latest.kind === "release" || (place.verdict === "admitted") !== latest.admitted)) return;
    setState((old) =>
      old.decisions.some((one) => one.id === latest.id)
        ? old
        : { ...old, ...trimmed([latest, ...old.decisions], old.next) },
    );
  }, [latest]);
  const more = () => {
    if (state.next === null) return;
    void api.decisions({ ...filter, before: state.next }).then(
      ({ decisions, next }) => setState((old) => ({ ...old, decisions: [...old.decisions, ...decisions], next })),
      () => undefined,
    );
  };
  return { ...state, more };
}
