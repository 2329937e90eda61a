import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inTurn, whileSeen } from "../src/agent/turns";

const PAGE = Object.assign(new EventTarget(), { hidden: false });

beforeEach(() => {
  vi.useFakeTimers();
  PAGE.hidden = false;
  vi.stubGlobal("document", PAGE);
});
afterEach(() => (vi.useRealTimers(), vi.unstubAllGlobals()));

/** A job that ends when the test says so. */
function slow<T>() {
  const ends: ((value: T) => void)[] = [];
  const job = vi.fn(() => new Promise<T>((done) => void ends.push(done)));
  return { job, end: async (value: T) => (ends.shift()!(value), await vi.advanceTimersByTimeAsync(0)) };
}

function seen(hidden: boolean): void {
  PAGE.hidden = hidden;
  PAGE.dispatchEvent(new Event("visibilitychange"));
}

test("what is asked while a job is under way is one more job, and the first is let finish", async () => {
  const { job, end } = slow<void>();
  const turn = inTurn(job, 200);
  turn.ask();
  turn.ask();
  await vi.advanceTimersByTimeAsync(199);
  expect(job).toHaveBeenCalledTimes(0);
  await vi.advanceTimersByTimeAsync(1);
  for (const _ of [1, 2, 3]) turn.ask();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(job).toHaveBeenCalledTimes(1);
  await end();
  await vi.advanceTimersByTimeAsync(200);
  expect(job).toHaveBeenCalledTimes(2);
  await end();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(job).toHaveBeenCalledTimes(2);
});

test("after the end nothing is begun", async () => {
  const { job, end } = slow<void>();
  const turn = inTurn(job);
  turn.ask();
  await vi.advanceTimersByTimeAsync(0);
  turn.ask();
  turn.end();
  await end();
  await vi.advanceTimersByTimeAsync(10_000);
  turn.ask();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(job).toHaveBeenCalledTimes(1);
});

test("who looks away and back while an answer is on its way goes on with one loop", async () => {
  const { job, end } = slow<number>();
  const stop = whileSeen(job);
  seen(true);
  seen(false);
  expect(job).toHaveBeenCalledTimes(1);
  await end(5);
  await vi.advanceTimersByTimeAsync(4999);
  expect(job).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(job).toHaveBeenCalledTimes(2);
  await end(5);
  seen(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(job).toHaveBeenCalledTimes(2);
  seen(false);
  expect(job).toHaveBeenCalledTimes(3);
  stop();
  await end(5);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(job).toHaveBeenCalledTimes(3);
});

test("where there will be nothing it is not asked again", async () => {
  const { job, end } = slow<number>();
  whileSeen(job);
  await end(0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(job).toHaveBeenCalledTimes(1);
});
