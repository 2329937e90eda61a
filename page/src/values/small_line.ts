// A small line: values over time as the path of a drawing, with gaps where there is none.

export type Values = (number | null)[];

/** From 0 at the bottom to the largest value at the top; a value alone between gaps is a short stroke. */
export function pathOf(values: Values, width: number, height: number): string {
  const top = Math.max(...values.map((value) => value ?? 0), 0) || 1;
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const parts: string[] = [];
  values.forEach((value, place) => {
    if (value === null) return;
    const x = round(place * step);
    const y = round(height - (height * value) / top);
    const begins = place === 0 || values[place - 1] === null;
    const alone = begins && (values[place + 1] ?? null) === null;
    parts.push(`${begins ? "M" : "L"}${x} ${y}${alone ? "h1" : ""}`);
  });
  return parts.join("");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The last value that is known; null: there is none. */
export function lastOf(values: Values): number | null {
  for (let place = values.length - 1; place >= 0; place -= 1) {
    const value = values[place];
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

export function largestOf(values: Values): number {
  return Math.max(...values.map((value) => value ?? 0), 0);
}
