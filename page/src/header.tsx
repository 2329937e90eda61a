// The title bar: which machine this is, whether it is real, whether the page is up to date, and the way to the views.

import { HOME } from "./agent/api";
import type { LedgerView } from "./agent/api_types";
import type { Known } from "./app";
import type { Connection } from "./agent/live";
import type { Machine } from "./machine/machine";
import type { Place } from "./values/place";
import { ThemeButton } from "./theme_button";
import { machineText } from "./values/words";
import { Name } from "./telling/name";

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

const EXAMPLE = "No kubelet's settings are known here: What if asks an example";

/** The picture shows leases, which need no CPU for the system: what a question keeps back is said here. */
function keptText(reserved: string): string {
  return reserved ? ` · keeps back CPU ${reserved}` : "";
}

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
        <h1>
          <Name text={known?.machine.name ?? "numafit"} />
        </h1>
        {simulated && (
          <span class="label simulation" title="Made up by the agent: nothing here is real">
            simulation
          </span>
        )}
        {machine && known && (
          <p class="facts">
            {machineText(machine)}
            <span class={known.settings.example ? "kubelet example" : "kubelet"} title={known.settings.example ? EXAMPLE : ""}>
              {known.settings.example ? "example settings: " : ""}
              {`kubelet ${version} · ${policy} · scope ${scope}`}
              {known.settings.example && keptText(known.settings.reservedCpus)}
            </span>
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
