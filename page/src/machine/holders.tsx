// The list of holders: who has how much, in the colours of the picture; pointing at one lights it up there.

import { agoText, bytesText, plural } from "../values/amounts";
import type { Holder, LedgerView } from "../agent/api_types";
import { canGo } from "./gone";
import { liesApart, lookOf, LyingMark } from "../telling/lying";
import type { Machine } from "./machine";
import { Name } from "../telling/name";
import { textOf } from "../values/numbers";
import { holdings, resourceText } from "./occupancy";
import { slotClass, slotsOf } from "../drawing/palette";
import type { WhatIfPlace } from "../values/place";
import { dragStart } from "../drawing/pod_drag";
import { podLike, podOf } from "./try_pod";
import { WhyNotMenu } from "../telling/why_not";
import { LEFT_OVER } from "../values/words";

interface Properties {
  ledger: LedgerView;
  lit: string | null;
  picked: string;
  onLit: (holder: string | null) => void;
  onPick: (holder: string) => void;
  /** Asks "what if" about a holder. */
  onAsk: (part: Partial<WhatIfPlace>) => void;
  machine: Machine;
}

export function Holders({ ledger, lit, picked, onLit, onPick, onAsk, machine }: Properties) {
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
              {...(podLike(holder) === null || !canGo(holder) ? {} : dragStart(holder.id))}
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
                <Name text={holder.name} />
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
            {picked === holder.id && <Asking holder={holder} machine={machine} onAsk={onAsk} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Asking({ holder, machine, onAsk }: { holder: Holder; machine: Machine; onAsk: Properties["onAsk"] }) {
  const pods = podLike(holder);
  return (
    <span class="try">
      {pods !== null && (
        <button
          type="button"
          title="Ask what would come of another pod like it"
          onClick={async () => onAsk({ pods: await podOf(holder) })}
        >
          Try this pod
        </button>
      )}
      {canGo(holder) && (
        <button
          type="button"
          title="Ask what would be free without it"
          onClick={() => onAsk({ pods: "", without: [holder.id] })}
        >
          What if it were gone?
        </button>
      )}
      {pods !== null && canGo(holder) && (
        <WhyNotMenu machine={machine} of={holder.name} value={null} onNode={async (node) => onAsk(await whyNot(holder, node))} />
      )}
    </span>
  );
}

/** It leaves, and one that asks for as much comes: why does that not go to this NUMA node? */
export async function whyNot(holder: Holder, node: number | null): Promise<Partial<WhatIfPlace>> {
  return { pods: await podOf(holder), without: [holder.id], why: node };
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
