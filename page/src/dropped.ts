// Files dropped on the page: a Pod manifest becomes a question, anything else is taken for a kubelet's log.

export interface Dropped {
  file: File;
}

/** A manifest says of itself what it is, as YAML or JSON. */
export function isManifest(text: string): boolean {
  return /^\s*"?apiVersion"?\s*:/m.test(text) || /^\s*[{[][\s\S]{0,2000}"(apiVersion|kind)"\s*:/.test(text);
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
