// Buttons that save the picture above them as SVG or PNG.

import { useRef, useState } from "preact/hooks";
import { savePng, saveSvg } from "./export";

export function ExportButtons({ title }: { title: string }) {
  const self = useRef<HTMLSpanElement>(null);
  const [failed, setFailed] = useState("");
  const picture = () => self.current?.closest(".picture")?.querySelector<SVGSVGElement>("svg.drawing") ?? null;
  const save = async (how: (picture: SVGSVGElement, title: string) => void | Promise<void>) => {
    const found = picture();
    try {
      if (found) await how(found, title);
      setFailed("");
    } catch {
      setFailed("The picture could not be saved.");
    }
  };
  return (
    <span class="switch export" role="group" aria-label="Save the picture" ref={self}>
      <button type="button" title="Save the picture as SVG" onClick={() => void save(saveSvg)}>
        SVG
      </button>
      <button type="button" title="Save the picture as PNG" onClick={() => void save(savePng)}>
        PNG
      </button>
      {failed && <span role="alert">{failed}</span>}
    </span>
  );
}
