// The second view: a question on the left, and at once what the kubelet would answer, with one setting or two.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Answer, bodyOf, difference, useAnswer, useOther, wrongLine } from "./answer";
import { api, Refusal } from "../agent/api";
import type { Example, Holder, Proposal } from "../agent/api_types";
import type { Known } from "../app";
import { type Applied, applied, stands, undone, written } from "../telling/applied";
import { choose, Editor } from "./editor";
import { FindingList, lintItems, useLint } from "../telling/findings";
import { Fitting } from "../telling/fitting";
import { Gone } from "../machine/gone";
import { MOST_QUESTION, tooLarge } from "../values/limits";
import type { Machine } from "../machine/machine";
import { type Pin, Pinned } from "./pinned";
import { isAsked, SIDE, type WhatIfPlace } from "../values/place";
import { PodForm } from "./pod_form";
import { SettingsForm } from "./settings_form";
import { hasComments, shapeOf, yamlOf } from "./shape";
import { WhatIfResult } from "./what_if_result";
import { WhyNot } from "../telling/why_not";

interface Properties {
  known: Known;
  machine: Machine;
  /** Of the ledger: a new one means a new answer. */
  revision: number;
  holders: Holder[];
  returns: number;
  place: WhatIfPlace;
  onPlace: (place: WhatIfPlace) => void;
  /** An answer that is kept; null: none. */
  pin: Pin | null;
  onPin: (pin: Pin | null) => void;
  /** The advice that was applied, the newest last. */
  done: Applied[];
  onDone: (done: Applied[]) => void;
  /** A file that is too large, in one sentence; empty: it is not. */
  onRefused: (sentence: string) => void;
}

export function WhatIfView(properties: Properties) {
  const { known, machine, revision, holders, returns, place, onPlace, pin, onPin, done, onDone, onRefused } = properties;
  const [examples, setExamples] = useState<Example[]>([]);
  const [copied, setCopied] = useState("");
  const file = useRef<HTMLInputElement>(null);
  useEffect(() => {
    api.examples().then(setExamples, () => setExamples([]));
  }, [returns]);
  const other = useOther(place.machine, returns);
  const drawn = place.machine ? other : machine;
  const resources = [...new Set(drawn?.devices.filter((one) => one.healthy && one.resource).map((one) => one.resource))];
  const left = useAnswer(place, place.left, revision, returns);
  const right = useAnswer(place, place.right, revision, returns);
  const change = (part: Partial<WhatIfPlace>) => onPlace({ ...place, ...part });
  // What cannot be read at all is told by the answer itself.
  const { answer: lint } = useLint(
    [
      { name: "pods", text: place.pods },
      { name: "kubelet", text: place.kubelet },
    ],
    place.machine || known.machine.machine,
    place.left.version || known.settings.version,
    returns,
  );
  const now = useRef(place);
  now.current = place;
  const apply = async (pod: string, proposal: Proposal, kubelet: string) => {
    const after = written(place, await applied(place, pod, proposal, kubelet), now.current);
    if (!after) throw new Refusal("The question was changed meanwhile: nothing was applied.");
    onDone([...done, { text: proposal.text, before: now.current, after }]);
    onPlace(after);
  };
  const last = done.at(-1);
  const undo = (what: Applied) => {
    onPlace(undone(what, place));
    onDone(done.slice(0, -1));
  };
  const pinned = (answer: Answer, side: Pin["side"]) =>
    answer.result && drawn && onPin({ answer: answer.result, machine: drawn, at: answer.at ?? "", place, side });
  const body = bodyOf(place, place.left);
  const asks = place.pods.trim() !== "" && !place.events.trim();
  const more = (pod: string) =>
    asks && (
      <>
        {place.why !== null && (
          <WhyNot
            body={body}
            pod={pod}
            node={place.why}
            revision={revision}
            returns={returns}
            onClose={() => change({ why: null })}
          />
        )}
        <Fitting body={body} revision={revision} returns={returns} />
      </>
    );
  const kept = (own: Pin | null, now: Answer["result"]) =>
    own && <Pinned pin={own} now={now} onUnpin={() => onPin(null)} onAskAgain={() => onPlace(own.place)} />;
  const sameQuestion = pin && asked(pin.place) === asked(place);
  const open = async (chosen: File) => {
    const refusal = tooLarge(chosen, MOST_QUESTION);
    onRefused(refusal);
    if (!refusal) change({ pods: await chosen.text() });
  };
  const pick = (name: string) => {
    const example = examples.find((one) => one.name === name);
    if (example)
      change({
        pods: example.pods,
        machine: example.machine === known.machine.name ? "" : (example.machine ?? ""),
        kubelet: example.kubelet ?? "",
        events: "",
        empty: false,
      });
  };
  const copy = async () => {
    // The address follows typing with a small delay.
    await new Promise((done) => window.setTimeout(done, 300));
    try {
      await navigator.clipboard.writeText(location.href);
      setCopied("Copied");
    } catch {
      // Browsers give the clipboard only to pages of this machine or of https.
      setCopied("Copy it from the address bar");
    }
    window.setTimeout(() => setCopied(""), 2000);
  };
  return (
    <main class={`what-if ${place.right || pin ? "two" : ""}`} id="main" tabIndex={-1}>
      <form class="question" onSubmit={(event) => event.preventDefault()}>
        <div class="field pods">
          <label for="pods">Pods</label>
          <span class="actions">
            <select aria-label="Pick an example" value="" onChange={(event) => pick(event.currentTarget.value)}>
              <option value="">Example …</option>
              {examples.map((example) => (
                <option key={example.name} value={example.name}>
                  {example.title}
                </option>
              ))}
            </select>
            <button type="button" onClick={() => file.current?.click()}>
              Open …
            </button>
            <input
              ref={file}
              class="spoken"
              type="file"
              tabIndex={-1}
              aria-hidden="true"
              onChange={(event) => event.currentTarget.files?.[0] && void open(event.currentTarget.files[0])}
            />
          </span>
          <PodForm
            shape={shapeOf(place.pods)}
            comments={hasComments(place.pods)}
            blank={place.pods.trim() === ""}
            resources={resources}
            onShape={(shape) => change({ pods: yamlOf(shape) })}
          />
          <Editor
            id="pods"
            rows={14}
            placeholder="Paste or drop a Pod manifest here"
            value={place.pods}
            wrong={wrongLine(left, "pods")}
            onText={(pods) => change({ pods })}
          />
          {last && stands(last, place) && (
            <p class="done">
              Applied: {last.text}{" "}
              <button type="button" onClick={() => undo(last)}>
                Undo
              </button>
            </p>
          )}
          {lint && lint.findings.length > 0 && (
            <details class="lint" open={lint.findings.some((one) => one.severity === "error")}>
              <summary>Lint: {lint.findings.length}</summary>
              <FindingList items={lintItems(lint)} onLine={(file, line) => toLine(file, line)} />
            </details>
          )}
        </div>
        <div class="field">
          <label for="on">Machine</label>
          <select id="on" value={place.machine} onChange={(event) => change({ machine: event.currentTarget.value })}>
            <option value="">this one: {known.machine.name}</option>
            {known.machine.catalogue.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}: {one.title}
              </option>
            ))}
          </select>
        </div>
        {!place.machine && (
          <label class="check">
            <input
              type="checkbox"
              checked={place.empty}
              onChange={(event) => change({ empty: event.currentTarget.checked })}
            />{" "}
            as if it were idle
          </label>
        )}
        {!place.machine && !place.empty && (
          <Gone holders={holders} without={place.without} onWithout={(without) => change({ without })} />
        )}
        <SettingsForm
          id="left"
          title={place.right ? "Kubelet A" : "Kubelet"}
          settings={known.settings}
          side={place.left}
          onSide={(side) => change({ left: side })}
        />
        {place.right && (
          <SettingsForm
            id="right"
            title="Kubelet B"
            settings={known.settings}
            side={place.right}
            onSide={(side) => change({ right: side })}
          />
        )}
        <div class="row">
          <button
            type="button"
            class="toggle"
            aria-pressed={place.right !== null}
            onClick={() => change({ right: place.right ? null : { ...SIDE, ...place.left } })}
          >
            Two side by side
          </button>
          <button type="button" onClick={() => void copy()}>
            {copied || "Copy link"}
          </button>
        </div>
        <details open={place.events !== ""}>
          <summary>Events</summary>
          <p class="note">What happens to the node, one event a line; pods that no line adds come first.</p>
          <Editor
            id="events"
            label="Events"
            rows={8}
            placeholder={"add train\nstop\nadd next\nstart reboot plugins=late"}
            value={place.events}
            wrong={wrongLine(left, "events")}
            onText={(events) => change({ events })}
          />
        </details>
        <details open={place.kubelet !== ""}>
          <summary>KubeletConfiguration</summary>
          <p class="note">Empty: that of the node shown. The choices above are laid over it.</p>
          <Editor
            id="kubelet"
            label="KubeletConfiguration"
            rows={8}
            placeholder={known.settings.kubelet}
            value={place.kubelet}
            wrong={wrongLine(left, "kubelet")}
            onText={(kubelet) => change({ kubelet })}
          />
        </details>
      </form>
      {!isAsked(place) ? (
        <div class="answers">
          {kept(pin, null)}
          <div class="blank">
            <p>
              Paste a Pod manifest, drop a file, or pick an example: the answer comes at once, and nothing is taken.
            </p>
            <p class="choices">
              {examples.slice(0, 6).map((example) => (
                <button type="button" key={example.name} onClick={() => pick(example.name)}>
                  {example.title}
                </button>
              ))}
            </p>
          </div>
        </div>
      ) : (
        <div class="answers">
          {left.result && right.result && <p class="difference">{difference(left.result, right.result)}</p>}
          <Side name={place.right ? "A" : ""} answer={left} machine={drawn} onPin={() => pinned(left, "left")}>
            {(result, drawnNow) => (
              <WhatIfResult
                name={place.right ? "A" : ""}
                answer={result}
                machine={drawnNow}
                place={place}
                onWhy={asks ? (why) => change({ why }) : undefined}
                onApply={apply}
                unhelped={left.unhelped}
                without={place.without.map((id) => holders.find((one) => one.id === id)?.name ?? id)}
                more={more}
              />
            )}
          </Side>
          {place.right && (
            <Side name="B" answer={right} machine={drawn} onPin={() => pinned(right, "right")}>
              {(result, drawnNow) => (
                <WhatIfResult name="B" answer={result} machine={drawnNow} unhelped={right.unhelped} />
              )}
            </Side>
          )}
          {kept(pin, sameQuestion ? { left, right }[pin.side].result : null)}
        </div>
      )}
    </main>
  );
}

/** The question without what is only looked at. */
function asked({ why: _, ...place }: WhatIfPlace): string {
  return JSON.stringify(place);
}

function toLine(id: string, line: number): void {
  const area = document.getElementById(id);
  if (area instanceof HTMLTextAreaElement) choose(area, line);
}

interface SideProperties {
  name: string;
  answer: Answer;
  machine: Machine | null;
  onPin: () => void;
  children: (result: NonNullable<Answer["result"]>, machine: Machine) => ComponentChildren;
}

function Side({ name, answer, machine, onPin, children }: SideProperties) {
  return (
    <section
      class={`answer ${answer.busy ? "busy" : ""}`}
      aria-busy={answer.busy}
      aria-label={name ? `Answer ${name}` : "Answer"}
    >
      {answer.trouble && (
        <p class="notice trouble" role="alert">
          {answer.trouble}
        </p>
      )}
      {answer.result && machine && !answer.trouble && (
        <>
          <button type="button" class="pin" title="Keep this answer as it is now" onClick={onPin}>
            Pin
          </button>
          {children(answer.result, machine)}
        </>
      )}
    </section>
  );
}
