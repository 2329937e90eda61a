// One decision in a list: what became of whom, and when.

import { GuessMark } from "../telling/guess";
import { Name } from "../telling/name";
import { verdictOf } from "../values/words";

interface Properties {
  pod: string;
  admitted: boolean | null;
  kind?: string;
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

export function Entry({ pod, admitted, kind = "pod", note, loops, guess, chosen, time, exactly, onChoose }: Properties) {
  const { look, word, sign } = verdictOf(admitted, kind);
  return (
    <li>
      <button type="button" class={`entry ${look}`} aria-current={chosen ? "true" : undefined} onClick={onChoose}>
        <span class="sign" aria-hidden="true">
          {sign}
        </span>
        <span class="who">
          <Name text={pod} />
          {loops && <span class="label warn">loop</span>}
          {guess && <GuessMark />}
          <span class="spoken">{word}</span>
          <span class="what">{note || word}</span>
        </span>
        <time dateTime={exactly}>{time}</time>
      </button>
    </li>
  );
}
