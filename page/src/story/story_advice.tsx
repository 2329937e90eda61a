// Advice in the story: what would help a pod that was refused or lies apart, asked of the machine as it is now.

import { useEffect, useState } from "preact/hooks";
import { AdviceList } from "../telling/advice";
import { api, Refusal } from "../agent/api";
import type { Advice, DecisionAnswer, Holder, Proposal } from "../agent/api_types";
import { moreNotes, speakerFor } from "../telling/advised";
import { applied } from "../telling/applied";
import { Notes } from "../telling/notes";
import { START, type WhatIfPlace } from "../values/place";

interface Properties {
  decision: DecisionAnswer;
  /** Who is there now. */
  holders: Holder[];
  kubelet: string;
  /** Asks "what if"; with what was applied, and the question before it. */
  onAsk: (place: WhatIfPlace, text: string, before: WhatIfPlace) => void;
}

export function StoryAdvice({ decision, holders, kubelet, onAsk }: Properties) {
  const [advice, setAdvice] = useState<Advice | null>(null);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  useEffect(() => (setAdvice(null), setTrouble(""), setBusy(false)), [decision.id]);
  if (!decision.manifest) return null;
  const there = holders.find((one) => one.name === decision.pod && !one.gone);
  const place = { ...START.whatIf, pods: decision.manifest, without: there ? [there.id] : [] };
  const ask = () => {
    setBusy(true);
    setTrouble("");
    api
      .advise({ pods: place.pods, ...(there ? { without: place.without } : {}) })
      .then(setAdvice, (failure) =>
        setTrouble(failure instanceof Refusal ? failure.message : "The answer could not be read: reload the page."),
      )
      .finally(() => setBusy(false));
  };
  const apply = async (pod: string, proposal: Proposal) =>
    onAsk(await applied(place, pod, proposal, kubelet), proposal.text, place);
  const own = advice && speakerFor(advice, decision.pod)?.advised;
  return (
    <div class="story-advice">
      <p class="row">
        <button type="button" disabled={busy} onClick={ask}>
          What would help?
        </button>
        <button type="button" onClick={() => onAsk(place, "", place)}>
          Try this pod
        </button>
        <span class="note">Both ask the machine as it is now.</span>
      </p>
      {trouble && (
        <p class="notice trouble" role="alert">
          {trouble}
        </p>
      )}
      {own && !own.fault && <p class="note">Nothing is to be changed: it would be placed well now.</p>}
      {advice && (
        <AdviceList
          advice={advice}
          pod={decision.pod}
          answer={{ ledger: { ...decision.ledger, holders }, kubelet }}
          place={place}
          onApply={apply}
        />
      )}
      {advice && <Notes notes={moreNotes(decision.notes ?? [], advice)} />}
    </div>
  );
}
