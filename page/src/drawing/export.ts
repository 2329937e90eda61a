// The picture as a file: SVG with its styles inside, or PNG drawn from that.

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

/** A copy that looks the same outside of this page: every style is written into it, and the patterns go along. */
export function standalone(picture: SVGSVGElement, title: string): string {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  inline(picture, copy);
  const { width, height } = picture.getBoundingClientRect();
  copy.setAttribute("xmlns", SPACE);
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const ground = document.createElementNS(SPACE, "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(ground);
  const patterns = document.querySelector<SVGSVGElement>("svg.patterns defs");
  if (patterns) {
    const defs = patterns.cloneNode(true) as Element;
    inline(patterns, defs);
    copy.prepend(defs);
  }
  const name = document.createElementNS(SPACE, "title");
  name.textContent = title;
  copy.prepend(name);
  for (const element of copy.querySelectorAll("[tabindex]")) element.removeAttribute("tabindex");
  return new XMLSerializer().serializeToString(copy);
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

export function saveSvg(picture: SVGSVGElement, title: string): void {
  save(new Blob([standalone(picture, title)], { type: "image/svg+xml" }), `${fileName(title)}.svg`);
}

export async function savePng(picture: SVGSVGElement, title: string): Promise<void> {
  const { width, height } = picture.getBoundingClientRect();
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(picture, title))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * SHARPNESS);
  canvas.height = Math.round(height * SHARPNESS);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  const data = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (data) save(data, `${fileName(title)}.png`);
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
