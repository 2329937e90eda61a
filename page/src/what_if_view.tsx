// The second view: a question on the left, and at once what the kubelet would answer, with one setting or two.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Answer, difference, useAnswer, useOther } from "./answer";
import { api } from "./api";
import type { Example } from "./api_types";
import type { Known } from "./app";
import { Editor } from "./editor";
import { MOST_QUESTION, tooLarge } from "./limits";
import type { Machine } from "./machine";
import { SIDE, type WhatIfPlace } from "./place";
import { PodForm } from "./pod_form";
import { SettingsForm } from "./settings_form";
import { shapeOf, yamlOf } from "./shape";
import { WhatIfResult } from "./what_if_result";

interface Properties {
  known: Known;
  machine: Machine;
  /** Of the ledger: a new one means a new answer. */
  revision: number;
  returns: number;
  place: WhatIfPlace;
  onPlace: (place: WhatIfPlace) => void;
  /** A file that is too large, in one sentence; empty: it is not. */
  onRefused: (sentence: string) => void;
}

export function WhatIfView({ known, machine, revision, returns, place, onPlace, onRefused }: Properties) {
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
    <main class={`what-if ${place.right ? "two" : ""}`} id="main" tabIndex={-1}>
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
            blank={place.pods.trim() === ""}
            resources={resources}
            onShape={(shape) => change({ pods: yamlOf(shape) })}
          />
          <Editor value={place.pods} wrong={left.trouble ? (left.line ?? 0) : 0} onText={(pods) => change({ pods })} />
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
          <textarea
            aria-label="Events"
            rows={8}
            spellcheck={false}
            placeholder={"add train\nstop\nadd next\nstart reboot plugins=late"}
            value={place.events}
            onInput={(event) => change({ events: event.currentTarget.value })}
          />
        </details>
        <details open={place.kubelet !== ""}>
          <summary>KubeletConfiguration</summary>
          <p class="note">Empty: that of the node shown. The choices above are laid over it.</p>
          <textarea
            aria-label="KubeletConfiguration"
            rows={8}
            spellcheck={false}
            placeholder={known.settings.kubelet}
            value={place.kubelet}
            onInput={(event) => change({ kubelet: event.currentTarget.value })}
          />
        </details>
      </form>
      {place.pods.trim() === "" ? (
        <div class="answers">
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
          <Side name={place.right ? "A" : ""} answer={left} machine={drawn} />
          {place.right && <Side name="B" answer={right} machine={drawn} />}
        </div>
      )}
    </main>
  );
}

function Side({ name, answer, machine }: { name: string; answer: Answer; machine: Machine | null }) {
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
        <WhatIfResult name={name} answer={answer.result} machine={machine} />
      )}
    </section>
  );
}
