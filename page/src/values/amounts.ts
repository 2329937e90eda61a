// Amounts of memory and spans of time: read from machine files, printed for people.

const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** Bytes of `256Gi`, `1024` or 1024. */
export function bytesOf(amount: string | number | undefined): number {
  if (typeof amount === "number") return amount;
  const match = /^([0-9.]+)([KMGTP]i)?$/.exec(amount ?? "");
  return match ? Number(match[1]) * 1024 ** UNITS.indexOf(match[2] ?? "") : 0;
}

/** Three digits at most: `255 GiB`, `1.5 TiB`, `0`. */
export function bytesText(bytes: number): string {
  let unit = 0;
  let amount = Math.abs(bytes);
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  if (amount === 0) return "0";
  const digits = amount >= 100 || Number.isInteger(amount) ? 0 : 1;
  const text = Number(amount.toFixed(digits)).toString();
  return `${bytes < 0 ? "-" : ""}${text} ${unit === 0 ? "B" : `${UNITS[unit]}B`}`;
}

/** `94.5 of 256 GiB`: the unit once where both have the same. */
export function bytesOfText(part: number, whole: number): [string, string] {
  const [amount = "", unit = ""] = bytesText(part).split(" ");
  const total = bytesText(whole);
  return [total.endsWith(` ${unit}`) && unit ? amount : bytesText(part), total];
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** How long ago, as `5 s`, `12 min`, `3 h`, `2 d`. */
export function agoText(time: string | null, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time ?? "")) / 1000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** The time of day here, with the date when it is not today. */
export function clockText(time: string, now: number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const clock = date.toLocaleTimeString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hour12: false,
  });
  return date.toDateString() === new Date(now).toDateString() ? clock : `${date.toLocaleDateString()} ${clock}`;
}
