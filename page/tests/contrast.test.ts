import { expect, test } from "vitest";
import TOKENS from "../src/style/tokens.css?raw";
import DRAWING from "../src/style/drawing.css?raw";

const SLOTS = [...DRAWING.matchAll(/\.slot\d \{ --own: (#[0-9a-f]{6})/g)].map((match) => match[1]!);
const DARK_INK = "#14212b";

function tokens(block: string): Map<string, string> {
  return new Map([...block.matchAll(/--([a-z-]+): (#[0-9a-f]{6})/g)].map((match) => [match[1]!, match[2]!]));
}

const light = tokens(TOKENS.slice(0, TOKENS.indexOf('[data-theme="dark"]')));
const dark = tokens(TOKENS.slice(TOKENS.indexOf('[data-theme="dark"]'), TOKENS.indexOf("@media")));
const system = tokens(TOKENS.slice(TOKENS.indexOf("@media")));

function linear(colour: string): number[] {
  return [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
}

/** WCAG 2: relative luminance and its quotient. */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = linear(colour);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [dim = 0, bright = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (bright + 0.05) / (dim + 0.05);
}

test("the dark theme is the same whether the system or the reader chose it", () => {
  expect(system).toEqual(dark);
});

test.each([
  ["light", light],
  ["dark", dark],
])("texts of the %s theme stand out from their grounds", (_, theme) => {
  for (const ground of ["ground", "surface", "sunken"]) {
    for (const text of ["ink", "muted", "accent", "good", "bad", "warn"])
      expect([text, ground, contrast(theme.get(text)!, theme.get(ground)!) >= 4.5]).toEqual([text, ground, true]);
  }
  for (const kind of ["good", "bad", "warn", "accent"]) {
    for (const text of ["ink", "muted", kind])
      expect([text, kind, contrast(theme.get(text)!, theme.get(`${kind}-ground`)!) >= 4.5]).toEqual([text, kind, true]);
  }
});

test("numbers stand out from the colour of every holder", () => {
  expect(SLOTS).toHaveLength(10);
  for (const slot of SLOTS) expect([slot, contrast(slot, DARK_INK) >= 4.5]).toEqual([slot, true]);
});

test("colours of holders stand out from both themes' tiles", () => {
  // Cells have edges of their own; the colour need only be seen.
  for (const slot of SLOTS)
    expect([slot, contrast(slot, light.get("surface")!) >= 1.3 && contrast(slot, dark.get("surface")!) >= 3]).toEqual([
      slot,
      true,
    ]);
});

/** Machado, Oliveira and Fernandes (2009): what people see who lack one kind of cone, from linear red, green and blue. */
const EYES: Record<string, number[][]> = {
  "no red cones": [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  "no green cones": [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  "no blue cones": [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

/** CIE L*a*b* of linear red, green and blue. */
function lab(linear: number[]): number[] {
  const [r = 0, g = 0, b = 0] = linear.map((part) => Math.min(1, Math.max(0, part)));
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test.each(Object.entries(EYES))("with %s any two holders still differ clearly", (_, matrix) => {
  const seen = SLOTS.map((slot) => {
    const own = linear(slot);
    return lab(matrix.map((row) => row.reduce((sum, weight, part) => sum + weight * own[part]!, 0)));
  });
  const distances = seen.flatMap((a, number) =>
    seen.slice(number + 1).map((b) => Math.hypot(...a.map((part, at) => part - b[at]!))),
  );
  // A difference of about 2 is just seen side by side; across a picture it takes several times that.
  expect(Math.min(...distances)).toBeGreaterThan(12);
});
