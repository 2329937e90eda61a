import { expect, test } from "vitest";
import { Hub, type Word } from "../src/agent/hub";

/** A hub whose streams are held by the test, at a time that the test sets. */
function setUp() {
  const streams: { hear: (word: Word) => void; closed: boolean }[] = [];
  const clock = { now: 0 };
  const hub = new Hub(
    (hear) => {
      const stream = { hear, closed: false };
      streams.push(stream);
      return { close: () => (stream.closed = true) };
    },
    10_000,
    () => clock.now,
  );
  const tab = () => {
    const heard: Word[] = [];
    return { heard, postMessage: (word: Word) => void heard.push(word) };
  };
  return { hub, streams, clock, tab };
}

const OPEN: Word = { is: "open", joined: false };
const HELLO: Word = { is: "event", name: "hello", data: '{"problem":""}' };
const DOUBT: Word = { is: "event", name: "problem", data: '{"problem":"x"}' };
const LEDGER: Word = { is: "event", name: "ledger", data: "{}" };

test("many tabs have one stream, and all hear it", () => {
  const { hub, streams, tab } = setUp();
  const tabs = Array.from({ length: 20 }, tab);
  for (const one of tabs) hub.listen(one);
  expect(streams.length).toBe(1);
  for (const word of [OPEN, HELLO, LEDGER]) streams[0]!.hear(word);
  for (const one of tabs) expect(one.heard).toEqual([OPEN, HELLO, LEDGER]);
});

test("who comes later is told that it joined, and what is doubtful now", () => {
  const { hub, streams, tab } = setUp();
  hub.listen(tab());
  for (const word of [OPEN, HELLO, LEDGER, DOUBT, LEDGER]) streams[0]!.hear(word);
  const late = tab();
  hub.listen(late);
  expect(streams.length).toBe(1);
  expect(late.heard).toEqual([{ is: "open", joined: true }, DOUBT]);
});

test("with the last tab the stream ends", () => {
  const { hub, streams, tab } = setUp();
  const [one, other] = [tab(), tab()];
  hub.listen(one);
  hub.listen(other);
  hub.leave(one);
  expect(streams[0]!.closed).toBe(false);
  hub.leave(other);
  expect(streams[0]!.closed).toBe(true);
  hub.listen(one);
  expect(streams.length).toBe(2);
});

test("a stream that has been silent is not joined", () => {
  const { hub, streams, clock, tab } = setUp();
  hub.listen(tab());
  streams[0]!.hear(OPEN);
  clock.now = 10_001;
  const late = tab();
  hub.listen(late);
  expect(streams.map((stream) => stream.closed)).toEqual([true, false]);
  // What the old one still says is not heard.
  streams[0]!.hear(LEDGER);
  expect(late.heard).toEqual([]);
});

test("a failure is told to all, and the next who listens opens anew", () => {
  const { hub, streams, tab } = setUp();
  const [one, other] = [tab(), tab()];
  hub.listen(one);
  hub.listen(other);
  streams[0]!.hear({ is: "failed" });
  expect([one.heard, other.heard]).toEqual([[{ is: "failed" }], [{ is: "failed" }]]);
  hub.listen(one);
  hub.listen(other);
  expect(streams.length).toBe(2);
});
