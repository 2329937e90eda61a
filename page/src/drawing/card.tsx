// The small card beside the pointer: what is there, who holds it, how much and since when.

import { useLayoutEffect, useRef } from "preact/hooks";
import { Name } from "../telling/name";
import { slotClass } from "./palette";
import { holderLines, type Telling } from "./target";

const AWAY = 14;

interface Properties {
  telling: Telling;
  slots: Map<string, number>;
  x: number;
  y: number;
  room: { width: number; height: number };
}

export function Card({ telling, slots, x, y, room }: Properties) {
  const card = useRef<HTMLDivElement>(null);
  // Beside the pointer, on the side where there is room; its size is known once its text stands in it.
  useLayoutEffect(() => {
    const { offsetWidth, offsetHeight, style } = card.current!;
    const left = x + AWAY + offsetWidth > room.width ? x - AWAY - offsetWidth : x + AWAY;
    const top = y + AWAY + offsetHeight > room.height ? Math.min(y - AWAY, room.height) - offsetHeight : y + AWAY;
    style.left = `${Math.max(2, left)}px`;
    style.top = `${Math.max(2, top)}px`;
  });
  const { holder } = telling;
  return (
    <div class="card" aria-hidden="true" ref={card}>
      <div class="card-title">{telling.title}</div>
      {telling.lines.map((line) => (
        <div class="card-line" key={line}>
          {line}
        </div>
      ))}
      {holder && (
        <div class="card-holder">
          <span class={`swatch ${slotClass(slots.get(holder.id))}`} />
          <strong>
            <Name text={holder.name} />
          </strong>
          {holderLines(holder, Date.now()).map((line) => (
            <div class="card-line" key={line}>
              {line}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
