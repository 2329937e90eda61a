// One stream of events for all tabs of a browser, which has only a few connections to one server. It runs as a shared
// worker, one for each address; the address is its name.

/** From a tab: it listens, or does no longer. */
export type Wish = "listen" | "leave";

/** To a tab: the stream stands, it has failed, or it has said something. Who has `joined` missed its beginning. */
export type Word =
  | { is: "open"; joined: boolean }
  | { is: "failed" }
  | { is: "event"; name: string; data: string };

export interface Ear {
  postMessage: (word: Word) => void;
}

export interface Source {
  close: () => void;
}

/** Opens the stream; what comes of it is told to the hub. */
export type Connect = (hear: (word: Word) => void) => Source;

/** Who comes while the stream stands is told how it stands; these say it, whichever came last. */
const STANDING = ["hello", "problem"];

export class Hub {
  private readonly ears = new Set<Ear>();
  private source: Source | null = null;
  private standing: Word[] = [];
  private heard = 0;

  constructor(
    private readonly connect: Connect,
    /** Milliseconds after which a stream that says nothing is not joined any more. */
    private readonly silence: number,
    private readonly now: () => number = Date.now,
  ) {}

  listen(ear: Ear): void {
    this.ears.add(ear);
    // After a sleep of the machine a stream may look open and be dead.
    if (!this.source || this.now() - this.heard > this.silence) this.open();
    else for (const word of this.standing) ear.postMessage(word);
  }

  leave(ear: Ear): void {
    this.ears.delete(ear);
    if (this.ears.size === 0) this.close();
  }

  private open(): void {
    this.close();
    this.heard = this.now();
    const own: Source = this.connect((word) => own === this.source && this.hear(word));
    this.source = own;
  }

  private close(): void {
    this.source?.close();
    this.source = null;
    this.standing = [];
  }

  private hear(word: Word): void {
    this.heard = this.now();
    if (word.is === "open") this.standing = [{ is: "open", joined: true }];
    if (word.is === "failed") this.close();
    if (word.is === "event" && STANDING.includes(word.name)) this.standing = [...this.standing.slice(0, 1), word];
    for (const ear of this.ears) ear.postMessage(word);
  }
}
