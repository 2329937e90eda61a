// Where the list of decisions stands below what is told, who chooses one is brought to it.

/** Of the window; the style sheet stacks the view at the same width. */
const NARROW = 1000;

export function toTold(): void {
  if (window.innerWidth <= NARROW) document.querySelector(".story .told")?.scrollIntoView();
}
