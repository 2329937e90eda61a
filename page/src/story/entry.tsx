// One decision in a list: what became of whom, and when.

import type { Alignment } from "../agent/api_types";
import { GuessMark } from "../telling/guess";
import { admittedAs, liesApart, LyingMark } from "../telling/lying";
import { Name } from "../telling/name";
import { verdictOf } from "../values/words";

interface Properties {
  pod: string;
  admitted: boolean | null;
  kind?: string;
  /** How it came to lie, where that is known. */
  alignment?: Alignment | null | undefined;
  /** What there is to say beyond the verdict. */
  note: string;
  loops?: boolean;
  guess?: boolean;
  chosen: boolean;
  time: string;
  /** For machines, where the time is one they know. */
  exactly?: string;
  onChoose: () => void;
}

export function Entry({ pod, admitted, kind = "pod", alignment, note, loops, guess, ...rest }: Properties) {
  const { chosen, time, exactly, onChoose } = rest;
  const plain = verdictOf(admitted, kind);
  const lies = admitted && kind !== "release" ? alignment : null;
  const { look, word } = lies ? admittedAs(plain.word, lies) : plain;
  return (
    <li>
      <button type="button" class={`entry ${look}`} aria-current={chosen ? "true" : undefined} onClick={onChoose}>
        <span class="sign" aria-hidden="true">
          {lies ? <LyingMark verdict={lies.verdict} /> : plain.sign}
        </span>
        <span class="who">
          <Name text={pod} />
          {loops && <span class="label warn">loop</span>}
          {guess && <GuessMark />}
          <span class="spoken">{word}</span>
          <span class="what">
            {liesApart(lies) && <strong class="lies">{lies!.verdict}: </strong>}
            {note || word}
          </span>
        </span>
        <time dateTime={exactly}>{time}</time>
      </button>
    </li>
  );
}
