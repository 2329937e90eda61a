// A pod or a holder dragged onto a NUMA node of a picture asks "why not here?"; a menu asks the same without a mouse.

const TYPE = "application/x-numafit-pod";

export function dragStart(name: string) {
  return {
    draggable: true,
    onDragStart(event: DragEvent) {
      event.dataTransfer?.setData(TYPE, name);
      event.dataTransfer?.setData("text/plain", name);
      if (event.dataTransfer) event.dataTransfer.effectAllowed = "copy";
    },
  };
}

function nodeAt(target: EventTarget | null): Element | null {
  return target instanceof Element ? target.closest("[data-node]") : null;
}

/** The picture marks the NUMA node below the pointer by an attribute that nothing else uses. */
function mark(room: Element, node: Element | null): void {
  for (const other of room.querySelectorAll("[data-over]")) if (other !== node) other.removeAttribute("data-over");
  node?.setAttribute("data-over", "");
}

export function dropOn(onNode: ((node: number, name: string) => void) | undefined) {
  if (!onNode) return {};
  return {
    onDragOver(event: DragEvent) {
      if (!event.dataTransfer?.types.includes(TYPE)) return;
      const node = nodeAt(event.target);
      mark(event.currentTarget as Element, node);
      if (node) event.preventDefault();
    },
    onDragLeave(event: DragEvent) {
      const room = event.currentTarget as Element;
      if (!(event.relatedTarget instanceof Node && room.contains(event.relatedTarget))) mark(room, null);
    },
    onDrop(event: DragEvent) {
      const node = nodeAt(event.target);
      mark(event.currentTarget as Element, null);
      const name = event.dataTransfer?.getData(TYPE);
      if (!node || !name) return;
      event.preventDefault();
      onNode(Number(node.getAttribute("data-node")), name);
    },
  };
}
