// The whole page: what the agent says, kept up to date, and the view that the address names.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, Refusal } from "./agent/api";
import type { LedgerView, MachineAnswer, SettingsAnswer, Summary } from "./agent/api_types";
import { dropHandlers, type Dropped, isEvents, isManifest } from "./what_if/dropped";
import { Header } from "./header";
import { Patterns } from "./drawing/legend";
import { MOST_LOG, MOST_QUESTION, tooLarge } from "./values/limits";
import { type Connection, follow } from "./agent/live";
import type { Applied } from "./telling/applied";
import { ChecksView } from "./story/checks_view";
import { machineOf } from "./machine/machine";
import { MachineView } from "./machine/machine_view";
import type { Pin } from "./what_if/pinned";
import { fragmentOf, type Place, placeOf, START } from "./values/place";
import { StoryView } from "./story/story_view";
import { WhatIfView } from "./what_if/what_if_view";

export interface Known {
  machine: MachineAnswer;
  settings: SettingsAnswer;
}

function isLater(one: LedgerView, other: LedgerView): boolean {
  return one.time === other.time ? one.revision > other.revision : one.time > other.time;
}

export function App() {
  const [known, setKnown] = useState<Known | null>(null);
  const [ledger, setLedger] = useState<LedgerView | null>(null);
  const [latest, setLatest] = useState<Summary | null>(null);
  const [trouble, setTrouble] = useState("");
  const [problem, setProblem] = useState("");
  const [connection, setConnection] = useState<Connection>("waiting");
  const [place, setPlace] = useState<Place>(() => placeOf(location.hash));
  const [dropped, setDropped] = useState<Dropped | null>(null);
  const [over, setOver] = useState(false);
  const [refused, setRefused] = useState("");
  const resting = useRef(0);
  const [pin, setPin] = useState<Pin | null>(null);
  const [done, setDone] = useState<Applied[]>([]);
  /** How often the agent was away or not listened to: what was asked before is asked again. */
  const [returns, setReturns] = useState(0);

  const load = async () => {
    try {
      const [machine, settings, now] = await Promise.all([api.machine(), api.settings(), api.ledger()]);
      setKnown((old) =>
        old && JSON.stringify(old) === JSON.stringify({ machine, settings }) ? old : { machine, settings },
      );
      // The stream may have told of a later one while these were on their way.
      setLedger((old) => (old && isLater(old, now) ? old : now));
      setTrouble("");
    } catch (failure) {
      setTrouble(
        failure instanceof Refusal ? failure.message : "The agent's answer could not be read: reload the page.",
      );
    }
  };
  useEffect(() => {
    void load();
    const end = follow({
      onLedger: setLedger,
      onDecision: setLatest,
      onProblem: setProblem,
      onConnection: setConnection,
      onReturn: () => (setReturns((number) => number + 1), void load()),
    });
    const moved = () => setPlace(placeOf(location.hash));
    window.addEventListener("hashchange", moved);
    return () => (end(), window.removeEventListener("hashchange", moved));
  }, []);

  const go = (change: Partial<Place>) => {
    // What could not be read of a link is no part of what is chosen now.
    const next = { ...place, ...change, unread: false };
    const fragment = fragmentOf(next);
    setPlace(next);
    // Another view is a step that "back" undoes; a choice within one is not, and the address waits until typing rests.
    window.clearTimeout(resting.current);
    if (change.view && change.view !== place.view) history.pushState(null, "", fragment);
    else resting.current = window.setTimeout(() => history.replaceState(null, "", fragment), 250);
  };
  const take = async (file: File) => {
    setOver(false);
    // The first lines say what it is; the rest is not read before its size is known to be one that the agent takes.
    const text = await file.slice(0, 65536).text();
    const asks = isManifest(text) || isEvents(text);
    const refusal = tooLarge(file, asks ? MOST_QUESTION : MOST_LOG);
    setRefused(refusal);
    if (refusal) return;
    if (isManifest(text)) go({ view: "what-if", whatIf: { ...place.whatIf, pods: await file.text() } });
    else if (isEvents(text)) go({ view: "what-if", whatIf: { ...place.whatIf, events: await file.text() } });
    else {
      setDropped({ file });
      go({ view: "story" });
    }
  };
  const machine = useMemo(() => known && machineOf(known.machine.machine), [known]);
  useEffect(() => {
    if (known) document.title = `${known.machine.name} · numafit`;
  }, [known]);

  return (
    <div class={`page view-${place.view}`} {...dropHandlers(setOver, (file) => void take(file))}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}
      >
        Skip to the content
      </a>
      <Patterns />
      <Header
        known={known}
        machine={machine}
        ledger={ledger}
        connection={connection}
        view={place.view}
        onView={(view) => go({ view })}
      />
      {/* Conditions are no texts: an empty one is a child by itself, and what follows would be made anew. */}
      {connection === "lost" && known && (
        <p class="notice lost" role="alert">
          The connection to the agent is lost; this is the last that it said. Trying again …
        </p>
      )}
      {refused !== "" && (
        <p class="notice trouble" role="alert">
          {refused}{" "}
          <button type="button" onClick={() => setRefused("")}>
            Close
          </button>
        </p>
      )}
      {problem !== "" && known && (
        <p class="notice doubtful" role="alert">
          {problem}
        </p>
      )}
      {place.unread && (
        <p class="notice doubtful" role="alert">
          This link could not be read as a whole; what could not be read is left away.{" "}
          <button type="button" onClick={() => go({})}>
            Close
          </button>
        </p>
      )}
      {trouble !== "" && !known && (
        <main class="blank" id="main">
          <p role="alert">{trouble}</p>
          <button type="button" onClick={() => void load()}>
            Try again
          </button>
        </main>
      )}
      {!trouble && !known && <main class="blank" id="main" aria-busy="true" />}
      {machine && ledger && known && place.view === "machine" && (
        <MachineView
          title={known.machine.name}
          machine={machine}
          ledger={ledger}
          returns={returns}
          measured={known.machine.measured}
          place={place}
          onPlace={go}
          onAsk={(part) => {
            const { left, right } = place.whatIf;
            go({ view: "what-if", whatIf: { ...START.whatIf, left, right, kubelet: place.whatIf.kubelet, ...part } });
          }}
        />
      )}
      {machine && ledger && known && place.view === "what-if" && (
        <WhatIfView
          known={known}
          machine={machine}
          revision={ledger.revision}
          holders={ledger.holders}
          returns={returns}
          place={place.whatIf}
          onPlace={(whatIf) => go({ whatIf })}
          pin={pin}
          onPin={setPin}
          done={done}
          onDone={setDone}
          onRefused={setRefused}
        />
      )}
      {machine && ledger && place.view === "story" && (
        <StoryView
          machine={machine}
          latest={latest}
          returns={returns}
          place={place.story}
          dropped={dropped}
          onDropped={(next) => {
            const refusal = next ? tooLarge(next.file, MOST_LOG) : "";
            setRefused(refusal);
            if (!refusal) setDropped(next);
          }}
          onPlace={(story) => go({ story })}
          holders={ledger.holders}
          kubelet={known?.settings.kubelet ?? ""}
          onAsk={(whatIf, text, before) => {
            setDone(text ? [{ text, before, after: whatIf }] : []);
            go({ view: "what-if", whatIf });
          }}
        />
      )}
      {ledger && known && place.view === "checks" && (
        <ChecksView known={known} revision={ledger.revision} returns={returns} onRefused={setRefused} />
      )}
      {over && (
        <div class="drop" aria-hidden="true">
          Drop a Pod manifest or events to ask “what if”, or a kubelet log to read its story
        </div>
      )}
    </div>
  );
}
