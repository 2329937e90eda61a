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
  returns: number;
  /** Asks "what if"; with what was applied, and the question before it. */
  onAsk: (place: WhatIfPlace, text: string, before: WhatIfPlace) => void;
}

export function StoryAdvice({ decision, holders, kubelet, returns, onAsk }: Properties) {
  const [advice, setAdvice] = useState<Advice | null>(null);
  /** How often it was asked. */
  const [asked, setAsked] = useState(0);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  useEffect(() => (setAdvice(null), setTrouble(""), setBusy(false), setAsked(0)), [decision.id]);
  const there = holders.find((one) => one.name === decision.pod && !one.gone);
  const place = { ...START.whatIf, pods: decision.manifest, without: there ? [there.id] : [] };
  useEffect(() => {
    if (asked === 0) return;
    const stop = new AbortController();
    setBusy(true);
    setTrouble("");
    api
      .advise({ pods: place.pods, ...(there ? { without: place.without } : {}) }, stop.signal)
      .then(
        (found) => (setAdvice(found), setBusy(false)),
        (failure) => {
          if (stop.signal.aborted) return;
          setBusy(false);
          setTrouble(failure instanceof Refusal ? failure.message : "The answer could not be read: reload the page.");
        },
      );
    return () => stop.abort();
  }, [asked, returns]);
  if (!decision.manifest) return null;
  const apply = async (pod: string, proposal: Proposal) =>
    onAsk(await applied(place, pod, proposal, kubelet), proposal.text, place);
  const own = advice && speakerFor(advice, decision.pod)?.advised;
  return (
    <div class="story-advice">
      <p class="row">
        <button type="button" disabled={busy} onClick={() => setAsked(asked + 1)}>
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
