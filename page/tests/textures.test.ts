import { expect, test } from "vitest";
import DRAWING from "../src/style/drawing.css?raw";
import { SLOTS, textureOf } from "../src/drawing/palette";

const COLOURS = [...DRAWING.matchAll(/\.slot\d \{ --own: (#[0-9a-f]{6})/g)].map((match) => match[1]!);

/** WCAG 2: relative luminance, which is what is left where no colour is seen. */
function luminance(colour: string): number {
  const parts = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * parts[0]! + 0.7152 * parts[1]! + 0.0722 * parts[2]!;
}

test("without colour holders differ by their lines, or clearly by how light they are", () => {
  expect(COLOURS).toHaveLength(SLOTS);
  for (let a = 0; a < SLOTS; a += 1) {
    for (let b = a + 1; b < SLOTS; b += 1) {
      if (textureOf(a) !== textureOf(b)) continue;
      const [dim = 0, bright = 0] = [COLOURS[a]!, COLOURS[b]!].map(luminance).sort((x, y) => x - y);
      expect((bright + 0.05) / (dim + 0.05)).toBeGreaterThan(1.3);
    }
  }
});
