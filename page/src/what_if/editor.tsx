// A text of the question (manifest, events, configuration), with the line marked that is wrong.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Properties {
  id: string;
  label?: string;
  rows: number;
  placeholder: string;
  value: string;
  /** The line that is wrong, from 1; 0: none. */
  wrong: number;
  onText: (text: string) => void;
}

export function Editor({ id, label, rows, placeholder, value, wrong, onText }: Properties) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [scrolled, setScrolled] = useState(0);
  const [line, setLine] = useState({ top: 0, height: 0 });
  useLayoutEffect(() => {
    const style = getComputedStyle(area.current!);
    setLine({ top: parseFloat(style.paddingTop) + area.current!.clientTop, height: parseFloat(style.lineHeight) });
  }, []);
  const top = line.top + (wrong - 1) * line.height - scrolled;
  const seen = wrong > 0 && top >= 0 && top < (area.current?.clientHeight ?? 0);
  return (
    <>
      <div class="editor">
        {seen && (
          <span class="wrong-line" style={{ top: `${top}px`, height: `${line.height}px` }} aria-hidden="true">
            {wrong}
          </span>
        )}
        <textarea
          id={id}
          aria-label={label}
          ref={area}
          rows={rows}
          spellcheck={false}
          placeholder={placeholder}
          aria-invalid={wrong > 0}
          value={value}
          onScroll={(event) => setScrolled(event.currentTarget.scrollTop)}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </div>
      {wrong > 0 && (
        <button type="button" class="to-line" onClick={() => area.current && choose(area.current, wrong)}>
          Go to line {wrong}
        </button>
      )}
    </>
  );
}

/** Selects the line, which also scrolls to it. */
export function choose(area: HTMLTextAreaElement, line: number): void {
  const [from, to] = lineSpan(area.value, line);
  area.focus();
  area.setSelectionRange(from, to);
  area.scrollTop = (line - 4) * parseFloat(getComputedStyle(area).lineHeight);
}

/** Where a line begins and ends, in characters. */
export function lineSpan(text: string, line: number): [number, number] {
  const lines = text.split("\n");
  const from = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return [Math.min(from, text.length), Math.min(from + (lines[line - 1]?.length ?? 0), text.length)];
}
