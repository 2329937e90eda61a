// The title bar: which machine this is, whether it is real, whether the page is up to date, and the way to the views.

import { HOME } from "./api";
import type { LedgerView } from "./api_types";
import type { Known } from "./app";
import type { Connection } from "./live";
import type { Machine } from "./machine";
import type { Place } from "./place";
import { ThemeButton } from "./theme_button";
import { machineText } from "./words";

interface Properties {
  known: Known | null;
  machine: Machine | null;
  ledger: LedgerView | null;
  connection: Connection;
  view: Place["view"];
  onView: (view: Place["view"]) => void;
}

const VIEWS: [Place["view"], string][] = [
  ["machine", "Machine"],
  ["what-if", "What if"],
  ["story", "Story"],
  ["checks", "Checks"],
];
const CONNECTIONS = { waiting: "connecting", open: "live", lost: "not connected" };

export function Header({ known, machine, ledger, connection, view, onView }: Properties) {
  const simulated = known?.machine.source === "demo" || ledger?.simulation;
  const { version, policy, scope } = known?.settings ?? {};
  return (
    <header class="bar">
      {HOME && (
        <a class="back" href="/">
          ← Fleet
        </a>
      )}
      <div class="title">
        <h1>{known?.machine.name ?? "numafit"}</h1>
        {simulated && (
          <span class="label simulation" title="Made up by the agent: nothing here is real">
            simulation
          </span>
        )}
        {machine && known && (
          <p class="facts">
            {machineText(machine)}
            {known.machine.source !== "live" && (
              <span class="kubelet">{`kubelet ${version} · ${policy} · scope ${scope}`}</span>
            )}
          </p>
        )}
      </div>
      <nav aria-label="Views">
        {VIEWS.map(([name, text]) => (
          <a
            key={name}
            href={`#${name}`}
            aria-current={view === name ? "page" : undefined}
            onClick={(event) => (event.preventDefault(), onView(name))}
          >
            {text}
          </a>
        ))}
      </nav>
      <span class={`connection ${connection}`} role="status">
        {CONNECTIONS[connection]}
      </span>
      <ThemeButton />
    </header>
  );
}
