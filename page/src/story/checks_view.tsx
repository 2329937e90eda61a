// The fourth view: is this kubelet healthy, does the kernel keep what was promised, and are these files right?

import { useEffect, useRef, useState } from "preact/hooks";
import { clockText, plural } from "../values/amounts";
import { api, Refusal } from "../agent/api";
import type { Known } from "../app";
import type { AuditAnswer, CheckupAnswer } from "../agent/ask_types";
import { FindingList, type Item, lintItems, useLint, wrongIn } from "../telling/findings";
import { Editor } from "../what_if/editor";
import { MOST_QUESTION, tooLarge } from "../values/limits";
import { Notes } from "../telling/notes";

interface Properties {
  known: Known;
  revision: number;
  returns: number;
  onRefused: (sentence: string) => void;
}

export function ChecksView({ known, revision, returns, onRefused }: Properties) {
  return (
    <main class="checks" id="main" tabIndex={-1}>
      <Doctor known={known} revision={revision} returns={returns} />
      <LintFiles known={known} returns={returns} onRefused={onRefused} />
      <Audit returns={returns} />
    </main>
  );
}

function message(failure: unknown): string {
  return failure instanceof Refusal ? failure.message : "The answer could not be read: reload the page.";
}

function lineOf(failure: unknown): number {
  return failure instanceof Refusal && failure.source === "kubelet" ? failure.line : 0;
}

function Doctor({ known, revision, returns }: Omit<Properties, "onRefused">) {
  const [kubelet, setKubelet] = useState("");
  const [answer, setAnswer] = useState<CheckupAnswer | null>(null);
  const [trouble, setTrouble] = useState("");
  const [wrong, setWrong] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const timer = window.setTimeout(
      () =>
        api.doctor(kubelet.trim() ? { kubelet } : {}, stop.signal).then(
          (found) => (setAnswer(found), setTrouble(""), setWrong(0)),
          (failure) =>
            stop.signal.aborted || (setAnswer(null), setTrouble(message(failure)), setWrong(lineOf(failure))),
        ),
      kubelet ? 300 : 0,
    );
    return () => (window.clearTimeout(timer), stop.abort());
  }, [kubelet, revision, returns]);
  return (
    <section class="check-part" aria-labelledby="doctor-title">
      <h2 id="doctor-title">Doctor: would this kubelet start?</h2>
      <details>
        <summary>Another KubeletConfiguration</summary>
        <Editor
          id="doctor-kubelet"
          label="KubeletConfiguration to examine"
          rows={8}
          placeholder={known.settings.kubelet}
          value={kubelet}
          wrong={kubelet.trim() ? wrong || wrongIn(answer ? checkupItems(answer) : [], "kubelet") : 0}
          onText={setKubelet}
        />
      </details>
      {trouble && (
        <p class="notice trouble" role="alert">
          {trouble}
        </p>
      )}
      {answer && (
        <>
          <p class={`health ${answer.starts ? "good" : "bad"}`}>
            {answer.starts ? "✓" : "✕"} {healthText(answer, kubelet.trim() !== "")}
          </p>
          <FindingList items={checkupItems(answer)} />
          {answer.unchecked.length > 0 && (
            <p class="note">
              Not checked: {answer.unchecked.map(({ text, because }) => `${text} (needs ${because.join(", ")})`).join("; ")}.
            </p>
          )}
          <Notes notes={answer.notes} />
        </>
      )}
    </section>
  );
}

export function healthText({ kubeVersion, starts, files, findings }: CheckupAnswer, other: boolean): string {
  const what = other ? "The kubelet with this configuration" : "The kubelet of this node";
  const over = files.length > 0 ? ` over ${plural(files.length, "state file")}` : "";
  const warnings = findings.filter((one) => one.severity !== "error").length;
  const also = warnings > 0 ? `, with ${plural(warnings, "warning")}` : "";
  return `${what} (${kubeVersion}) ${starts ? "starts" : "would not start"}${over}${also}.`;
}

function checkupItems(answer: CheckupAnswer): Item[] {
  return answer.findings.map((one) => ({
    code: one.code,
    severity: one.severity,
    place: one.place,
    line: one.line ?? 0,
    text: one.text,
    more: [...one.details, one.why, one.cure.length > 0 ? `Cure: ${one.cure.join("; ")}.` : "", one.cost && `What it costs: ${one.cost}`],
  }));
}

const PASTED = "pasted";

function LintFiles({ known, returns, onRefused }: Omit<Properties, "revision">) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<{ name: string; text: string }[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const given = [...files, { name: PASTED, text }].filter((file) => file.text.trim());
  const { answer, trouble } = useLint(given, known.machine.machine, known.settings.version, returns);
  const open = async (chosen: File[]) => {
    // Before any of them is read.
    const all = { name: chosen.length === 1 ? chosen[0]!.name : "these files", size: chosen.reduce((sum, one) => sum + one.size, 0) };
    const refusal = tooLarge(all, MOST_QUESTION);
    onRefused(refusal);
    if (!refusal) setFiles(await Promise.all(chosen.map(async (one) => ({ name: one.name, text: await one.text() }))));
  };
  return (
    <section class="check-part" aria-labelledby="lint-title">
      <h2 id="lint-title">Lint: what is wrong in these files?</h2>
      <p class="note">Pods, kubelet configurations, flags and files of device plugins, looked at for this machine.</p>
      <Editor
        id="lint-text"
        label="Files to lint"
        rows={6}
        placeholder="Paste manifests or a KubeletConfiguration here"
        value={text}
        wrong={wrongIn(answer ? lintItems(answer) : [], PASTED)}
        onText={setText}
      />
      <p class="row">
        <button type="button" onClick={() => input.current?.click()}>
          Open …
        </button>
        <input
          ref={input}
          class="spoken"
          type="file"
          multiple
          tabIndex={-1}
          aria-hidden="true"
          onChange={(event) => void open([...(event.currentTarget.files ?? [])])}
        />
        {files.length > 0 && (
          <>
            <span class="note">{files.map((one) => one.name).join(", ")}</span>
            <button type="button" onClick={() => setFiles([])}>
              Close
            </button>
          </>
        )}
      </p>
      {trouble && (
        <p class="notice trouble" role="alert">
          {trouble}
        </p>
      )}
      {answer && answer.findings.length === 0 && (
        <p class="health good">✓ Nothing found in {plural(answer.files, "file")}.</p>
      )}
      {answer && <FindingList items={lintItems(answer)} />}
      {answer && <Notes notes={answer.notes} />}
    </section>
  );
}

/** The agent looks once a minute. */
const AUDIT_PAUSE = 60_000;

function Audit({ returns }: { returns: number }) {
  const [answer, setAnswer] = useState<AuditAnswer | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    let stale = false;
    const ask = () =>
      api.audit().then(
        (found) => stale || (setAnswer(found), setTrouble("")),
        (failure) => stale || (setAnswer(null), setTrouble(message(failure))),
      );
    void ask();
    const timer = window.setInterval(() => void ask(), AUDIT_PAUSE);
    return () => ((stale = true), window.clearInterval(timer));
  }, [returns]);
  return (
    <section class="check-part" aria-labelledby="audit-title">
      <h2 id="audit-title">Audit: what does the kernel do with the jobs?</h2>
      {trouble && <p class="note">{trouble}</p>}
      {answer && (
        <>
          <p class={`health ${answer.findings.length === 0 ? "good" : "some"}`}>
            {answer.findings.length === 0 ? "✓" : "!"} {plural(answer.promises.length, "promise")} looked at,{" "}
            {plural(answer.findings.length, "finding")}, at{" "}
            <time dateTime={answer.time}>{clockText(answer.time, Date.now())}</time>.
          </p>
          <FindingList
            items={answer.findings.map((one) => ({
              code: one.code,
              severity: one.severity,
              place: one.pid === null ? one.subject : `${one.subject}, process ${one.pid}`,
              line: 0,
              text: one.sentence,
              more: [one.cure && `Cure: ${one.cure}`],
            }))}
          />
          {answer.unseen.length > 0 && <p class="note">Not seen: {answer.unseen.join("; ")}.</p>}
        </>
      )}
    </section>
  );
}
