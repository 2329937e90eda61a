import { expect, test } from "vitest";
import { bytesOf, bytesOfText, bytesText } from "../src/values/amounts";
import { membersOf, numbersOf, textOf } from "../src/values/numbers";

test("a list of ids is read with its ranges and steps, in the order written", () => {
  expect(numbersOf("0-3,8")).toEqual([0, 1, 2, 3, 8]);
  expect(numbersOf("0-14:2")).toEqual([0, 2, 4, 6, 8, 10, 12, 14]);
  expect(numbersOf(5)).toEqual([5]);
  expect(numbersOf("")).toEqual([]);
});

test("ids are written as the shortest list", () => {
  expect(textOf([8, 3, 1, 2, 0, 3])).toBe("0-3,8");
  expect(textOf([])).toBe("");
});

test("a mask of 34 NUMA nodes is beyond 32 bits and still read", () => {
  expect(membersOf(2 ** 33 + 1)).toEqual([0, 33]);
});

test("amounts are read in binary units and shown with three digits at most", () => {
  expect(bytesOf("256Gi")).toBe(256 * 2 ** 30);
  expect(bytesText(255.75 * 2 ** 30)).toBe("256 GiB");
  expect(bytesText(1.5 * 2 ** 40)).toBe("1.5 TiB");
  expect(bytesText(0)).toBe("0");
});

test("a part and a whole share one unit where they can", () => {
  expect(bytesOfText(94.5 * 2 ** 30, 256 * 2 ** 30)).toEqual(["94.5", "256 GiB"]);
  expect(bytesOfText(512 * 2 ** 20, 2 ** 30)).toEqual(["512 MiB", "1 GiB"]);
  expect(bytesOfText(0, 2 ** 30)).toEqual(["0", "1 GiB"]);
});
