// What to change: the engine's proposals for one pod, the least disturbing first; each can be tried at once, or copied.

import { useState } from "preact/hooks";
import { Refusal } from "../agent/api";
import type { Advice, Proposal, WhatIfAnswer } from "../agent/api_types";
import { cutText, speakerFor } from "./advised";
import { canApply, copies } from "./applied";
import type { WhatIfPlace } from "../values/place";

export interface AdviceProperties {
  advice: Advice;
  pod: string;
  answer: Pick<WhatIfAnswer, "ledger" | "kubelet">;
  /** The question that the advice is for; null: nothing can be applied, as in a pinned answer. */
  place: WhatIfPlace | null;
  /** With the pod that the proposal is for: of several that are alike one speaks for all. */
  onApply?: ((pod: string, proposal: Proposal) => Promise<void>) | undefined;
}

export function AdviceList({ advice, pod, answer, place, onApply }: AdviceProperties) {
  const speaking = speakerFor(advice, pod);
  const cut = cutText(advice, pod);
  const own = speaking?.advised;
  if (!cut && (!own || (!own.fault && own.proposals.length === 0))) return null;
  return (
    <section class="advice" aria-label="What would help">
      <h3>What would help</h3>
      {speaking?.text && <p class="note">{speaking.text}</p>}
      {own?.fault && !own.fault.startsWith("rejected") && <p class="note">{own.fault}</p>}
      {cut && <p class="note cut">{cut}</p>}
      {own && !cut && own.proposals.length === 0 && (
        <p class="empty">No single change makes this pod fit: it needs another machine, or less of everything.</p>
      )}
      <ol>
        {own?.proposals.map((proposal, number) => (
          <li key={number}>
            <span class="proposal">{proposal.text}</span>
            {!proposal.aligned && <span class="label">admitted, not aligned</span>}
            {proposal.removes.length > 0 && <span class="label">removes {proposal.removes.join(", ")}</span>}
            {proposal.rejects.length > 0 && <span class="label warn">rejects {proposal.rejects.join(", ")}</span>}
            {place && <Ways proposal={proposal} pod={own.pod} answer={answer} place={place} onApply={onApply} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

type WaysProperties = Omit<AdviceProperties, "advice" | "place"> & { proposal: Proposal; place: WhatIfPlace };

function Ways({ proposal, pod, answer, place, onApply }: WaysProperties) {
  const [said, setSaid] = useState("");
  /** What could not be put on the clipboard is shown, to be copied by hand. */
  const [shown, setShown] = useState("");
  const failed = (failure: unknown) =>
    setSaid(failure instanceof Refusal ? failure.message : "The answer could not be read: reload the page.");
  const copy = async (part: "yaml" | "kubectl") => {
    try {
      const text = (await copies(place, pod, proposal, answer.kubelet))[part];
      try {
        await navigator.clipboard.writeText(text);
        setSaid("Copied");
        window.setTimeout(() => setSaid(""), 2000);
      } catch {
        // Browsers give the clipboard only to pages of this machine or of https.
        setShown(text);
      }
    } catch (failure) {
      failed(failure);
    }
  };
  const removes = !proposal.patches && proposal.removes.length > 0;
  return (
    <span class="ways">
      {onApply && canApply(proposal, answer) && (
        <button type="button" onClick={() => onApply(pod, proposal).catch(failed)}>
          Apply
        </button>
      )}
      {proposal.patches && (
        <button type="button" onClick={() => void copy("yaml")}>
          Copy YAML
        </button>
      )}
      {(proposal.patches === "manifest" || removes) && (
        <button type="button" onClick={() => void copy("kubectl")}>
          {removes ? "Copy kubectl delete" : "Copy kubectl patch"}
        </button>
      )}
      {!proposal.patches && !removes && (
        <span class="note">For the pod's owner to write: it is no change of this pod alone.</span>
      )}
      <span role="status" class="note">
        {said}
      </span>
      {shown && <pre>{shown}</pre>}
    </span>
  );
}
