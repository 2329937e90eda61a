import { expect, test } from "vitest";
import { restsOnGuess } from "../src/telling/guess";

const note = (code: string, about = "default/a") => ({ code, about, text: "" });

test("a guess that matters to the pod marks it", () => {
  for (const code of ["cores-matter", "numa-matters", "cpu-numbers-made-up"])
    expect([code, restsOnGuess("default/a", [note(code)])]).toEqual([code, true]);
});

test("a guess that matters to nobody or to another pod does not", () => {
  const notes = [note("cores-guessed", "machine"), note("cores-matter", "default/b"), note("left-to-chance")];
  expect(restsOnGuess("default/a", notes)).toBe(false);
});
