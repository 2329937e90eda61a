// The picture as a file, with its counts and its key: SVG with its styles inside, or PNG drawn from that.

const KEPT = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "stroke-opacity",
  "opacity",
  "paint-order",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "display",
] as const;
const SPACE = "http://www.w3.org/2000/svg";
/** Pixels of a PNG for one of the page: sharp on paper, too. */
const SHARPNESS = 2;
const GAP = 8;
const LINE = 19;
/** Width of a letter of the sentence, at most on average. */
const LETTER = 7;

/** What is saved: the picture, with its counts above and its key below, and a sentence over all of it. */
export interface Sheet {
  picture: SVGSVGElement;
  /** Of the file. */
  title: string;
  /** Empty: none. */
  sentence: string;
  tally: Element | null;
  legend: Element | null;
}

interface Saved {
  text: string;
  width: number;
  height: number;
}

/** A copy that looks the same outside of this page: every style is written into it, and the patterns go along. */
export function standalone({ picture, title, sentence, tally, legend }: Sheet): Saved {
  const sheet = element("svg", { xmlns: SPACE });
  const { width } = picture.getBoundingClientRect();
  const ink = getComputedStyle(document.body);
  let bottom = 0;
  const put = (part: Element, height: number) => {
    part.setAttribute("y", String(bottom));
    sheet.append(part);
    bottom += height + GAP;
  };
  for (const line of wrapped(sentence, Math.floor((width - 2 * GAP) / LETTER))) {
    const text = element("text", { x: GAP, y: bottom + LINE, fill: ink.color, "font-size": 13 });
    text.setAttribute("font-family", ink.fontFamily);
    text.textContent = line;
    sheet.append(text);
    bottom += LINE;
  }
  if (bottom > 0) bottom += GAP;
  if (tally) put(...flat(tally));
  const copy = picture.cloneNode(true) as SVGSVGElement;
  inline(picture, copy);
  put(copy, picture.getBoundingClientRect().height);
  if (legend?.children.length) put(...flat(legend));
  const height = Math.ceil(bottom);
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height }))
    sheet.setAttribute(name, String(value));
  sheet.prepend(element("rect", { width: "100%", height: "100%", fill: ink.backgroundColor }));
  const patterns = document.querySelector<SVGSVGElement>("svg.patterns defs");
  if (patterns) {
    const defs = patterns.cloneNode(true) as Element;
    inline(patterns, defs);
    sheet.prepend(defs);
  }
  const name = element("title", {});
  name.textContent = title;
  sheet.prepend(name);
  for (const one of sheet.querySelectorAll("[tabindex]")) one.removeAttribute("tabindex");
  return { text: new XMLSerializer().serializeToString(sheet), width, height };
}

function element(name: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/** Lines of at most so many letters. */
export function wrapped(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ").filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A list of small pictures and words as it stands on the page, and its height. */
function flat(list: Element): [Element, number] {
  const frame = list.getBoundingClientRect();
  const copy = element("svg", { x: GAP, width: frame.width, height: frame.height, overflow: "visible" });
  for (const sign of list.querySelectorAll("svg")) {
    const own = sign.cloneNode(true) as SVGSVGElement;
    inline(sign, own);
    const at = sign.getBoundingClientRect();
    own.setAttribute("x", String(at.x - frame.x));
    own.setAttribute("y", String(at.y - frame.y));
    copy.append(own);
  }
  const words = document.createTreeWalker(list, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const node = words.currentNode as Text;
    if (!node.data.trim() || node.parentElement!.closest("svg")) continue;
    const range = document.createRange();
    range.setStart(node, node.data.length - node.data.trimStart().length);
    range.setEnd(node, node.data.trimEnd().length);
    const at = range.getBoundingClientRect();
    const { color, fontFamily, fontSize, fontWeight } = getComputedStyle(node.parentElement!);
    const text = element("text", { x: at.x - frame.x, y: at.bottom - frame.y - at.height * 0.24, fill: color });
    const font = { "font-family": fontFamily, "font-size": fontSize, "font-weight": fontWeight };
    for (const [key, value] of Object.entries(font)) text.setAttribute(key, value);
    text.textContent = node.data.trim();
    copy.append(text);
  }
  return [copy, frame.height];
}

function inline(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  for (const name of KEPT) {
    const value = style.getPropertyValue(name);
    // Attributes, not a style: the page's own rules allow no styles in its text.
    if (value && !(name === "fill" && to.getAttribute("fill")?.startsWith("url("))) to.setAttribute(name, value);
  }
  to.removeAttribute("class");
  for (const [number, child] of [...from.children].entries()) inline(child, to.children[number]!);
}

export function saveSvg(sheet: Sheet): void {
  save(new Blob([standalone(sheet).text], { type: "image/svg+xml" }), `${fileName(sheet.title)}.svg`);
}

export async function savePng(sheet: Sheet): Promise<void> {
  const { text, width, height } = standalone(sheet);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * SHARPNESS);
  canvas.height = Math.round(height * SHARPNESS);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const data = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (data) save(data, `${fileName(sheet.title)}.png`);
}

/** Letters, digits, dots and dashes of the title. */
export function fileName(title: string): string {
  return title.replace(/[^A-Za-z0-9.-]+/g, "-").replace(/^-+|-+$/g, "") || "machine";
}

function save(data: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  // The browser has taken it once the click is over.
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
