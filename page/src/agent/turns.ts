// Jobs that are asked for more often than they can be done: each is let finish, and what was asked since is one more.

export interface Turn {
  /** Soon, or once more when the one under way has ended. */
  ask: () => void;
  end: () => void;
}

/** Of something that changes faster than an answer comes, an answer comes all the same. */
export function inTurn(job: () => Promise<void>, pause = 0): Turn {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = false;
  let again = false;
  let ended = false;
  const run = async () => {
    timer = undefined;
    [running, again] = [true, false];
    await job();
    running = false;
    if (again) ask();
  };
  const ask = () => {
    if (running) again = true;
    else if (!ended) timer ??= setTimeout(() => void run(), pause);
  };
  return { ask, end: () => ((ended = true), clearTimeout(timer)) };
}

/**
 * Asks again and again, for as long as somebody looks: `job` says after how many seconds; 0: not again. Returns the
 * function that ends it.
 */
export function whileSeen(job: () => Promise<number>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = false;
  let ended = false;
  const look = async () => {
    running = true;
    const next = await job();
    running = false;
    if (!ended && next > 0 && !document.hidden) timer = setTimeout(() => void look(), next * 1000);
  };
  const seen = () => {
    clearTimeout(timer);
    // One that is under way goes on by itself.
    if (!document.hidden && !running) void look();
  };
  void look();
  document.addEventListener("visibilitychange", seen);
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
