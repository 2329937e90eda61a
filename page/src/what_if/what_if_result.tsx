// An answer: the verdicts, the machine as it would be, the grid and the merge of one pod, and what to change.

import { useMemo, useState } from "preact/hooks";
import { plural } from "../values/amounts";
import type { Proposal, WhatIfAnswer } from "../agent/api_types";
import type { ComponentChildren } from "preact";
import { AdviceList } from "../telling/advice";
import { moreNotes } from "../telling/advised";
import { Drawing } from "../drawing/drawing";
import { ExportButtons } from "../drawing/export_buttons";
import { demandOf } from "../drawing/ghost";
import { GuessMark, restsOnGuess } from "../telling/guess";
import { admittedAs, LyingMark } from "../telling/lying";
import type { Machine } from "../machine/machine";
import { Notes } from "../telling/notes";
import type { WhatIfPlace } from "../values/place";
import { dragStart } from "../drawing/pod_drag";
import { outcomeOf, RunStory } from "../telling/run_story";
import { Chapters, Verdict, verdictText } from "../telling/telling";
import { WhyNotMenu } from "../telling/why_not";
import { Name } from "../telling/name";

/** Which decision is told until one is chosen: the first that goes wrong is the interesting one. */
function firstTold(admitted: boolean[]): number {
  return Math.max(
    0,
    admitted.findIndex((one) => !one),
  );
}

interface Properties {
  name: string;
  answer: WhatIfAnswer;
  machine: Machine;
  /** The question; null: the answer is kept as it was, and nothing more is asked. */
  place?: WhatIfPlace | null;
  onWhy?: ((node: number | null) => void) | undefined;
  onApply?: ((pod: string, proposal: Proposal, kubelet: string) => Promise<void>) | undefined;
  /** Why nobody said what would help; empty: somebody did, or will. */
  unhelped?: string | undefined;
  /** Who is taken to be gone, by name. */
  without?: string[];
  /** What else is asked about a pod, and about all of them. */
  more?: ((pod: string) => ComponentChildren) | undefined;
}

export function WhatIfResult({ name, answer, machine, place = null, onWhy, onApply, ...rest }: Properties) {
  const { unhelped = "", without = [], more } = rest;
  const [lit, setLit] = useState<string | null>(null);
  /** The pod, or in a run with events the number of the decision: there a pod is decided more than once. */
  const [chosen, setChosen] = useState<string | number | null>(null);
  const { stories, settings, notes, events } = answer;
  const first = firstTold(stories.map((story) => story.admitted));
  const found = typeof chosen === "number" ? chosen : stories.findIndex((story) => story.pod === chosen);
  const number = found >= 0 && found < stories.length ? found : first;
  const told = stories[number];
  const decision = answer.decisions[number];
  const demand = useMemo(
    () => (told && !told.admitted && !events ? demandOf(told.story) : undefined),
    [told, events],
  );
  const admitted = stories.filter((story) => story.admitted).length;
  return (
    <>
      <p class="resolved">
        {name && <strong class="side-name">{name}</strong>}
        {stories.length > 0 ? (
          <span class={admitted === stories.length ? "all" : "some"}>
            {events && `${plural(events.length, "event")}, `}
            {admitted} of {events ? plural(stories.length, "decision") : stories.length} admitted
          </span>
        ) : (
          <span>What would be free without {without.join(" and ") || "them"}</span>
        )}
        <span class="with">{[settings.version, settings.policy, `scope ${settings.scope}`].join(" · ")}</span>
      </p>
      {told && (
        <Verdict
          pod={told.pod}
          admitted={told.admitted}
          reason={told.reason}
          sentence={told.story.sentence}
          message={told.message}
          guess={restsOnGuess(told.pod, notes)}
          word={events && decision ? outcomeOf(decision) : undefined}
          alignment={told.alignment}
        />
      )}
      {told && onWhy && !events && (
        <p class="row why-row">
          <button
            type="button"
            class="drag-pod"
            title="Drag onto a NUMA node of the picture to ask why not there"
            {...dragStart(told.pod)}
            onClick={(event) => (event.currentTarget.nextElementSibling as HTMLElement | null)?.focus()}
          >
            <span aria-hidden="true">⠿</span> <Name text={told.pod} />
          </button>
          <WhyNotMenu machine={machine} of={told.pod} value={place?.why ?? null} onNode={onWhy} />
        </p>
      )}
      {told && more?.(told.pod)}
      {events && (
        <RunStory
          events={events}
          chosen={number}
          guessed={(pod) => restsOnGuess(pod, notes)}
          alignments={stories.map((story) => story.alignment)}
          onChoose={setChosen}
        />
      )}
      {!events && stories.length > 1 && (
        <ul class="pod-tabs" aria-label="Pods">
          {stories.map((story) => (
            <li key={story.pod}>
              <button
                type="button"
                aria-pressed={story === told}
                class={story.admitted ? admittedAs("", story.alignment).look : "rejected"}
                onClick={() => setChosen(story.pod)}
              >
                <span class="sign" aria-hidden="true">
                  {story.admitted && story.alignment ? (
                    <LyingMark verdict={story.alignment.verdict} />
                  ) : story.admitted ? (
                    "✓"
                  ) : (
                    "✕"
                  )}
                </span>{" "}
                <Name text={story.pod} />
                {restsOnGuess(story.pod, notes) && <GuessMark />}
                <span class="spoken">
                  {story.admitted ? admittedAs("admitted", story.alignment).word : "rejected"}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <Drawing
        machine={machine}
        ledger={answer.ledger}
        lit={lit}
        onLit={setLit}
        inText
        tools={
          <ExportButtons
            title={["what-if", told?.pod ?? machine.name, name].filter(Boolean).join(" ")}
            sentence={
              told && verdictText({ ...told, sentence: told.story.sentence })
            }
          />
        }
        before={answer.before}
        onNode={onWhy && ((node) => onWhy(node))}
        demand={demand}
        label={`The machine as it would be${name ? `, answer ${name}` : ""}`}
      />
      {told && <Chapters story={told.story} admitted={told.admitted} merges={decision?.merges} />}
      <Notes notes={[...notes, ...moreNotes(notes, answer.advice)]} />
      {told && unhelped !== "" && (
        <section class="advice" aria-label="What would help">
          <h3>What would help</h3>
          <p class="notice trouble" role="alert">
            {unhelped}
          </p>
        </section>
      )}
      {told && answer.advice && (
        <AdviceList
          advice={answer.advice}
          pod={told.pod}
          answer={answer}
          place={place}
          onApply={onApply && ((pod, proposal) => onApply(pod, proposal, answer.kubelet))}
        />
      )}
    </>
  );
}
