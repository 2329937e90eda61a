// The shared worker itself: tabs come through ports, and its name is the address of the stream.

import { Hub, type Wish, type Word } from "./hub";
import { listenTo, SILENCE } from "./stream";

/** TypeScript's library of pages does not know where a worker runs. */
interface Shared {
  name: string;
  onconnect: ((event: MessageEvent) => void) | null;
}

const own = self as unknown as Shared;
const hub = new Hub((hear) => listenTo(own.name, hear), SILENCE);
own.onconnect = (event) => {
  const port = event.ports[0]!;
  const ear = { postMessage: (word: Word) => port.postMessage(word) };
  port.onmessage = ({ data }: MessageEvent<Wish>) => (data === "listen" ? hub.listen(ear) : hub.leave(ear));
};
