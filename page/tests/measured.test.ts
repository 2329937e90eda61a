import { expect, test } from "vitest";
import { figureText } from "../src/machine/measured";

test("a figure has about three digits", () => {
  expect([122.4, 55.04, 1.234, 1054].map(figureText)).toEqual(["122", "55.0", "1.23", "1054"]);
});
