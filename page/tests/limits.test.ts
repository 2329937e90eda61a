import { expect, test } from "vitest";
import { MOST_LOG, MOST_QUESTION, tooLarge } from "../src/values/limits";

test("what is small enough is not refused", () => {
  expect(tooLarge({ name: "a", size: MOST_QUESTION }, MOST_QUESTION)).toBe("");
});

test("what is too large is told with its size and the limit", () => {
  expect(tooLarge({ name: "kubelet.log", size: 48 << 20 }, MOST_LOG)).toBe(
    "kubelet.log has 48 MiB, and at most 32 MiB are taken: give a part of it.",
  );
  expect(tooLarge({ name: "a", size: MOST_QUESTION + 1 }, MOST_QUESTION)).toBe(
    "a has 1048577 bytes, and at most 1048576 are taken: give a part of it.",
  );
});
