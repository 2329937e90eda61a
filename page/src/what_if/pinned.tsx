// A pinned answer: it says when it was given, and does not change by itself.

import { clockText } from "../values/amounts";
import type { WhatIfAnswer } from "../agent/api_types";
import type { Machine } from "../machine/machine";
import type { WhatIfPlace } from "../values/place";
import { WhatIfResult } from "./what_if_result";

export interface Pin {
  answer: WhatIfAnswer;
  machine: Machine;
  /** When it was given. */
  at: string;
  place: WhatIfPlace;
  /** Of two that stood side by side, which: it goes on being compared with that one. */
  side: "left" | "right";
}

/** How the answer of now differs from the pinned one. */
export function since(pin: WhatIfAnswer, now: WhatIfAnswer): string {
  const said = (answer: WhatIfAnswer) => answer.stories.map((one) => [one.pod, one.admitted, one.story.sentence]);
  if (JSON.stringify(said(pin)) === JSON.stringify(said(now))) return "The answer of now says the same.";
  const verdicts = (answer: WhatIfAnswer) => answer.stories.map((one) => [one.pod, one.admitted]);
  return JSON.stringify(verdicts(pin)) === JSON.stringify(verdicts(now))
    ? "The answer of now gives the same verdicts, with another place or reason."
    : "The answer of now gives another verdict.";
}

interface Properties {
  pin: Pin;
  /** To the same question; null: there is none. */
  now: WhatIfAnswer | null;
  onUnpin: () => void;
  onAskAgain: () => void;
}

export function Pinned({ pin, now, onUnpin, onAskAgain }: Properties) {
  const clock = clockText(pin.at, Date.now());
  const name = pin.place.right ? { left: "A", right: "B" }[pin.side] : "";
  return (
    <section class="answer pinned" aria-label={`Pinned answer as of ${clock}`}>
      <p class="pin-head">
        <strong>
          Pinned{name && `: ${name}`} as of <time dateTime={pin.at}>{clock}</time>
        </strong>{" "}
        <span class="note">{now ? since(pin.answer, now) : "The question of now is another one."}</span>
        <span class="actions">
          {!now && (
            <button type="button" onClick={onAskAgain}>
              Ask it again
            </button>
          )}
          <button type="button" onClick={onUnpin}>
            Unpin
          </button>
        </span>
      </p>
      <WhatIfResult name={name} answer={pin.answer} machine={pin.machine} />
    </section>
  );
}
