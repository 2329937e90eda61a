// How far the picture is zoomed in and where it is moved to: wheel, drag, pinch, keys and buttons change one value.

import { useEffect, useRef, useState } from "preact/hooks";

export interface View {
  zoom: number;
  /** Of the picture's corner, in pixels of the room. */
  x: number;
  y: number;
}

export const FITTED: View = { zoom: 1, x: 0, y: 0 };
const LARGEST_ZOOM = 8;
const STEP = 60;

/** Zooms about a point of the room that stays where it is. */
export function zoomed(view: View, factor: number, x: number, y: number): View {
  const zoom = Math.min(LARGEST_ZOOM, Math.max(1, view.zoom * factor));
  if (zoom === 1) return FITTED;
  const real = zoom / view.zoom;
  return { zoom, x: x - (x - view.x) * real, y: y - (y - view.y) * real };
}

/** Keeps some of the picture in the room. */
export function held(view: View, width: number, height: number): View {
  if (view.zoom === 1) return FITTED;
  const within = (value: number, size: number) => Math.min(size * 0.5, Math.max(size * 0.5 - size * view.zoom, value));
  return { ...view, x: within(view.x, width), y: within(view.y, height) };
}

export interface Handlers {
  view: View;
  setView: (view: View) => void;
  zoomBy: (factor: number) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  onPointerDown: (event: PointerEvent) => void;
  onPointerMove: (event: PointerEvent) => void;
  onPointerUp: (event: PointerEvent) => void;
  dragging: () => boolean;
}

/** `plainWheel`: the wheel zooms by itself; else it scrolls the page and needs Ctrl. */
export function useViewport(room: { current: HTMLElement | null }, plainWheel: boolean): Handlers {
  const [view, set] = useState<View>(FITTED);
  const fingers = useRef(new Map<number, { x: number; y: number }>());
  const moved = useRef(false);
  const size = () => room.current?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
  const change = (next: (view: View) => View) => set((old) => held(next(old), size().width, size().height));

  useEffect(() => {
    const element = room.current;
    if (!element) return;
    const wheel = (event: WheelEvent) => {
      if (!plainWheel && !event.ctrlKey) return;
      event.preventDefault();
      const frame = size();
      change((old) =>
        zoomed(
          old,
          Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)),
          event.clientX - frame.x,
          event.clientY - frame.y,
        ),
      );
    };
    // A wheel listener that prevents scrolling must be registered as not passive.
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [plainWheel]);

  const zoomBy = (factor: number) => change((old) => zoomed(old, factor, size().width / 2, size().height / 2));
  const by = (x: number, y: number) => change((old) => ({ ...old, x: old.x + x, y: old.y + y }));
  const keys: Record<string, () => void> = {
    "+": () => zoomBy(1.4),
    "=": () => zoomBy(1.4),
    "-": () => zoomBy(1 / 1.4),
    "0": () => set(FITTED),
    ArrowLeft: () => by(STEP, 0),
    ArrowRight: () => by(-STEP, 0),
    ArrowUp: () => by(0, STEP),
    ArrowDown: () => by(0, -STEP),
  };
  return {
    view,
    setView: set,
    zoomBy,
    dragging: () => moved.current,
    onKeyDown(event) {
      const act = keys[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key.startsWith("Arrow") && view.zoom === 1) return;
      event.preventDefault();
      act();
    },
    onPointerDown(event) {
      if (event.pointerType === "mouse" && event.button !== 0) return;
      fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      moved.current = false;
    },
    onPointerMove(event) {
      const last = fingers.current.get(event.pointerId);
      if (!last) return;
      const [x, y] = [event.clientX - last.x, event.clientY - last.y];
      const others = [...fingers.current].filter(([id]) => id !== event.pointerId).map(([, finger]) => finger);
      if (others.length > 0) {
        const other = others[0]!;
        const before = Math.hypot(last.x - other.x, last.y - other.y);
        const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
        const frame = size();
        if (before > 0) change((old) => zoomed(old, after / before, other.x - frame.x, other.y - frame.y));
      } else if (view.zoom > 1) {
        // A click that trembles is no drag.
        if (!moved.current && Math.hypot(x, y) < 4) return;
        by(x, y);
      } else return;
      moved.current = true;
      fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
    },
    onPointerUp(event) {
      fingers.current.delete(event.pointerId);
    },
  };
}
