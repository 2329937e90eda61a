// Files dropped on the page: a Pod manifest or events become a question, anything else is taken for a kubelet's log.

export interface Dropped {
  file: File;
}

/** A manifest says of itself what it is, as YAML or JSON. */
export function isManifest(text: string): boolean {
  return /^\s*"?apiVersion"?\s*:/m.test(text) || /^\s*[{[][\s\S]{0,2000}"(apiVersion|kind)"\s*:/.test(text);
}

const WORDS =
  /^(add|remove|reconcile|restart|stop|start|devices|plugin-(start|stop|restart|forget)|resize|exit|capacity)(\s|$)/;

/** A file of events: each of its first lines begins with one of their words. */
export function isEvents(text: string): boolean {
  const lines = text
    .split("\n", 20)
    .map((line) => line.replace(/#.*/, "").trim())
    .filter(Boolean);
  return lines.length > 0 && lines.every((line) => WORDS.test(line));
}

export function dropHandlers(onOver: (over: boolean) => void, onFile: (file: File) => void) {
  return {
    onDragOver(event: DragEvent) {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      onOver(true);
    },
    onDragLeave(event: DragEvent) {
      if (event.relatedTarget === null) onOver(false);
    },
    onDrop(event: DragEvent) {
      const file = event.dataTransfer?.files[0];
      onOver(false);
      if (!file) return;
      event.preventDefault();
      onFile(file);
    },
  };
}
