// One decision told: verdict, sentence, and per container the grid and the merge.

import type { Alignment, Story } from "../agent/api_types";
import { Grid } from "./grid";
import { GuessMark } from "./guess";
import { liesApart, LyingMark } from "./lying";
import { acceptedOf, Merge, type Said } from "./merge";
import { membersOf } from "../values/numbers";
import { verdictOf } from "../values/words";
import { Name } from "./name";

interface VerdictProperties {
  pod: string;
  admitted: boolean | null;
  reason: string;
  sentence: string;
  message?: string;
  kind?: string;
  /** A guess about the machine matters to it. */
  guess?: boolean;
  /** What came of it, where that is neither admitted nor rejected: evicted, resized. */
  word?: string;
  /** How it lies, where it was admitted. */
  alignment?: Alignment | null;
}

export function Verdict({ pod, admitted, reason, sentence, message = "", kind = "pod", ...rest }: VerdictProperties) {
  const { look, word, sign } = verdictOf(admitted, kind);
  const guess = rest.guess ?? false;
  const said = rest.word && rest.word !== reason ? rest.word : word;
  const lies = admitted ? rest.alignment : null;
  return (
    <div class={`verdict ${look} ${liesApart(lies) ? "apart" : ""}`}>
      <p class="verdict-head">
        <span class="sign" aria-hidden="true">
          {lies ? <LyingMark verdict={lies.verdict} /> : sign}
        </span>
        <strong>
          <Name text={pod} />
        </strong>{" "}
        <span class="word">{lies ? `${said}, ${lies.verdict}` : said}</span>
        {guess && <GuessMark words="rests on a guess" />}
        {!admitted && reason && <code class="reason">{reason}</code>}
      </p>
      {sentence && <p class="sentence">{plain(sentence)}</p>}
      {lies && liesApart(lies) && (
        <p class="sentence">
          {lies.verdict}: {lies.why}
        </p>
      )}
      {!admitted && message && (
        <p class="message">
          {kind === "pod" ? "The kubelet says: " : ""}
          {message}
        </p>
      )}
    </div>
  );
}

/** The verdict as one text, for a picture that is sent to somebody. */
export function verdictText({ pod, admitted, reason, sentence, kind = "pod", alignment }: VerdictProperties): string {
  const { word } = verdictOf(admitted, kind);
  const lies = admitted && alignment ? `, ${alignment.verdict}` : "";
  return `${pod}: ${word}${lies}${!admitted && reason ? ` (${reason})` : ""}. ${sentence.replaceAll("`", "")}`.trim();
}

/** Backticks mark words of the kubelet. */
export function plain(sentence: string) {
  return sentence.split("`").map((part, number) => (number % 2 === 1 ? <code key={number}>{part}</code> : part));
}

interface ChaptersProperties {
  story: Story;
  admitted: boolean | null;
  /** One for each chapter, where the answer has them. */
  merges?: Said[] | undefined;
}

export function Chapters({ story, admitted, merges }: ChaptersProperties) {
  const accepted = acceptedOf(story, admitted, merges);
  return (
    <>
      {story.wanted && story.chapters.length === 0 && (
        <section class="chapter">
          <Grid rows={story.wanted.rows} chosen={[]} stops={story.wanted.stops} />
        </section>
      )}
      {story.chapters.map((chapter, number) => (
        <section class="chapter" key={number}>
          {chapter.container && <h3>Container {chapter.container}</h3>}
          <Grid rows={chapter.grid} chosen={admitted && chapter.best?.[0] ? membersOf(chapter.best[0]) : []} />
          <Merge chapter={chapter} admitted={admitted} accepted={accepted[number]!} />
        </section>
      ))}
      {story.doubts?.map((doubt) => (
        <p class="note" key={doubt}>
          {doubt}
        </p>
      ))}
    </>
  );
}
