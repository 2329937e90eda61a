// A stream that all tabs of a browser share.

import type { Source, Wish, Word } from "./hub";
import worker from "./hub_worker?sharedworker&url";
import { listenTo } from "./stream";

/** Together with the other tabs of this browser; where that cannot be, by itself. */
export function shareIn(address: string, hear: (word: Word) => void): Source {
  if (!("SharedWorker" in globalThis)) return listenTo(address, hear);
  const shared = new SharedWorker(worker, { name: address });
  const { port } = shared;
  const say = (wish: Wish) => port.postMessage(wish);
  const leave = () => say("leave");
  let instead: Source | null = null;
  port.onmessage = ({ data }: MessageEvent<Word>) => hear(data);
  shared.onerror = () => (instead ??= listenTo(address, hear));
  say("listen");
  window.addEventListener("pagehide", leave);
  return {
    close() {
      window.removeEventListener("pagehide", leave);
      leave();
      port.onmessage = null;
      shared.onerror = null;
      port.close();
      instead?.close();
    },
  };
}
