// The story of a run: each event in its order, with the decisions that it caused and what else came of it.

import type { Alignment, RunEvent, SimulatedPod } from "../agent/api_types";
import { GuessMark } from "./guess";
import { admittedAs, LyingMark } from "./lying";
import { Name } from "./name";

interface Properties {
  events: RunEvent[];
  /** The decision that is told, by its place among all. */
  chosen: number;
  /** A guess about the machine matters to the pod. */
  guessed: (pod: string) => boolean;
  /** By their place among all: how each admitted pod came to lie. */
  alignments: (Alignment | undefined)[];
  onChoose: (decision: number) => void;
}

export function RunStory({ events, chosen, guessed, alignments, onChoose }: Properties) {
  let first = 0;
  return (
    <section class="run" aria-label="Story">
      <h2>Story</h2>
      <ol>
        {events.map((event, number) => {
          const from = first;
          first += event.decisions.length;
          return (
            <li key={number}>
              <code class="event">{event.event}</code>
              {event.decisions.length > 0 && (
                <ul class="pod-tabs">
                  {event.decisions.map((decision, index) => (
                    <Choice
                      key={index}
                      decision={decision}
                      guess={guessed(decision.pod)}
                      alignment={alignments[from + index]}
                      pressed={from + index === chosen}
                      onChoose={() => onChoose(from + index)}
                    />
                  ))}
                </ul>
              )}
              {event.effects?.map((effect, index) => (
                <p key={index} class={`effect ${effect.kind}`}>
                  <strong>
                    <Name text={effect.pod} />
                  </strong>{" "}
                  {effect.text}
                </p>
              ))}
              {event.noEffect && <p class="effect">No effect: {event.noEffect}</p>}
              {event.crash && (
                <p class="effect crash">
                  <strong>{event.decisions.some((one) => one.panic) ? "The kubelet crashes:" : "The kubelet does not start:"}</strong>{" "}
                  {event.crash}
                </p>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

interface ChoiceProperties {
  decision: SimulatedPod;
  guess: boolean;
  alignment: Alignment | undefined;
  pressed: boolean;
  onChoose: () => void;
}

function Choice({ decision, guess, alignment, pressed, onChoose }: ChoiceProperties) {
  const { look, word } = choiceOf(decision, alignment);
  return (
    <li>
      <button
        type="button"
        aria-pressed={pressed}
        class={look}
        onClick={onChoose}
      >
        <span class="sign" aria-hidden="true">
          {decision.admitted && alignment ? <LyingMark verdict={alignment.verdict} /> : decision.admitted ? "✓" : "✕"}
        </span>{" "}
        <Name text={decision.pod} />
        {guess && <GuessMark />} <span class="outcome">{word}</span>
      </button>
    </li>
  );
}

export function choiceOf(decision: SimulatedPod, alignment: Alignment | undefined): { look: string; word: string } {
  const word = outcomeOf(decision);
  return decision.admitted ? admittedAs(word, alignment) : { look: "rejected", word };
}

/** What came of it, in a word or two. */
export function outcomeOf({ event, admitted, panic, reason, resize }: SimulatedPod): string {
  if (panic) return "crash";
  if (event === "evict") return "evicted";
  if (event === "resize") return `resize ${resize ?? ""}`.trim();
  if (admitted) return event === "restart" ? "admitted again" : "admitted";
  return reason ?? "rejected";
}
