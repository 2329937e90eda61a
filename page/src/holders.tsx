// The list of holders: who has how much, in the colours of the picture; pointing at one lights it up there.

import { agoText, bytesText, plural } from "./amounts";
import type { Holder, LedgerView } from "./api_types";
import { liesApart, lookOf, LyingMark } from "./lying";
import { textOf } from "./numbers";
import { holdings, resourceText } from "./occupancy";
import { slotClass, slotsOf } from "./palette";
import { podLike } from "./try_pod";
import { LEFT_OVER } from "./words";

interface Properties {
  ledger: LedgerView;
  lit: string | null;
  picked: string;
  onLit: (holder: string | null) => void;
  onPick: (holder: string) => void;
  onTry: (pods: string) => void;
}

export function Holders({ ledger, lit, picked, onLit, onPick, onTry }: Properties) {
  const slots = slotsOf(ledger.holders);
  const ordered = [...ledger.holders].sort(
    (a, b) =>
      Number(b.new ?? false) - Number(a.new ?? false) ||
      holdings(b).cpus - holdings(a).cpus ||
      a.name.localeCompare(b.name),
  );
  return (
    <section class="holders" aria-labelledby="holders-title">
      <h2 id="holders-title">
        Holders <span class="count">{ordered.length}</span>
      </h2>
      {ordered.length === 0 && <p class="empty">Nobody holds anything: every CPU that is not reserved is free.</p>}
      <ul>
        {ordered.map((holder) => (
          <li key={holder.id}>
            <button
              type="button"
              class={`holder ${lit === holder.id ? "lit" : ""}`}
              aria-pressed={picked === holder.id}
              onPointerEnter={() => onLit(holder.id)}
              onPointerLeave={() => onLit(null)}
              onFocus={() => onLit(holder.id)}
              onBlur={() => onLit(null)}
              onClick={() => onPick(picked === holder.id ? "" : holder.id)}
            >
              <span
                class={`swatch ${holdsAlone(holder) ? slotClass(slots.get(holder.id)) : "shared"}`}
                aria-hidden="true"
              />
              <span class="who">
                <span class="name">{holder.name}</span>
                {holder.new && <span class="label new-label">new</span>}
                {holder.gone && (
                  <span class="label" title={LEFT_OVER}>
                    left over
                  </span>
                )}
                {holder.kind === "lease" && <span class="label">lease</span>}
                <span class="what">{amountsText(holder)}</span>
                {holder.alignment && (
                  <span class={`lies ${lookOf(holder.alignment.verdict)}`} title={holder.alignment.why}>
                    <LyingMark verdict={holder.alignment.verdict} /> {holder.alignment.verdict}
                    {liesApart(holder.alignment) && <span class="why">{holder.alignment.why}</span>}
                  </span>
                )}
              </span>
              <span class="when" title={holder.since ? `since ${holder.since}` : ""}>
                {holder.new ? "" : agoText(holder.since, Date.now())}
              </span>
            </button>
            {picked === holder.id && <TryButton holder={holder} onTry={onTry} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function TryButton({ holder, onTry }: { holder: Holder; onTry: (pods: string) => void }) {
  const pods = podLike(holder);
  if (pods === null) return null;
  return (
    <button type="button" class="try" title="Ask what would come of another pod like it" onClick={() => onTry(pods)}>
      Try this pod
    </button>
  );
}

/** A holder of shared CPUs and nothing else has no colour in the picture. */
function holdsAlone(holder: Holder): boolean {
  return holder.kind !== "shared" || holder.memory.length > 0 || Object.keys(holder.devices).length > 0;
}

export function amountsText(holder: Holder): string {
  const { cpus, bytes, devices } = holdings(holder);
  return [
    cpus > 0 ? plural(cpus, "CPU") : holder.gone ? "" : "shared CPUs",
    bytes > 0 ? bytesText(bytes) : "",
    ...devices.map(([resource, count]) => `${count} ${resourceText(resource, count)}`),
    holder.nodes.length > 0 ? `NUMA\u00a0${textOf(holder.nodes)}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
