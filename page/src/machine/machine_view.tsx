// The first view: the machine, who sits on it and what is free, as a picture or as tables.

import { useEffect, useState } from "preact/hooks";
import type { LedgerView, MeasuredAnswer } from "../agent/api_types";
import { Distances } from "./distances";
import { Drawing } from "../drawing/drawing";
import { ExportButtons } from "../drawing/export_buttons";
import { FreeTable } from "./free_table";
import { Holders, whyNot } from "./holders";
import type { Machine } from "./machine";
import { Measured } from "./measured";
import { Past } from "./past";
import type { Place, WhatIfPlace } from "../values/place";
import { Tables } from "./tables";
import { useMachineUse } from "./use";
import { UseLines } from "./use_lines";

interface Properties {
  /** Of the machine, as a saved picture is called. */
  title: string;
  machine: Machine;
  ledger: LedgerView;
  returns: number;
  measured: MeasuredAnswer | undefined;
  place: Place;
  onPlace: (change: Partial<Place>) => void;
  /** Asks "what if". */
  onAsk: (part: Partial<WhatIfPlace>) => void;
}

export function MachineView({ title, machine, ledger, returns, measured, place, onPlace, onAsk }: Properties) {
  const [pointed, setPointed] = useState<string | null>(null);
  const [links, setLinks] = useState(false);
  const [showUse, setShowUse] = useState(true);
  const use = useMachineUse(returns);
  const [, setTick] = useState(0);
  // Ages grow even when nothing happens.
  useEffect(() => {
    const timer = window.setInterval(() => setTick((tick) => tick + 1), 10_000);
    return () => window.clearInterval(timer);
  }, []);
  const lit = pointed ?? (ledger.holders.some((holder) => holder.id === place.holder) ? place.holder : null);
  const forms = (
    <div class="switch" role="group" aria-label="Show as">
      <button type="button" aria-pressed={!place.table} onClick={() => onPlace({ table: false })}>
        Picture
      </button>
      <button type="button" aria-pressed={place.table} onClick={() => onPlace({ table: true })}>
        Tables
      </button>
    </div>
  );
  const lines = machine.links.length > 0 && (
    <button type="button" class="toggle" aria-pressed={links} onClick={() => setLinks(!links)}>
      Links
    </button>
  );
  const inUse = use?.known && (
    <button
      type="button"
      class="toggle"
      aria-pressed={showUse}
      title="Beside what is claimed, what is really in use"
      onClick={() => setShowUse(!showUse)}
    >
      Use
    </button>
  );
  return (
    <main class="machine-view" id="main" tabIndex={-1}>
      <div class="stage">
        {place.table ? (
          <>
            <Tables machine={machine} ledger={ledger} use={use} />
            <div class="tools">{forms}</div>
          </>
        ) : (
          <Drawing
            machine={machine}
            ledger={ledger}
            lit={lit}
            links={links}
            label="Picture of the machine. Tab walks through the NUMA nodes, left and right through the CPUs of one."
            use={showUse ? use : null}
            tools={[forms, lines, inUse, <ExportButtons title={title} />]}
            onLit={setPointed}
            onPick={(holder) => onPlace({ holder: holder ?? "" })}
            onNode={(node, id) => {
              const holder = ledger.holders.find((one) => one.id === id);
              if (holder) void whyNot(holder, node).then(onAsk);
            }}
          />
        )}
      </div>
      <aside class="side">
        <FreeTable ledger={ledger} machine={machine} />
        <UseLines use={use} machine={machine} />
        {measured && <Measured measured={measured} />}
        <Holders
          ledger={ledger}
          lit={lit}
          picked={place.holder}
          onLit={setPointed}
          onPick={(holder) => onPlace({ holder })}
          onAsk={onAsk}
          machine={machine}
        />
        <Past revision={ledger.revision} returns={returns} />
        <Distances machine={machine} />
      </aside>
    </main>
  );
}
