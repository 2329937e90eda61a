// Lists of ids as text, both ways: `0-3,8`, and `0-62:2` for every second one.

export function numbersOf(text: string | number | undefined): number[] {
  const numbers: number[] = [];
  for (const item of String(text ?? "").split(",")) {
    const [range = "", step = "1"] = item.trim().split(":");
    if (range === "") continue;
    const [first = NaN, last = first] = range.split("-").map(Number);
    for (let number = first; number <= last; number += Math.max(1, Number(step))) numbers.push(number);
  }
  return numbers;
}

export function textOf(numbers: Iterable<number>): string {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const runs: string[] = [];
  for (let start = 0; start < sorted.length;) {
    let end = start;
    while (sorted[end + 1] === sorted[end]! + 1) end += 1;
    runs.push(start === end ? `${sorted[start]}` : `${sorted[start]}-${sorted[end]}`);
    start = end + 1;
  }
  return runs.join(",");
}

/** The members of a NUMA mask as the kubelet counts them: bit 3 set means node 3. */
export function membersOf(mask: number): number[] {
  const members: number[] = [];
  // Division, because masks of 34 nodes are beyond 32-bit arithmetic.
  for (let node = 0, rest = mask; rest > 0; node += 1, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) members.push(node);
  }
  return members;
}
