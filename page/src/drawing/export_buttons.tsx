// Buttons that save the picture above them as SVG or PNG.

import { useRef, useState } from "preact/hooks";
import { savePng, saveSvg, type Sheet } from "./export";

interface Properties {
  title: string;
  /** Stands over the picture, as who was refused and why. */
  sentence?: string;
}

export function ExportButtons({ title, sentence = "" }: Properties) {
  const self = useRef<HTMLSpanElement>(null);
  const [failed, setFailed] = useState("");
  const save = async (how: (sheet: Sheet) => void | Promise<void>) => {
    const whole = self.current?.closest(".picture");
    const picture = whole?.querySelector<SVGSVGElement>("svg.drawing");
    try {
      if (whole && picture) {
        const [tally, legend] = [whole.querySelector(".tally"), whole.querySelector(".legend")];
        await how({ picture, title, sentence, tally, legend });
      }
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
