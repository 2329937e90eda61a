// A kubelet's log as a story: what it decided and why, and the pods that are recreated and rejected again and again.

import { useEffect, useState } from "preact/hooks";
import { plural } from "../values/amounts";
import { api, Refusal } from "../agent/api";
import type { LogAnswer, LogLoop, LogStory } from "../agent/log_types";
import type { Dropped } from "../what_if/dropped";
import { Entry } from "./entry";
import { HintPicture } from "../telling/hint_picture";
import { Notes } from "../telling/notes";
import { toTold } from "./to_told";
import { Chapters, Verdict } from "../telling/telling";
import { verdictOf } from "../values/words";

interface Properties {
  dropped: Dropped;
  returns: number;
  onClose: () => void;
  onFile: (file: File) => void;
}

export function LogView({ dropped, returns, onClose, onFile }: Properties) {
  const [answer, setAnswer] = useState<LogAnswer | null>(null);
  const [trouble, setTrouble] = useState("");
  const [chosen, setChosen] = useState(0);
  const [filter, setFilter] = useState({ pod: "", verdict: "" });
  const [tries, setTries] = useState(0);
  // What was refused while the agent was away is sent again.
  useEffect(() => {
    if (trouble) setTries(tries + 1);
  }, [returns]);
  useEffect(() => {
    let stale = false;
    setAnswer(null);
    setTrouble("");
    setChosen(0);
    api.log(dropped.file).then(
      (found) => stale || setAnswer(found),
      (failure) =>
        stale ||
        setTrouble(
          failure instanceof Refusal
            ? failure.message
            : "The log could not be read: is it a kubelet's log, plain or gzip?",
        ),
    );
    return () => {
      stale = true;
    };
  }, [dropped, tries]);
  const loops = new Map(answer?.loops.map((loop) => [loop.pod, loop]));
  const stories = (answer?.stories ?? []).filter(
    (one) => one.pod.includes(filter.pod) && (!filter.verdict || filter.verdict === filterOf(one.admitted)),
  );
  const told = stories[chosen];
  return (
    <main class="story log" id="main" tabIndex={-1}>
      <section class="list" aria-label="Decisions in the log">
        <p class="log-name">
          <strong>{dropped.file.name}</strong>
          <button type="button" onClick={onClose}>
            Close the log
          </button>
        </p>
        {!answer && !trouble && (
          <p class="empty" aria-busy="true">
            Reading …
          </p>
        )}
        {trouble && (
          <p class="notice trouble" role="alert">
            {trouble}
          </p>
        )}
        {answer && (
          <>
            <p class="note">{summary(answer)}</p>
            <form class="filter" onSubmit={(event) => event.preventDefault()}>
              <input
                type="search"
                aria-label="Filter by pod"
                placeholder="pod"
                value={filter.pod}
                onInput={(event) => (setChosen(0), setFilter({ ...filter, pod: event.currentTarget.value }))}
              />
              <select
                aria-label="Filter by verdict"
                value={filter.verdict}
                onChange={(event) => (setChosen(0), setFilter({ ...filter, verdict: event.currentTarget.value }))}
              >
                <option value="">all</option>
                <option value="admitted">admitted</option>
                <option value="rejected">rejected</option>
                {answer.unknown > 0 && <option value="unknown">not known</option>}
              </select>
              <label class="button">
                Another log …
                <input
                  class="spoken"
                  type="file"
                  onChange={(event) => event.currentTarget.files?.[0] && onFile(event.currentTarget.files[0])}
                />
              </label>
            </form>
            {stories.length === 0 && (
              <p class="empty">
                {answer.stories.length > 0
                  ? "No decision matches: clear the filter."
                  : "No decision stands in this log."}
              </p>
            )}
            <ol onClick={toTold}>
              {stories.map((one, number) => (
                <Entry
                  key={`${one.line} ${one.pod}`}
                  pod={one.pod}
                  admitted={one.admitted}
                  note={noteOf(one)}
                  loops={loops.has(one.pod)}
                  chosen={number === chosen}
                  // Microseconds tell a person nothing.
                  time={one.time.replace(/\.\d+/, "")}
                  onChoose={() => setChosen(number)}
                />
              ))}
            </ol>
          </>
        )}
      </section>
      <section class="told" aria-label="The decision">
        {told && (
          <>
            <Verdict
              pod={told.pod}
              admitted={told.admitted}
              reason={told.reason}
              sentence={told.story.sentence}
              message={told.message}
            />
            {loops.has(told.pod) && <Loop loop={loops.get(told.pod)!} />}
            <p class="note">
              Line {told.line} of the log{told.policy ? `, policy ${told.policy}` : ""}
              {told.inferred ? "; the verdict is inferred, the log does not say it" : ""}.
            </p>
            {told.merges && <HintPicture merges={told.merges} admitted={told.admitted} />}
            <Chapters story={told.story} admitted={told.admitted} merges={told.merges} />
          </>
        )}
        <Notes notes={answer?.notes ?? []} />
      </section>
    </main>
  );
}

function filterOf(admitted: boolean | null): string {
  if (admitted === null) return "unknown";
  return admitted ? "admitted" : "rejected";
}

function noteOf({ admitted, reason, times }: LogStory): string {
  const word = verdictOf(admitted, "pod").word;
  return `${admitted === false ? reason || word : word}${times > 1 ? `, ${times} times` : ""}`;
}

function summary(answer: LogAnswer): string {
  const kubelets = answer.kubelets
    .map((one) => `${one.release ?? [...new Set(one.releases)].join(" to ")} ${one.policy ?? ""}`.trim())
    .filter(Boolean);
  return [
    plural(answer.lines, "line"),
    `${answer.admitted} admitted`,
    `${answer.rejected} rejected`,
    answer.unknown > 0 ? `${answer.unknown} not known` : "",
    answer.notShown > 0 ? `${answer.notShown} not shown` : "",
    kubelets.length > 0 ? `kubelet ${kubelets.join(", ")}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

function Loop({ loop }: { loop: LogLoop }) {
  return (
    <div class="loop" role="note">
      <p>
        <strong>A loop:</strong> rejected {plural(loop.rejections, "time")} and recreated{" "}
        {plural(loop.recreations, "time")} between {loop.first} and {loop.last}, every {loop.period} s.
        {loop.ended ? ` It ended: ${loop.ended}.` : ""}
      </p>
      <p>Ways out:</p>
      <ul>
        {loop.ways_out.map((way) => (
          <li key={way}>{way}</li>
        ))}
      </ul>
    </div>
  );
}
