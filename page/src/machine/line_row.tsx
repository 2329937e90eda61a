// A row of a table with a small line in it: what it tells, the line, and the last value.

import { largestOf, lastOf, pathOf, type Values } from "../values/small_line";

const WIDTH = 72;
const HEIGHT = 16;

/** Nothing where no value is known. */
export function LineRow({ what, values, text }: { what: string; values: Values; text: (value: number) => string }) {
  const last = lastOf(values);
  if (last === null) return null;
  const label = `${what}: ${text(last)} now, ${text(largestOf(values))} at most`;
  return (
    <tr>
      <td>{what}</td>
      <td>
        <svg width={WIDTH} height={HEIGHT + 2} viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`} role="img" aria-label={label}>
          <title>{label}</title>
          <path d={pathOf(values, WIDTH, HEIGHT)} />
        </svg>
      </td>
      <td class="number">{text(last)}</td>
    </tr>
  );
}
