// As much YAML as a plain manifest needs: block maps and lists, `{}` and `[]` on one line, quoted and bare words.

export type Tree = string | Tree[] | { [key: string]: Tree };

interface Line {
  indent: number;
  text: string;
}

/** Null where the text holds more than that (anchors, tags, block texts, several documents): then nothing is guessed. */
export function treeOf(text: string): Tree | null {
  try {
    const lines: Line[] = [];
    for (const raw of text.split("\n")) {
      const bare = raw.replace(/\s+$/, "");
      if (bare.trim() === "" || /^\s*#/.test(bare)) continue;
      if (/^(---|\.\.\.|%)/.test(bare) || /\t/.test(bare)) return null;
      lines.push({ indent: bare.length - bare.trimStart().length, text: bare.trimStart() });
    }
    if (lines.length === 0) return null;
    const [tree, next] = block(lines, 0, lines[0]!.indent);
    return next === lines.length ? tree : null;
  } catch {
    return null;
  }
}

function block(lines: Line[], at: number, indent: number): [Tree, number] {
  return lines[at]!.text.startsWith("- ") ? list(lines, at, indent) : map(lines, at, indent);
}

function list(lines: Line[], at: number, indent: number): [Tree[], number] {
  const found: Tree[] = [];
  while (at < lines.length && lines[at]!.indent === indent && lines[at]!.text.startsWith("- ")) {
    const rest = lines[at]!.text.slice(2).trimStart();
    if (/^[^\s"'{[]+:(\s|$)/.test(rest)) {
      // A map that begins behind the dash goes on below it, as far in.
      const inner = indent + lines[at]!.text.length - rest.length;
      lines[at] = { indent: inner, text: rest };
      const [value, next] = map(lines, at, inner);
      found.push(value);
      at = next;
    } else {
      found.push(scalar(rest));
      at += 1;
    }
  }
  return [found, at];
}

function map(lines: Line[], at: number, indent: number): [{ [key: string]: Tree }, number] {
  const found: { [key: string]: Tree } = {};
  while (at < lines.length && lines[at]!.indent === indent && !lines[at]!.text.startsWith("- ")) {
    const match = /^("[^"]*"|'[^']*'|[^\s"'{}[\],&*!|>#][^\s:]*):(?:\s+(.*))?$/.exec(lines[at]!.text);
    if (!match) throw new Error("not a key");
    const key = match[1]!.replace(/^["']|["']$/g, "");
    if (key in found) throw new Error("twice");
    at += 1;
    const below = lines[at];
    if (match[2] !== undefined) found[key] = scalar(match[2]);
    else if (below && (below.indent > indent || (below.indent === indent && below.text.startsWith("- "))))
      [found[key], at] = block(lines, at, below.indent);
    else throw new Error("nothing behind a key");
  }
  if (at < lines.length && lines[at]!.indent > indent) throw new Error("deeper without a reason");
  return [found, at];
}

function scalar(text: string): Tree {
  const plain = text.trim();
  if (/^\{.*\}$/.test(plain)) {
    const inner = plain.slice(1, -1).trim();
    const found: { [key: string]: Tree } = {};
    for (const part of inner === "" ? [] : inner.split(",")) {
      const match = /^\s*([^\s:"'{}[\]]+):\s+([^{}[\]]+)$/.exec(part);
      if (!match) throw new Error("nested");
      found[match[1]!] = scalar(match[2]!);
    }
    return found;
  }
  const quoted = /^"([^"\\]*)"$/.exec(plain) ?? /^'([^']*)'$/.exec(plain);
  if (quoted) return quoted[1]!;
  if (/^[&*!|>@`"'{[%]/.test(plain) || / #/.test(plain) || plain === "" || /:\s/.test(plain)) throw new Error("more");
  return plain;
}

/** Whether two trees say the same, in whatever order their keys stand. */
export function same(a: Tree | undefined, b: Tree | undefined): boolean {
  if (typeof a !== "object" || typeof b !== "object") return a === b;
  if (Array.isArray(a) || Array.isArray(b))
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((one, at) => same(one, b[at]));
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && same(a[key], b[key]));
}
